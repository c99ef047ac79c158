"""A page for each public package: its names in a table, and each described from its docstring by autodoc."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from docs.generator.source import cell, doc, table

PACKAGES: Final = (
    "wink",
    "wink.tools",
    "wink.tools.types",
    "wink.prompt",
    "wink.prompt.guardrails",
    "wink.prompt.overrides",
    "wink.policies",
    "wink.session",
    "wink.resources",
    "wink.filesystem",
    "wink.limits",
    "wink.runtime",
    "wink.adapters",
    "wink.workspace",
    "wink.plugins",
    "wink.cli",
    "wink.cli.json_text",
    "wink.testing",
    "wink.testing.strategies",
    "wink_mcp",
    "wink_mcp.clients",
    "wink.serde",
    "wink.transactions",
    "wink.record",
    "wink.state",
    "wink.trust",
    "wink.bounded",
    "wink.dataclass",
    "wink.spellings",
    "wink_bundles",
    "wink_files",
    "wink_fsspec",
    "wink_history",
    "wink_http",
    "wink_planning",
    "wink_read_before_write",
    "wink_rules",
    "wink_shell",
    "wink_podman",
    "wink_asteval",
    "wink_attach",
    "wink_models",
    "wink_anthropic",
    "wink_batch",
    "wink_overlay",
    "wink_overrides",
    "wink_ui",
    "wink_verify",
    "wink_openai",
    "wink_sandbox",
    "wink_sandbox.tries",
)
"""Every package that programs may import from, those that most need first; `wink.errors` has a page of its own kind."""

_ERRORS: Final = "wink.errors"
_PLAIN: Final = {"object", "Protocol", "Generic"}
"""Bases that tell a reader nothing."""


def pages() -> dict[str, str]:
    """The page of each package and an index of them, by file name."""
    made = {f"{package}.md": _page(package) for package in PACKAGES}
    rows = [[f"[`{package}`]({package}.md)", cell(_first(doc(import_module(package))))] for package in PACKAGES]
    rows.append(["[`wink.errors`](../errors.md)", cell(_first(doc(import_module(_ERRORS))))])
    made["index.md"] = _INDEX.format(table=table(["package", ""], rows))
    return made


def home(package: str, name: str) -> str:
    """The package on whose page a name of `package` is described: where it comes from, as far as that is public.

    A module that is a name of a package is its own.
    """
    value = getattr(import_module(package), name)
    if inspect.ismodule(value):
        return value.__name__
    module = getattr(value, "__module__", "") if _has_doc(value) else ""
    module = module or _imports(package).get(name, package)
    for end in range(module.count("."), -1, -1):
        candidate = ".".join(module.split(".")[: end + 1])
        is_public = candidate in (*PACKAGES, _ERRORS) and name in _names(candidate)
        if is_public and getattr(import_module(candidate), name) is value:
            return candidate
    return package


def _has_doc(value: Any) -> bool:
    """Whether something is a class, a module or a function, a cached one too, rather than a value that says nothing of itself."""
    return inspect.isclass(value) or inspect.ismodule(value) or inspect.isfunction(inspect.unwrap(value))


def _names(package: str) -> tuple[str, ...]:
    return tuple(import_module(package).__all__)


def _page(package: str) -> str:
    own = [name for name in _names(package) if home(package, name) == package]
    rows = [[_link(package, name), cell(_summary(package, name))] for name in sorted(_names(package), key=str.lower)]
    parts = [f"# `{package}`", _NOTE, doc(import_module(package)), table(["name", ""], rows)]
    if own:
        directives = "\n\n".join(_directive(package, name) for name in sorted(own, key=str.lower))
        parts.append(f"## What each is\n\n```{{eval-rst}}\n{directives}\n```")
    return "\n\n".join(parts) + "\n"


def _link(package: str, name: str) -> str:
    where = home(package, name)
    if where == _ERRORS:
        return f"[`{name}`](../errors.md#{name.lower()})"
    if where == f"{package}.{name}":
        return f"[`{name}`]({where}.md)"
    return f"{{py:obj}}`{name} <{where}.{name}>`"


def _summary(package: str, name: str) -> str:
    value = getattr(import_module(package), name)
    if _has_doc(value):
        return _first(doc(value, of=f"{package}.{name}"))
    return _first(_data_doc(package, name)[1])


def _directive(package: str, name: str) -> str:
    value = getattr(import_module(package), name)
    if inspect.isclass(value):
        shown = "\n   :show-inheritance:" if {base.__name__ for base in value.__bases__} - _PLAIN else ""
        return f".. autoclass:: {package}.{name}\n   :members:{shown}"
    if _has_doc(value):
        return f".. autofunction:: {package}.{name}"
    written, text = _data_doc(package, name)
    body = "\n".join(f"   {line}".rstrip() for line in text.splitlines())
    return f".. py:data:: {package}.{name}\n   :value: {written}\n\n{body}"


def _data_doc(package: str, name: str) -> tuple[str, str]:
    """How a constant or an alias is written, and the text beneath it."""
    home = package
    while name in _imports(home):
        home = _imports(home)[name]
    module = sys.modules[home]
    body = _tree(module).body
    for statement, after in zip(body, [*body[1:], None], strict=True):
        if (
            isinstance(statement, ast.FunctionDef) and statement.name == name
        ):  # a decorator has made something else of it
            return "…", ast.get_docstring(statement) or ""
        if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
            continue
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            written = " ".join(ast.unparse(statement.value).split())
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                return written if len(written) <= 120 else "…", inspect.cleandoc(str(after.value.value))
    raise ValueError(f"{package}.{name} has no docstring in {module.__name__}; write one beneath it")


@cache
def _imports(package: str) -> dict[str, str]:
    """Where a package's `__init__` has its names from."""
    return {
        alias.asname or alias.name: node.module
        for node in ast.walk(_tree(import_module(package)))
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


@cache
def _tree(module: ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(module))


def _first(text: str) -> str:
    """The first sentence, or the first paragraph where that is one."""
    paragraph = " ".join(text.split("\n\n")[0].split())
    end = re.search(r"(?<=[^.][^.A-Z])\. (?=[A-Z`])", paragraph)
    return paragraph[: end.start() + 1] if end else paragraph


_NOTE: Final = "<!-- Written by `python -m docs.generate` from the code; what is changed here by hand is lost. -->"
_INDEX: Final = (
    """# Packages

"""
    + _NOTE
    + """

What is listed here is public: it changes only as [the deprecation policy](../../explanation/deprecation.md) says. Whatever else a
module holds, and every module whose name begins with `_`, may change at any time.

{table}

```{{toctree}}
:hidden:
:glob:

wink*
```
"""
)
