"""The hooks that a plugin may implement; called when a catalog or a session is built, never while a tool runs."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Final

import pluggy

from wink.dataclass import dataclass
from wink.errors import PluginWarning
from wink.plugins._names import Kind

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from wink.resources import Binding
    from wink.session import Session

HOOK_API: Final = (1, 0)
"""The version of the hooks: the second number grows when a hook or an argument comes, the first when one goes."""

SINCE: Final = {
    # the version of the hooks that brought each
    "wink_settings": (1, 0),
    "wink_sections": (1, 0),
    "wink_policies": (1, 0),
    "wink_filesystems": (1, 0),
    "wink_resources": (1, 0),
    "wink_subscribe": (1, 0),
}

hookspec: Final = pluggy.HookspecMarker("wink")
hookimpl: Final = pluggy.HookimplMarker("wink")
"""Marks a function of a hook module as an implementation; it may leave out any argument."""


def outdated(hook: str, since: tuple[int, int], instead: str) -> PluginWarning:
    """What plugins are told that implement a hook which will go, or take an argument of it which will.

    A hook is marked so with `hookspec(warn_on_impl=outdated(...))`, an argument with
    `hookspec(warn_on_impl_args={name: outdated(...)})`; both go on working until the first number of `HOOK_API` grows.
    """
    version = ".".join(map(str, since))
    return PluginWarning(f"{hook} is outdated since hook API {version}; implement {instead}")


@dataclass(frozen=True, slots=True)
class RuntimeOffer:
    """An offer that is only known at run time; use the class of its kind."""

    kind: ClassVar[Kind]

    name: str
    factory: Callable[..., Any]
    summary: str = ""


@dataclass(frozen=True, slots=True)
class SectionOffer(RuntimeOffer):
    """A section under the name `<plugin>.<name>`, made by `factory` as an entry point's would be."""

    kind: ClassVar[Kind] = "section"


@dataclass(frozen=True, slots=True)
class PolicyOffer(RuntimeOffer):
    """A policy under the name `<plugin>.<name>`."""

    kind: ClassVar[Kind] = "policy"


@dataclass(frozen=True, slots=True)
class FilesystemOffer(RuntimeOffer):
    """A filesystem under the name `<plugin>.<name>`."""

    kind: ClassVar[Kind] = "filesystem"


@hookspec
def wink_settings() -> "type[DataclassInstance]":  # pyright: ignore[reportReturnType]
    """Declare this plugin's settings as a frozen dataclass with defaults.

    Called once for a catalog, before all other hooks, when the plugin is needed for the first time. The settings are
    read from `[tool.wink.plugins.<plugin>]`, and unknown keys are refused. A field that a workspace's own file may set
    says in which direction that tightens: `field(default=1_000_000, metadata={"tighten": "lower"})`, or `"higher"`,
    `"fewer"`, `"more"`, `"any"`.
    """


@hookspec
def wink_sections(settings: object) -> Iterable[SectionOffer]:  # pyright: ignore[reportReturnType]
    """Offer sections that are only known at run time, such as tools of a remote server.

    Called once for a catalog, when the plugin is needed for the first time: when an offer of it is used, or when
    somebody asks for everything that there is.
    """


@hookspec
def wink_policies(settings: object) -> Iterable[PolicyOffer]:  # pyright: ignore[reportReturnType]
    """Offer policies that are only known at run time.

    Called once for a catalog, when the plugin is needed for the first time: when an offer of it is used, or when
    somebody asks for everything that there is.
    """


@hookspec
def wink_filesystems(settings: object) -> Iterable[FilesystemOffer]:  # pyright: ignore[reportReturnType]
    """Offer filesystems that are only known at run time.

    Called once for a catalog, when the plugin is needed for the first time: when an offer of it is used, or when
    somebody asks for everything that there is.
    """


@hookspec
def wink_resources(settings: object) -> "Iterable[Binding[Any]]":  # pyright: ignore[reportReturnType]
    """Bind resources for this plugin's tools. Two bindings of one type are a conflict, not an override.

    Called each time somebody asks for `Catalog.resources()`.
    """


@hookspec
def wink_subscribe(session: "Session", settings: object) -> None:
    """Subscribe to this session's events. A subscriber that raises is logged and the call goes on.

    Called for each session that is made by, or given to, `Catalog.session()`; a bare `Session()` calls no hook.
    """
