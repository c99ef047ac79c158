"""Read rules from the tables that settings hold, and say all at once what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

from wink.errors import RulesError
from wink_rules._rule import ACTIONS, Rule

__all__ = ["read_rules"]

_KEYS: Final = (
    "action",
    "tools",
    "paths",
    "arguments",
    "effects",
    "requires",
    "same_path",
    "at_most",
    "path_arguments",
    "reason",
)


def read_rules(tables: Any, places: Sequence[str] = ()) -> tuple[Rule, ...]:
    """The rules that these tables are, each written at the place of the same number.

    >>> read_rules([{"action": "deny", "tools": "rm"}], ["wink.toml:3"])[0].origin
    'wink.toml:3'
    >>> read_rules([{"tool": "rm"}], ["wink.toml:3"])
    Traceback (most recent call last):
    ...
    wink.errors.RulesError: wink.toml:3: a rule has no key 'tool'; did you mean 'tools'?; wink.toml:3: action is missing; say 'allow', 'deny' or 'ask'

    Raises `RulesError` with every problem of every rule.
    """
    if not isinstance(tables, list):
        raise RulesError([f"{places[0] if places else 'rules'}: rules must be tables, each beginning with [[rules]]"])
    rules: list[Rule] = []
    problems: list[str] = []
    for number, table in enumerate(cast("list[Any]", tables)):
        place = places[number] if number < len(places) else f"rules[{number}]"
        problems += [f"{place}: {problem}" for problem in _problems(table)]
        if isinstance(table, Mapping):
            said = cast("Mapping[str, Any]", table)
            try:
                rules.append(Rule(**{key: said[key] for key in _KEYS if key in said}, origin=place))
            except RulesError as error:
                problems += error.problems
    if problems:
        raise RulesError(problems)
    return tuple(rules)


def _problems(table: Any) -> Iterable[str]:
    if not isinstance(table, Mapping):
        yield f"a rule must be a table, not {table!r}"
        return
    keys = cast("Mapping[str, Any]", table)
    for key in keys:
        if key not in _KEYS:
            yield f"a rule has no key {key!r}; {_hint(key)}"
    if "action" not in keys and not keys.keys() & {"requires", "at_most"}:
        yield f"action is missing; say {', '.join(map(repr, ACTIONS[:-1]))} or {ACTIONS[-1]!r}"


def _hint(key: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(key, _KEYS, n=1)
    return f"did you mean {close[0]!r}?" if close else f"it has {', '.join(_KEYS)}"
