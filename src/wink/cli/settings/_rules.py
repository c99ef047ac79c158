"""Make policies of the rules in settings: the user's own say what may be, a workspace's can only take from it.

A workspace's rules are a policy of their own beside the user's. No policy can allow what another denies or asks about, so
whatever an agent writes there can only restrict; an `allow` in it lifts what the workspace itself holds back, and nothing
else. The rules of a file that the user trusts by its content (`wink trust`) count as the user's own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from wink.cli.settings._sources import Source, sources
from wink.errors import RulesError

if TYPE_CHECKING:
    from wink.policies import Rule, RulesPolicy
    from wink.tools import Tool

_RANK: Final = {"allow": 0, "ask": 1, "deny": 2}
OWN: Final = "rules"
WORKSPACE: Final = "workspace-rules"
"""The names of the two policies, in decisions and in what is remembered."""


class FileRules(NamedTuple):
    """What one file says about calls."""

    source: Source
    rules: tuple[Rule, ...]
    default: Any
    default_place: str


class RuleSettings(NamedTuple):
    """The policies that the settings make, and what the person should know, a line each."""

    policies: tuple[RulesPolicy, ...] = ()
    notes: tuple[str, ...] = ()
    files: tuple[FileRules, ...] = ()
    own_default: str = "allow"
    """What the user's own settings say of calls that no rule is about."""


def rule_settings(workspace: str, environ: Mapping[str, str] | None = None) -> RuleSettings:
    """The rules for calls in a workspace; raises `RulesError` with every problem of every file, and `SettingsError`."""
    found = sources(workspace, os.environ if environ is None else environ)
    stale = [_changed(source) for source in found if source.standing == "changed"]
    if not any(source.tables.keys() & {"rules", "rules_default"} for source in found):
        return RuleSettings(notes=tuple(stale))
    try:
        from wink.policies import RulesPolicy
    except ImportError as error:  # what nobody can judge by is not passed over
        raise RulesError([f"there are rules in the settings, and {error}"]) from error

    files = _read(found)
    own = [file for file in files if file.source.may_loosen]
    others = [file for file in files if not file.source.may_loosen]
    trusted = [file for file in own if file.source.is_workspace]
    users = _strictest(file for file in own if not file.source.is_workspace)
    # What a file that the user trusts says of the rest takes the place of what is said for every workspace.
    default = _strictest(trusted) if any(file.default for file in trusted) else users
    limit = _strictest(others)
    policies = (
        RulesPolicy(_rules(own), default=default[0], default_origin=default[1], name=OWN),
        RulesPolicy(_rules(others), default=limit[0], default_origin=limit[1], name=WORKSPACE),
    )
    said = [_not_heeded(file, default[0]) for file in others if file.source.standing != "changed"]
    return RuleSettings(
        tuple(policy for policy in policies if policy.rules or policy.default != "allow"),
        (*stale, *filter(None, said)),
        tuple(files),
        users[0],
    )


def loosening(file: FileRules, own_default: str) -> tuple[str, ...]:
    """What a file of the workspace would allow that the user's own settings do not, a line each."""
    lines: list[str] = []
    if own_default != "allow":
        lines += [f"{rule.origin}: {rule}" for rule in file.rules if rule.action == "allow"]
    if file.default is not None and _RANK[file.default] < _RANK[own_default]:
        lines.append(f'{file.default_place}: rules_default = "{file.default}"')
    return tuple(lines)


