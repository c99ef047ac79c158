"""Names that lead elsewhere: imported when they are asked for, of plugins, or arguments that had another name once."""

import functools
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["FORWARDED", "explained", "forwarded", "is_installed", "lazily", "moved", "offered"]

P = ParamSpec("P")
R = TypeVar("R")

_OFFERED: Final = {
    ("fsspec.specs", "wink"): "FilesystemView",
    ("wink.adapters", "anthropic.messages"): "AnthropicMessages",
    ("wink.adapters", "openai.chat"): "OpenAIChat",
    ("wink.adapters", "openai.responses"): "OpenAIResponses",
    ("wink.overrides", "overrides.files"): (
        "LocalPromptOverridesStore Misfit OverriddenPlan PromptOverride Reports SectionOverride TaskExampleOverride "
        "ToolExampleOverride ToolOverride fit place_of present section_path unusable"
    ),
    ("wink.policies", "read-before-write.files"): "ReadBeforeWritePolicy",
    ("wink.sections", "files.files"): "WorkspaceSection",
    ("wink_rules", "rules.settings"): "Rule RuleJudgement RuleMatch RulesPolicy is_wild read_rules",
}
FORWARDED: Final = {name: offer for offer, names in _OFFERED.items() for name in names.split()}
"""Name in `wink.adapters`, `wink.filesystem`, `wink.policies`, `wink.prompt` or `wink.prompt.overrides` → the group and the offer whose module has an attribute of that name."""


def lazily(package: str, places: Mapping[str, str]) -> Callable[[str], object]:
    """The `__getattr__` (PEP 562) of a package some of whose names most programs do without; `places` says for names, with spaces between, in which module they lie.

    A package defines it where no type checker looks, `if not TYPE_CHECKING:`, for one that saw it would take any name for granted.

    >>> find = lazily("json", {"JSONDecoder JSONDecodeError": "decoder"})
    >>> find("JSONDecoder").__name__
    'JSONDecoder'
    >>> find("anything")
    Traceback (most recent call last):
    AttributeError: module 'json' has no attribute 'anything'
    """
    homes = {name: module for names, module in places.items() for name in names.split()}

    def find(name: str) -> object:
        module = homes.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        import sys
        from importlib import import_module  # every command imports this module, and few ask

        found: object = getattr(import_module(f"{package}.{module}"), name)
        setattr(sys.modules[package], name, found)
        return found

    return find


def moved(older: str, newer: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module `older` all of whose names lie in `newer`, which is imported when one is asked for, with a `DeprecationWarning`.

    Raises `ImportError` where `newer` is not installed.
    """

    def find(name: str) -> Any:
        if name.startswith("__") and name != "__all__":
            raise AttributeError(f"module {older!r} has no attribute {name!r}")
        import warnings
        from importlib import import_module  # every command imports this module, and few ask

        found = getattr(import_module(newer), name)
        warnings.warn(f"{older} is called {newer} now; import that", DeprecationWarning, stacklevel=2)
        return found

    return find


def forwarded(name: str, package: str) -> Any:
    """What `name` stands for, for somebody who asks `package` for it.

    Raises `ImportError` when the plugin that brings it is not installed, and `AttributeError` for any other name.
    """
    if name not in FORWARDED:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    from importlib import import_module  # only who asks for such a name needs it, and every command imports this

    group, offer = FORWARDED[name]
    point = offered(group, offer)
    if point is None:
        raise ImportError(
            f"{name} comes from the plugin that offers {offer!r} ({group}), and none is installed; "
            "install wink with its plugins",
            name=f"{package}.{name}",
        )
    return getattr(import_module(point.module), name)


def offered(group: str, offer: str) -> "EntryPoint | None":
    """The entry point of an offer in a group, None where no plugin is installed that has it.

    Raises `ImportError` where two have.
    """
    from importlib import metadata  # only who asks for what plugins have needs it, and every command imports this

    try:
        own = metadata.distribution("wink").entry_points.select(group=group, name=offer)
    except metadata.PackageNotFoundError:
        own = metadata.EntryPoints()
    # wink's own names are nobody else's, and to look through all that is installed takes ten times as long.
    for found in (own, metadata.entry_points(group=group, name=offer)):
        points = {point.value: point for point in found if is_installed(point)}
        if len(points) > 1:
            raise ImportError(
                f"{offer!r} ({group}) is offered by {' and '.join(sorted(points))}; uninstall one of them"
            )
        if points:
            return points.popitem()[1]
    return None


def is_installed(point: "EntryPoint") -> bool:
    """Whether a distribution was installed, rather than written into the current directory, as an agent could do."""
    import site
    import sysconfig

    if point.dist is None:
        return True
    where = os.path.realpath(str(point.dist.locate_file("")))
    installed = (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), site.USER_SITE)
    return where in [os.path.realpath(path) for path in installed if path] or not _is_below(
        where, os.path.realpath(os.curdir)
    )


def _is_below(path: str, parent: str) -> bool:
    return os.path.commonpath((path, parent)) == parent


def explained(older: Mapping[str, Exception]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A function that raises what `older` has for the name of an argument that it does not take.

    >>> @explained({"size": TypeError("write length= for size=")})
    ... def cut(length: int) -> int:
    ...     return length
    >>> cut(length=3)
    3
    >>> cut(size=3)
    Traceback (most recent call last):
    ...
    TypeError: write length= for size=
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except TypeError:
                error = next((older[name] for name in kwargs if name in older), None)
                if error is None:
                    raise
            raise type(error)(*error.args)

        return call

    return decorate
