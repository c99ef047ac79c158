"""What is known about a plugin and its offers, at each stage of knowing."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from wink.dataclass import dataclass, field
from wink.plugins._names import Kind

State = Literal["available", "loaded", "disabled", "incompatible", "conflict", "quarantined", "broken", "stale"]
"""What is known of a plugin; `STATES` says what each means."""

STATES: Final[Mapping[State, str]] = {
    "available": "found and enabled; nothing imported yet",
    "loaded": "at least one offer or hook module has been imported",
    "disabled": "switched off by the settings",
    "incompatible": "requires another version of wink",
    "conflict": "shares its name or an offer with another distribution",
    "quarantined": "a process died or hung in its code; nothing of it is imported until `wink plugins retry`",
    "broken": "its metadata, an import or a hook failed",
    "stale": "an editable install whose pyproject.toml has other entry points than the installed ones",
}
"""Every state a plugin can be in, and what it means."""

UNUSABLE: Final = frozenset[State]({"disabled", "incompatible", "conflict", "quarantined"})
"""States in which nothing of a plugin is imported or used; `broken` is decided offer by offer."""


OURS: Final = "wink"
"""The distribution whose plugins are wink's own."""

BY_HOOK: Final = "hook of "
"""How the target of an offer begins that a hook makes; no entry point's target has a space in it."""


@dataclass(frozen=True, slots=True)
class Offer:
    """Something that a plugin offers under a name: a factory, which is imported when a template uses it.

    `target` is the entry point's value, `module:attribute`; an offer made by a hook has a `factory` at once. `problem`
    says why an offer cannot be used whatever is tried.
    """

    kind: Kind
    name: str
    distribution: str
    target: str
    problem: str = ""
    summary: str = ""
    factory: Callable[..., Any] | None = field(default=None, compare=False, repr=False)

    @property
    def plugin(self) -> str:
        """The part before the dot."""
        return self.name.partition(".")[0]

    @property
    def is_late(self) -> bool:
        """Whether a hook makes it, so that it is known only once the hook has been asked."""
        return self.target.startswith(BY_HOOK)

    @property
    def short(self) -> str:
        """The part after the dot."""
        return self.name.partition(".")[2]


@dataclass(frozen=True, slots=True)
class Loaded:
    """An offer whose factory has been imported; `summary` is the first line of its docstring."""

    offer: Offer
    factory: Callable[..., Any]
    summary: str


@dataclass(frozen=True, slots=True)
class PluginInfo:
    """One plugin of one distribution, as its metadata describe it, and the state it is in.

    `location` is the directory of the metadata; `project` is the directory of an editable install, otherwise None.
    `requires_wink` is a version range such as `>=1,<2`, empty when the distribution states none. `hooks` is the target
    of its hook module, empty without one. `problems` make it `broken`; `notes` only deserve to be said. `seconds` is how
    long its imports took where they were tried (`Catalog.tried`).
    """

    name: str
    distribution: str
    version: str = ""
    summary: str = ""
    location: str = ""
    project: str | None = None
    requires_wink: str = ""
    offers: tuple[Offer, ...] = ()
    hooks: str = ""
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    state: State = "available"
    reason: str = ""
    seconds: float | None = field(default=None, compare=False)
    error: BaseException | None = field(default=None, compare=False, repr=False)

    @property
    def is_foreign(self) -> bool:
        """Whether it comes from elsewhere than wink's own distribution."""
        return self.distribution != OURS

    @property
    def installed_as(self) -> str:
        """Its distribution with the version: `wink-notes 1.0`."""
        return f"{self.distribution} {self.version}".strip()

    @property
    def editable(self) -> bool:
        """Whether it is an editable install."""
        return self.project is not None

    @property
    def usable(self) -> bool:
        """Whether its offers may be used, as far as the state of the whole plugin says."""
        return self.state not in UNUSABLE


@dataclass(frozen=True, slots=True)
class Ignored:
    """A distribution with offers for wink that was not looked at any further, and why."""

    distribution: str
    location: str
    reason: str
