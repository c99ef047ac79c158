"""One rule as it concerns one tool, ready to judge calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, Literal

from wink.dataclass import dataclass
from wink.errors import PathRefused
from wink_rules._facts import Facts, Placed
from wink_rules._globs import allows_command, commands_in, fits_any, text_glob
from wink_rules._memory import count_of
from wink_rules._paths import PathPatterns
from wink_rules._rule import Action, Rule

if TYPE_CHECKING:
    from wink.tools import Tool

_ORDER: Final = {"deny": 0, "ask": 1, "allow": 2}

Verdict = Literal["allow", "deny", "ask", "kept"]


@dataclass(frozen=True, slots=True)
class RuleMatch:
    """A rule that is about a call: what it says, why it fits, and what the model is told where it denies or asks.

    `kept` is said of a limit that the call keeps to. `in_doubt` marks a path that nobody can tell whether the rule means it:
    such a call is denied.
    """

    rule: Rule
    verdict: Verdict
    why: str
    text: str = ""
    in_doubt: bool = False


class Part:
    """A rule, or of a rule that allows within a limit one of its two halves, compiled for a tool."""

    __slots__ = ("_conditions", "_is_program", "_memory", "action", "is_limit", "patterns", "rule")

    def __init__(self, rule: Rule, tool: Tool[Any, Any], memory: str, *, as_limit: bool) -> None:
        self.rule = rule
        self.is_limit = as_limit and rule.is_limit
        self.action: Action = "deny" if self.is_limit and rule.action == "allow" else rule.action
        self.patterns = PathPatterns(rule.paths, restricts=self.restricts) if rule.paths else None
        self._conditions = tuple(rule.arguments.items())
        self._is_program = tool.effects == "process"
        self._memory = memory

    @property
    def restricts(self) -> bool:
        """Whether it can deny or ask."""
        return self.action != "allow"

    def match(self, facts: Facts) -> RuleMatch | None:
        """What the rule says of a call, None where it is not about it."""
        if (self.patterns is not None and not facts.paths) or (self._conditions and not self.concerns(facts)):
            return None
        why, path = "the tool fits" if not self._conditions else "its arguments fit", ""
        if self.patterns is not None:
            found = self._path(facts, self.patterns) if self.restricts else self._covered(facts, self.patterns)
            if found is None:
                return None
            path, why = found
            if not path:
                text = f"{facts.tool.name} is denied: {why}, so rules cannot tell which files are meant"
                return RuleMatch(self.rule, "deny", why, text, in_doubt=True)
        if not self.is_limit:
            return RuleMatch(self.rule, self.action, why, "" if not self.restricts else self._text(facts, path))
        broken = self._broken(facts)
        if broken is None:
            return RuleMatch(self.rule, "kept", "keeps to the limit")
        reason = f"{broken} ({self.rule.reason})" if self.rule.reason else broken
        return RuleMatch(self.rule, self.action, broken, reason)

    def concerns(self, facts: Facts) -> bool:
        """Whether the call's arguments fit, whatever its paths are."""
        return all(self._has(facts.values(key), wanted) for key, wanted in self._conditions)

    def means(self, one: Placed) -> bool:
        """Whether a path is one of the rule's; one in doubt is restricted, and not allowed."""
        if self.patterns is None:
            return True
        if not one.places:
            return self.restricts
        fitting = map(self.patterns.fits, one.places)
        return any(fitting) if self.restricts else all(fitting)

    def memory_key(self, what: str) -> str:
        """Under which key of the session a fact is remembered."""
        return f"{self._memory}:{what}"

    @property
    def own_key(self) -> str:
        """Under which key the calls that the rule is about are counted: editing what it says of them changes nothing."""
        import json

        said = self.rule.said()
        about = {key: said[key] for key in ("tools", "effects", "arguments", "paths") if key in said}
        return self.memory_key(f"calls:{json.dumps(about, sort_keys=True)}")

    def too_many(self, tool: str) -> str:
        """What is told when no more calls may succeed."""
        most = self.rule.at_most
        times = "once" if most == 1 else f"{most} times"
        return f"{tool} may succeed {times} in a session by a rule, and has; go on without it"

    def _has(self, values: list[Any], wanted: Iterable[Any]) -> bool:
        if not self.restricts:
            return bool(values) and all(self._fits(value, wanted) for value in values)
        if len(values) > 1 and all(isinstance(value, str) for value in values):
            values = [*values, " ".join(values)]  # a command may come as a list of its words
        return any(self._fits(value, wanted) for value in values)

    def _fits(self, value: Any, wanted: Iterable[Any]) -> bool:
        for one in wanted:
            if not isinstance(one, str) or not isinstance(value, str):
                # True is 1 to Python, and not to whoever writes a rule.
                if value == one and isinstance(value, bool) == isinstance(one, bool):
                    return True
            elif not self._is_program:
                if text_glob(one)(value):
                    return True
            elif allows_command(one, value) if not self.restricts else any(map(text_glob(one), commands_in(value))):
                return True
        return False

    def _path(self, facts: Facts, patterns: PathPatterns) -> tuple[str, str] | None:
        """The first path that is meant and why, with no path where one is in doubt."""
        for one in facts.paths:
            if one.refused:
                return "", one.refused
            for place in one.places:
                if patterns.names(place) if one.named.is_weak else patterns.fits(place):
                    return place or ".", _leading(one, place)
            if not one.named.is_weak:
                try:
                    held = next(filter(patterns.fits, facts.held(one)), None)
                except (PathRefused, OSError) as error:
                    return "", str(error)
                if held is not None:
                    return held, f"{one.named.text!r} holds {held!r}"
        return None

    def _covered(self, facts: Facts, patterns: PathPatterns) -> tuple[str, str] | None:
        """A path of the call if all of them fit; what could be one has to fit as well."""
        paths = [one for one in facts.paths if not one.named.is_weak]
        if not paths or any(one.refused or not all(map(patterns.fits, one.places)) for one in paths):
            return None
        return paths[0].places[0] or ".", f"its {'path fits' if len(paths) == 1 else 'paths fit'}"

    def _broken(self, facts: Facts) -> str | None:
        """Why a call does not keep to the limit."""
        tool, session, rule = facts.tool.name, facts.context.session, self.rule
        for needed in rule.requires:
            if not rule.same_path:
                if not count_of(session, self.memory_key(f"tool:{needed}")):
                    return f"{tool} needs {needed} to have succeeded first; call {needed}"
                continue
            paths = [one for one in facts.paths if one.named.is_sure]
            if not paths or any(one.refused for one in paths):
                refused = next(
                    (one.refused for one in paths if one.refused), f"{tool} does not say for which path it is"
                )
                return f"{refused}, and {needed} has to have succeeded for it first"
            for one in paths:
                if _is_new(facts, one):
                    continue
                if not any(count_of(session, self.memory_key(f"path:{needed}:{place}")) for place in one.places):
                    return f"{tool} needs {needed} to have succeeded for {one.places[0]!r} first; call {needed} for it"
        if rule.at_most is not None and count_of(session, self.own_key) >= rule.at_most:
            return self.too_many(tool)
        return None

    def _text(self, facts: Facts, path: str) -> str:
        call = f"{facts.tool.name} on {path!r}" if path else facts.tool.name
        if self.action == "ask":
            return f"{call}: {self.rule.reason}" if self.rule.reason else f"a rule wants a person to look at {call}"
        return (
            f"{call} is denied: {self.rule.reason}"
            if self.rule.reason
            else f"{call} is denied by a rule; go on without it"
        )