def doubts(rules: Iterable[Rule], tools: Sequence[Tool[Any, Any]]) -> tuple[str, ...]:
    """Rules that may be meant for other names than they say: one line each.

    A name that is like no other is left alone: a rule may be for the tools of a plugin that is not used this time.
    """
    from difflib import get_close_matches

    from wink.policies import is_wild

    names = {tool.name: tool for tool in tools}
    lines: list[str] = []
    for rule in rules:
        plain = [name.removeprefix("!") for name in rule.tools if not is_wild(name)]
        for name in (*plain, *rule.requires):
            if name not in names and (close := get_close_matches(name, names, n=1, cutoff=0.9)):
                lines.append(f"{rule.origin}: there is no tool {name!r} here; did you mean {close[0]!r}?")
        meant = [names[name] for name in plain if name in names]
        if meant and len(meant) == len(rule.tools):
            for key in rule.arguments:
                if not any(_takes(tool, key.partition(".")[0]) for tool in meant):
                    lines.append(f"{rule.origin}: {meant[0].name} takes no argument {key!r}, so this rule never fits")
    return tuple(dict.fromkeys(lines))


def rule_policies(workspace: str) -> tuple[RulesPolicy, ...]:
    """The policies that the settings' rules make for calls in a workspace; raises `RulesError` and `SettingsError`."""
    return rule_settings(workspace).policies


def path_denials(workspace: str) -> Callable[[str], str]:
    """What gives the reason why a rule denies programs to change a path, and nothing where none does; raises `RulesError` and `SettingsError`."""
    rule_for = path_rules(workspace)

    def denial(path: str) -> str:
        rule = rule_for(path)
        return "" if rule is None else rule.reason or "a rule denies that"

    return denial


def path_rules(
    workspace: str, *, tool: str = "run_command", effects: str = "process", asking: bool = False
) -> Callable[[str], Rule | None]:
    """What gives the rule that denies a tool's programs to change a path, with `asking` also one that wants a person asked; raises `RulesError` and `SettingsError`."""
    from types import SimpleNamespace

    policies, called = rule_policies(workspace), cast("Any", SimpleNamespace(name=tool, effects=effects))

    def rule_for(path: str) -> Rule | None:
        return next((rule for one in policies if (rule := one.denied(called, path, asking=asking)) is not None), None)

    return rule_for


def _read(found: Sequence[Source]) -> list[FileRules]:
    from wink.policies import read_rules

    files: list[FileRules] = []
    problems: list[str] = []
    for source in found:
        tables, called = source.table("rules", [])
        places = source.places("rules", len(cast("list[Any]", tables)) if isinstance(tables, list) else 1)
        rules: tuple[Rule, ...] = ()
        try:
            rules = read_rules(tables, places)
        except RulesError as error:
            problems += error.problems
        default, called = source.table("rules_default", None)
        place = source.place("rules_default")
        said = repr(default[:80]) if isinstance(default, str) else type(cast("object", default)).__name__
        if default is not None and (not isinstance(default, str) or default not in _RANK):
            problems.append(f"{place}: {called} must be 'allow', 'deny' or 'ask', not {said}")
        files.append(FileRules(source, rules, default, place))
    if problems:
        raise RulesError(problems)
    return files


def _rules(files: Iterable[FileRules]) -> list[Rule]:
    return [rule for file in files for rule in file.rules]


def _strictest(files: Iterable[FileRules]) -> tuple[Any, str]:
    """The strictest default of several files, and where it is said."""
    said = [(file.default, file.default_place) for file in files if file.default is not None]
    return max(said, key=lambda one: _RANK[one[0]], default=("allow", ""))


def _changed(source: Source) -> str:
    return f"{source.shown} has changed since it was trusted, so it only restricts; `wink trust --show` shows what it would loosen"


def _not_heeded(file: FileRules, own_default: str) -> str | None:
    lines = loosening(file, own_default)
    if not lines:
        return None
    place = lines[0].partition(": ")[0]
    more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
    return (
        f"{place}{more} is not heeded: a workspace's settings only restrict, and your own say "
        f'rules_default = "{own_default}"; `wink trust --show` shows what it would loosen'
    )


def _takes(tool: Tool[Any, Any], argument: str) -> bool:
    known = () if tool.params_type is None else fields(tool.params_type)
    if tool.extra != "forbid" or (tool.params_type is not None and not known):
        return True
    return any(argument in (one.name, one.metadata.get("alias")) for one in known)
