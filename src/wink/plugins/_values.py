"""Read a plugin's own settings from the tables that the user's sources hold."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, fields
from typing import Any, Final

from wink.errors import SettingsError
from wink.plugins._settings import DISTRIBUTION, Table

_TIGHTER: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "lower": lambda new, old: new <= old,
    "higher": lambda new, old: new >= old,
    "fewer": lambda new, old: old is True or not new or (new is not True and set(new) <= set(old or ())),
    "more": lambda new, old: set(new) >= set(old),
    "any": lambda new, old: True,  # noqa: ARG005
}
"""A field's `metadata["tighten"]`, and when a workspace's value is at least as strict as the user's."""


def plugin_settings(cls: type[Any] | None, plugin: str, tables: Collection[Table]) -> tuple[Any, tuple[str, ...]]:
    """The plugin's settings as an instance of `cls` (None without one), and notes on what was not heeded.

    A table of the workspace sets a field only if the field's metadata say how it tightens, as in
    `field(default=1_000_000, metadata={"tighten": "lower"})`, and only in that direction. Raises `SettingsError` with
    every problem.
    """
    values = [(table, {key: value for key, value in table.values.items() if key != DISTRIBUTION}) for table in tables]
    notes = [
        f"{table.origin}: {DISTRIBUTION} is not heeded in a file of the workspace; set it in your own settings, or trust the file"
        for table in tables
        if table.tighten_only and DISTRIBUTION in table.values
    ]
    if cls is None:
        for table, own in values:
            if own:
                raise SettingsError(
                    table.origin, [f"plugin {plugin!r} has no settings; remove {', '.join(map(repr, own))}"]
                )
        return None, tuple(notes)
    trusted: dict[str, Any] = {}
    settings = _parsed(cls, trusted, f"plugin {plugin!r}") if not values else None
    for table, own in sorted(values, key=lambda pair: pair[0].tighten_only):
        kept, said = _tightening(cls, trusted, table, own) if table.tighten_only else (own, [])
        trusted |= kept
        notes += said
        settings = _parsed(cls, trusted, table.origin)
    return settings, tuple(notes)


def defaults(cls: type[Any]) -> dict[str, Any]:
    """Each field of a settings class that has a default, with it."""
    found: dict[str, Any] = {}
    for one in fields(cls):
        factory: Any = one.default_factory
        if one.default is not MISSING:
            found[one.name] = one.default
        elif factory is not MISSING:
            found[one.name] = factory()
    return found


def _tightening(
    cls: type[Any], trusted: Mapping[str, Any], table: Table, own: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """The part of a workspace's values that restricts, and a note on each of the others."""
    before = _parsed(cls, trusted, table.origin)
    # All of them are read first, so that a misspelt key is an error and not a key that merely is not heeded.
    _parsed(cls, {**trusted, **own}, table.origin)
    by_key = {key: one for one in fields(cls) for key in (one.name, one.metadata.get("alias", one.name))}
    kept: dict[str, Any] = {}
    notes: list[str] = []
    for key, value in own.items():
        after = _parsed(cls, {**trusted, key: value}, table.origin)
        one = by_key[key]
        is_tighter = _TIGHTER.get(one.metadata.get("tighten", ""))
        if is_tighter is not None and is_tighter(getattr(after, one.name), getattr(before, one.name)):
            kept[key] = value
        elif getattr(after, one.name) != getattr(before, one.name):
            notes.append(f"{table.origin}: {key} is not heeded, a file of the workspace can only tighten; "
                         f"set it in your own settings, or trust the file with `wink trust`")  # fmt: skip
    return kept, notes


def _parsed(cls: type[Any], values: Mapping[str, Any], origin: str) -> Any:
    if not values and len(defaults(cls)) == len(fields(cls)):
        return cls()  # without loading what parses JSON
    from wink.errors import ParseError
    from wink.serde import parse

    try:
        return parse(cls, values)
    except ParseError as error:
        raise SettingsError(origin, [f"{problem.path}: {problem.message}" for problem in error.problems]) from None
