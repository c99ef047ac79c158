"""Every exception of `wink.errors`: its place in the tree, what it means, and what it keeps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from docs.generator.source import doc, init_fields
from wink import errors


def public() -> dict[str, type[BaseException]]:
    """The exceptions and warnings by name, as the tree has them: each below its base."""
    return {cls.__name__: cls for cls, _ in _walk()}


def blocks() -> dict[str, str]:
    """The tree, and a section for each exception."""
    tree = "\n".join(f"{'  ' * depth}* [`{cls.__name__}`](#{cls.__name__.lower()})" for cls, depth in _walk())
    others = [getattr(errors, name) for name in errors.__all__ if name not in public()]
    return {
        "tree": tree,
        "errors": "\n\n".join(_section(cls) for cls, _ in _walk()),
        "kept": "\n\n".join(f"### `{cls.__name__}`\n\n{doc(cls)}\n\n{_fields(cls)}" for cls in others),
    }


def _walk() -> Iterator[tuple[type[BaseException], int]]:
    every = [getattr(errors, name) for name in errors.__all__]
    exceptions = sorted((one for one in every if issubclass(one, BaseException)), key=lambda one: one.__name__)

    def below(base: type[BaseException] | None, depth: int) -> Iterator[tuple[type[BaseException], int]]:
        for cls in exceptions:
            if _nearest(cls, exceptions) is base:
                yield cls, depth
                yield from below(cls, depth + 1)

    yield from below(None, 0)


def _nearest(cls: type, every: list[type[BaseException]]) -> type[BaseException] | None:
    return next((base for base in cls.__mro__[1:] if base in every), None)


def _section(cls: type[BaseException]) -> str:
    above = _nearest(cls, [getattr(errors, name) for name in errors.__all__ if name[:1].isupper()])
    bases = [f"[`{above.__name__}`](#{above.__name__.lower()})"] if above else []
    bases += [f"`{base.__name__}`" for base in cls.__mro__[1:] if base.__module__ == "builtins" and _says(base)][:1]
    parts = [f"### `{cls.__name__}`", f"A kind of {' and '.join(bases)}." if bases else "", doc(cls)]
    kept = init_fields(cls)
    if kept:
        parts.append("Keeps " + ", ".join(f"`{one.name}: {one.type}`" for one in kept) + ".")
    return "\n\n".join(part for part in parts if part)


def _fields(cls: type) -> str:
    types = {one.name: one.type if isinstance(one.type, str) else one.type.__name__ for one in fields(cls)}
    return "Has " + ", ".join(f"`{name}: {kind}`" for name, kind in types.items()) + "."


def _says(base: type) -> bool:
    return base not in (Exception, BaseException, object)
