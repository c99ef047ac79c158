"""Which sections have been opened and closed in a session."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from wink.dataclass import dataclass, field
from wink.errors import PromptValidationError, VisibilityExpansionRequired
from wink.prompt._visibility import SectionVisibility

if TYPE_CHECKING:
    from wink.session import Replace as ReplaceOp
    from wink.session import Session, SliceView

__all__ = [
    "ClearAllVisibilityOverrides",
    "ClearVisibilityOverride",
    "SetVisibilityOverride",
    "VisibilityOverrides",
    "apply_expansion",
    "install_visibility",
]

SectionPath = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetVisibilityOverride:
    """An event: from now on the section at `path` is shown so, whatever it would decide itself.

    `path` holds the keys from the root section down.
    """

    path: SectionPath
    visibility: SectionVisibility

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", checked_path(self.path))


@dataclass(frozen=True, slots=True)
class ClearVisibilityOverride:
    """An event: the section at `path` decides for itself again."""

    path: SectionPath

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", checked_path(self.path))


@dataclass(frozen=True, slots=True)
class ClearAllVisibilityOverrides:
    """An event: every section decides for itself again."""


@dataclass(frozen=True, slots=True)
class VisibilityOverrides:
    """What `session[VisibilityOverrides].latest()` is: how sections are shown that somebody has opened or closed.

    A state slice: what a call changes here is undone when the call fails.
    """

    overrides: Mapping[str, SectionVisibility] = field(default_factory=dict[str, SectionVisibility])
    """The visibility of a section by its path, the keys joined by `/`; tuples of keys are accepted, too."""

    def __post_init__(self) -> None:
        given: Mapping[Any, SectionVisibility] = self.overrides
        joined = {path if isinstance(path, str) else "/".join(path): shown for path, shown in given.items()}
        object.__setattr__(self, "overrides", joined)

    def get(self, path: SectionPath) -> SectionVisibility | None:
        """How the section at `path` is to be shown, or `None` when it decides for itself."""
        return self.overrides.get("/".join(path))

    def by_path(self) -> dict[SectionPath, SectionVisibility]:
        """The same by the sections' paths."""
        return {tuple(path.split("/")): shown for path, shown in self.overrides.items()}


def apply_expansion(session: "Session", error: VisibilityExpansionRequired) -> str:
    """Open in `session` the sections that `error` asks for, and return what to answer the model's call with.

    For whoever runs the loop around a model: catch `VisibilityExpansionRequired`, call this, and render the prompt again
    with the same session.

    >>> from wink.session import Session
    >>> session = Session()
    >>> wanted = VisibilityExpansionRequired({("rules", "style"): SectionVisibility.FULL}, "to format", ["rules.style"])
    >>> print(apply_expansion(session, wanted))
    opened 'rules.style'; the text and the tools are part of your instructions from now on
    >>> session[VisibilityOverrides].latest().get(("rules", "style"))
    <SectionVisibility.FULL: 'full'>
    """
    install_visibility(session)
    for path, visibility in error.requested_overrides.items():
        session.dispatch(SetVisibilityOverride(path, SectionVisibility(visibility)))
    opened = ", ".join(map(repr, error.section_keys))
    return f"opened {opened}; the text and the tools are part of your instructions from now on"


def install_visibility(session: "Session") -> None:
    """Register the reducers of `VisibilityOverrides`; prompts do, before a session's first rendering."""
    from wink.session import SlicePolicy

    overrides = session[VisibilityOverrides]
    overrides.register(SetVisibilityOverride, _set, policy=SlicePolicy.STATE)
    overrides.register(ClearVisibilityOverride, _clear, policy=SlicePolicy.STATE)
    overrides.register(ClearAllVisibilityOverrides, _clear_all, policy=SlicePolicy.STATE)


def checked_path(path: object) -> SectionPath:
    """The path of a section as a tuple of keys."""
    if isinstance(path, str) or not isinstance(path, (tuple, list)):
        raise PromptValidationError(f"a section's path is a tuple of keys, such as ('rules', 'style'), not {path!r}")
    return tuple(str(key) for key in path)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def _set(view: "SliceView[VisibilityOverrides]", event: SetVisibilityOverride) -> "ReplaceOp[VisibilityOverrides]":
    return _replaced({**_known(view), "/".join(event.path): event.visibility})


def _clear(view: "SliceView[VisibilityOverrides]", event: ClearVisibilityOverride) -> "ReplaceOp[VisibilityOverrides]":
    cleared = "/".join(event.path)
    return _replaced({path: shown for path, shown in _known(view).items() if path != cleared})


def _clear_all(
    _view: "SliceView[VisibilityOverrides]", _event: ClearAllVisibilityOverrides
) -> "ReplaceOp[VisibilityOverrides]":
    return _replaced({})


def _known(view: "SliceView[VisibilityOverrides]") -> Mapping[str, SectionVisibility]:
    latest = view.latest()
    return {} if latest is None else latest.overrides


def _replaced(overrides: Mapping[str, SectionVisibility]) -> "ReplaceOp[VisibilityOverrides]":
    from wink.session import Replace

    return Replace((VisibilityOverrides(overrides),))
