"""What a person can say about calls as data: which are meant, and what becomes of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Literal, cast, get_args

from wink.dataclass import dataclass, field
from wink.errors import RulesError
from wink_rules._paths import problem_with

__all__ = ["Action", "Rule"]

Action = Literal["allow", "deny", "ask"]

ACTIONS: Final[tuple[str, ...]] = get_args(Action)
EFFECTS: Final = ("read", "workspace", "process", "external")
_NAME: Final = r"[a-z0-9_-]{1,64}"
_PATTERN: Final = r"!?[][a-z0-9_*?!-]{1,100}"
_MAX_TEXT: Final = 10_000


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: the calls that it is about, and whether they are allowed, denied, or left to a person.

    A call is meant when all that is given fits: `tools` (patterns over names, `!` in front for exceptions), `effects`
    (what the tool may touch), `arguments` (name, or `outer.inner`, to a pattern, a value, or a list of them) and `paths`
    (patterns over the workspace's paths, `!` for exceptions). `path_arguments` names arguments that hold paths besides
    those whose names say so.

    With `requires`, tools that must have succeeded in the session before, each for the same paths with `same_path`, or
    `at_most`, so many calls that may succeed in a session, the rule is a limit: what does not keep to it is denied, or
    left to a person with `action="ask"`; what keeps to it is allowed by an `action="allow"`, and otherwise not this
    rule's business. `reason` is told to the model and to whoever is asked; `origin` says where the rule was written.

    >>> Rule("deny", tools="write_file", paths=["src/**", "!src/generated/**"]).paths
    ('src/**', '!src/generated/**')
    >>> Rule("forbid", at_most=0)
    Traceback (most recent call last):
    ...
    wink.errors.RulesError: action must be 'allow', 'deny' or 'ask', not 'forbid'; at_most must be a whole number from 1 on, not 0; to have none, deny
    """

    action: Action = "deny"
    tools: str | Sequence[str] = "*"
    paths: str | Sequence[str] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    effects: str | Sequence[str] = ()
    requires: str | Sequence[str] = ()
    same_path: bool = False
    at_most: int | None = None
    path_arguments: str | Sequence[str] = ()
    reason: str = ""
    origin: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        problems = list(_problems(self))
        if problems:
            raise RulesError([f"{self.origin}: {problem}" if self.origin else problem for problem in problems])
        for name in ("tools", "paths", "effects", "requires", "path_arguments"):
            object.__setattr__(self, name, _several(getattr(self, name)))
        arguments = {key: _alternatives(value) for key, value in _flat(self.arguments)}
        object.__setattr__(self, "arguments", MappingProxyType(arguments))

    @property
    def is_limit(self) -> bool:
        """Whether the rule says how often, or after what, calls may succeed."""
        return bool(self.requires) or self.at_most is not None

    def __str__(self) -> str:
        """The rule in a line, as in settings.

        >>> print(Rule("ask", tools=["rm", "move_file"], paths="docs/**", at_most=3))
        ask tools = ["rm", "move_file"], paths = "docs/**", at_most = 3
        """
        what = "limit" if self.is_limit and self.action == "deny" else self.action
        return " ".join((what, ", ".join(f"{key} = {_shown(value)}" for key, value in self.said().items())))

    def said(self) -> dict[str, Any]:
        """What the rule says besides its action, as settings would have it."""
        said: dict[str, Any] = {"tools": _one_or_all(self.tools)}
        for name in ("paths", "effects", "requires", "path_arguments"):
            if getattr(self, name):
                said[name] = _one_or_all(getattr(self, name))
        if self.arguments:
            said["arguments"] = {key: _one_or_all(values) for key, values in self.arguments.items()}
        if self.same_path:
            said["same_path"] = True
        if self.at_most is not None:
            said["at_most"] = self.at_most
        return said