@dataclass(frozen=True, slots=True)
class ToolRules:
    """The rules that can concern one tool, those that deny first, then those that ask, then those that allow."""

    parts: tuple[Part, ...]
    path_arguments: tuple[str, ...]
    """Arguments that hold paths by what a rule says."""
    over_paths: bool
    limits: tuple[Part, ...]
    """Those that count calls."""

    @classmethod
    def of(cls, rules: Iterable[Rule], tool: Tool[Any, Any], memory: str) -> ToolRules:
        """What of these rules concerns a tool, as far as that can be told without a call."""
        parts: list[Part] = []
        also: list[str] = []
        for rule in rules:
            if fits_any(rule.tools, tool.name) and (not rule.effects or tool.effects in rule.effects):
                also += rule.path_arguments
                if rule.is_limit or rule.action != "allow":
                    parts.append(Part(rule, tool, memory, as_limit=True))
                if rule.action == "allow":
                    parts.append(Part(rule, tool, memory, as_limit=False))
        parts.sort(key=lambda part: _ORDER[part.action])
        limits = tuple(part for part in parts if part.is_limit and part.rule.at_most is not None)
        return cls(tuple(parts), tuple(also), any(part.patterns is not None for part in parts), limits)


def _is_new(facts: Facts, one: Placed) -> bool:
    """Whether nothing is at a path of the workspace's own files, so that nothing could have been done to it before."""
    return (
        facts.tool.effects == "workspace" and facts.files is not None and not any(map(facts.files.exists, one.places))
    )


def _leading(one: Placed, place: str) -> str:
    if place == one.places[0]:
        return f"{place or '.'!r} fits"
    return f"{one.named.text!r} leads to {place or '.'!r}"