def _problems(rule: Rule) -> Iterable[str]:
    if rule.action not in ACTIONS:
        yield f"action must be 'allow', 'deny' or 'ask', not {rule.action!r}"
    for name in ("tools", "paths", "effects", "requires", "path_arguments"):
        values = _several(getattr(rule, name))
        if not all(isinstance(value, str) for value in values):
            yield f"{name} must be a text or a list of texts, not {getattr(rule, name)!r}"
        else:
            yield from _CHECKS[name](cast("tuple[str, ...]", values))
    yield from _argument_problems(rule.arguments)
    if not isinstance(cast("object", rule.same_path), bool):
        yield f"same_path must be true or false, not {rule.same_path!r}"
    elif rule.same_path and not rule.requires:
        yield "same_path says which calls count for requires, and there is no requires"
    most = cast("object", rule.at_most)
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
        yield f"at_most must be a whole number from 1 on, not {most!r}; to have none, deny"
    for name in ("reason", "origin"):
        if not isinstance(getattr(rule, name), str):
            yield f"{name} must be a text, not {getattr(rule, name)!r}"


def _tool_problems(patterns: tuple[str, ...]) -> Iterable[str]:
    if not patterns:
        yield "tools is empty, so the rule is about nothing; leave it out for all tools"
    for pattern in patterns:
        if not re.fullmatch(_PATTERN, pattern) or not pattern.strip("!"):
            yield f"no tool can be called {pattern!r}; names are lower-case letters, digits, '_' and '-', with * ? [ab] for others"
        elif pattern.count("[") != pattern.count("]"):
            yield f"{pattern!r} has a '[' without ']'"
    if patterns and all(pattern.startswith("!") for pattern in patterns):
        yield "tools has only exceptions; say first what they are taken from, such as '*'"


def _path_problems(patterns: tuple[str, ...]) -> Iterable[str]:
    yield from filter(None, map(problem_with, patterns))
    if patterns and all(pattern.startswith("!") for pattern in patterns):
        yield "paths has only exceptions; say first what they are taken from, such as '**'"


def _effect_problems(effects: tuple[str, ...]) -> Iterable[str]:
    for effect in effects:
        if effect not in EFFECTS:
            yield f"effects can be 'read', 'workspace', 'process' or 'external', not {effect!r}{_did_you_mean(effect, EFFECTS)}"


def _required_problems(names: tuple[str, ...]) -> Iterable[str]:
    for name in names:
        if not re.fullmatch(_NAME, name):
            yield f"requires names tools, and none can be called {name!r}"


def _named_problems(names: tuple[str, ...]) -> Iterable[str]:
    if not all(names):
        yield "path_arguments names arguments, and none has an empty name"


_CHECKS: Final = {
    "tools": _tool_problems,
    "paths": _path_problems,
    "effects": _effect_problems,
    "requires": _required_problems,
    "path_arguments": _named_problems,
}


def _argument_problems(arguments: Any) -> Iterable[str]:
    if not isinstance(arguments, Mapping):
        yield f"arguments must map names to patterns or values, not {arguments!r}"
        return
    for key, value in _flat(cast("Mapping[Any, Any]", arguments)):
        if not all(key.split(".")):
            yield f"arguments.{key} names no argument"
            continue
        values = _alternatives(value)
        if not values:
            yield f"arguments.{key} is an empty list, which nothing fits"
        for one in values:
            if not isinstance(one, str | int | float | bool):
                yield f"arguments.{key} must be a pattern, a number, true or false, or a list of them, not {one!r}"
            elif isinstance(one, str) and len(one) > _MAX_TEXT:
                yield f"arguments.{key} is longer than {_MAX_TEXT} characters"


def _flat(arguments: Mapping[Any, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    """Nested tables, as dotted keys of TOML make them, with their names joined again."""
    for key, value in arguments.items():
        if isinstance(value, Mapping):
            yield from _flat(cast("Mapping[Any, Any]", value), f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _several(value: Any) -> tuple[Any, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(cast("Iterable[Any]", value)) if isinstance(value, Sequence | set | frozenset) else (value,)


def _alternatives(value: Any) -> tuple[Any, ...]:
    return tuple(cast("Iterable[Any]", value)) if isinstance(value, list | tuple | set | frozenset) else (value,)


def _one_or_all(values: Any) -> Any:
    return values[0] if len(values) == 1 else list(values)


def _shown(value: Any) -> str:
    import json

    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {_shown(one)}' for key, one in cast('dict[str, Any]', value).items())} }}"
    return json.dumps(value, ensure_ascii=False)


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
