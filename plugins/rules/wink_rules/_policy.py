"""The policy that rules written as data make: deny beats ask, ask beats allow, and their order means nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from wink.dataclass import dataclass
from wink.errors import RulesError, ToolValidationError
from wink.policies import PolicyDecision
from wink_rules._facts import Facts, Placed, placed
from wink_rules._memory import count_up, remember
from wink_rules._naming import Named
from wink_rules._part import Part, RuleMatch, ToolRules
from wink_rules._rule import ACTIONS, Action, Rule

if TYPE_CHECKING:
    from wink.tools import Tool, ToolContext, ToolResult

__all__ = ["RuleJudgement", "RulesPolicy"]

_MOST_TOOLS: Final = 4096
_BY_RANK: Final[tuple[Action, ...]] = ("deny", "ask", "allow")
_ALLOWED: Final = PolicyDecision.allow()


@dataclass(frozen=True, slots=True)
class RuleJudgement:
    """What rules make of a call, for `wink explain`: `decided` is the rule that decided, None for the default.

    `matches` are all the rules that are about the call, those that lost among them.
    """

    action: Action
    reason: str
    decided: RuleMatch | None
    matches: tuple[RuleMatch, ...]


class RulesPolicy:
    """Allow, deny or ask about calls as rules say.

    A call is denied if one rule denies it, else left to a person if one asks, else allowed if one allows it; what no rule
    is about goes by `default`. The order of the rules means nothing, and a rule added to deny can never open anything.

    Paths are judged where they lead: normalised, and again with their links followed. What cannot be told is denied. What a
    call has changed, and what a search has found, is judged like the paths that it named, before it is committed.

    >>> policy = RulesPolicy([Rule("deny", tools="write_file", paths="**/.env"), Rule("ask", effects="process")])
    >>> [rule.action for rule in policy.rules], policy.default
    (['deny', 'ask'], 'allow')
    """

    __slots__ = ("_compiled", "_name", "_watched", "_watched_paths", "default", "default_origin", "rules")

    is_immediate: Final = True
    """It waits for nothing, so servers ask it without a thread; see `ToolPolicy`."""

    def __init__(
        self, rules: Iterable[Rule] = (), *, default: Action = "allow", default_origin: str = "", name: str = "rules"
    ) -> None:
        self.rules = tuple(rules)
        if not all(isinstance(cast("object", rule), Rule) for rule in self.rules):
            raise RulesError(["rules must be Rule objects; write Rule('deny', tools=…)"])
        if default not in ACTIONS:
            raise RulesError([f"default must be 'allow', 'deny' or 'ask', not {default!r}"])
        if not name.strip():
            raise RulesError(["a policy needs a name; leave it out to use the usual one"])
        self.default: Action = default
        self.default_origin = default_origin
        self._name = name
        self._watched = frozenset(tool for rule in self.rules if not rule.same_path for tool in rule.requires)
        self._watched_paths = frozenset(tool for rule in self.rules if rule.same_path for tool in rule.requires)
        self._compiled: dict[tuple[str, str], ToolRules] = {}

    @property
    def name(self) -> str:
        """The name in decisions, and of what is remembered."""
        return self._name

    def check(self, tool: Tool[Any, Any], params: Any, *, context: ToolContext) -> PolicyDecision:
        """Deny, ask about or allow a call."""
        rules = self._rules_for(tool)
        if not rules.parts:
            return _ALLOWED if self.default == "allow" else self._by_default(tool)
        facts = Facts(tool, params, context, rules.path_arguments)
        asked: list[str] = []
        for part in rules.parts:
            if not part.restricts and (asked or self.default == "allow"):
                break
            match = part.match(facts)
            if match is None or match.verdict == "kept":
                continue
            if match.verdict == "allow":
                return _ALLOWED
            if match.verdict == "deny":
                return PolicyDecision.deny(match.text)
            asked.append(match.text)
        if asked:
            return PolicyDecision.ask("; ".join(dict.fromkeys(asked)))
        return _ALLOWED if self.default == "allow" else self._by_default(tool)

    def explain(self, tool: Tool[Any, Any], params: Any, *, context: ToolContext) -> RuleJudgement:
        """All that the rules have to say about a call, without deciding anything; for people."""
        rules = self._rules_for(tool)
        facts = Facts(tool, params, context, rules.path_arguments)
        matches = tuple(match for part in rules.parts if (match := part.match(facts)) is not None)
        for action in _BY_RANK:
            found = [match for match in matches if match.verdict == action]
            if found:
                reason = "; ".join(dict.fromkeys(match.text for match in found)) if action == "ask" else found[0].text
                return RuleJudgement(action, reason, found[0], matches)
        reason = "" if self.default == "allow" else self._by_default(tool).reason or ""
        return RuleJudgement(self.default, reason, None, matches)

    def on_result(self, tool: Tool[Any, Any], params: Any, result: ToolResult[Any], *, context: ToolContext) -> None:
        """Judge what the call has touched beyond what it named, and count it; raises what fails the call."""
        rules = self._rules_for(tool)
        is_watched = tool.name in self._watched or tool.name in self._watched_paths
        if not result.success or not (rules.over_paths or rules.limits or is_watched):
            return
        facts = Facts(tool, params, context, rules.path_arguments)
        if rules.over_paths:
            self._judge_outcome(rules.parts, facts, result)
        _count(rules.limits, facts)
        if tool.name in self._watched:
            remember(context.session, f"{self._name}:tool:{tool.name}")
        if tool.name in self._watched_paths:
            for one in facts.paths:
                if one.named.is_sure:
                    for place in one.places:
                        remember(context.session, f"{self._name}:path:{tool.name}:{place}")

    def _judge_outcome(self, parts: Sequence[Part], facts: Facts, result: ToolResult[Any]) -> None:
        """Fail a call that has touched what a rule denies, or asks about without having been asked."""
        from wink_rules._outcome import CREATE, touched

        if not (found := touched(facts, result)):
            return
        parts = [part for part in parts if part.concerns(facts)]
        restricting = [part for part in parts if part.restricts and not part.is_limit and part.patterns is not None]
        allowing = [part for part in parts if not part.restricts]
        must_be_allowed = self.default != "allow" and all(part.patterns is not None for part in allowing)
        was_asked = self._was_asked(parts, facts)
        for path, how in found.items():
            one = placed(Named("", path), facts.files) or Placed(Named("", path))
            if facts.tool.effects != "read" and not one.places:  # a link that leads out, or a name that no tool takes
                one = Placed(one.named, (path,))
            # A directory that is named was looked into before, so what it held then has been asked about.
            is_asked = was_asked or (how != CREATE and _is_in_named(path, facts))
            for part in restricting:
                if (part.action == "deny" or not is_asked) and part.means(one):
                    why = part.rule.reason or ("a rule asks about it" if part.action == "ask" else "a rule denies that")
                    ways = "; a call that names it can be approved" if part.action == "ask" else ""
                    raise ToolValidationError(f"{facts.tool.name} {how} {path!r}: {why}; nothing was changed{ways}")
            if must_be_allowed and not was_asked and not any(part.means(one) for part in allowing):
                raise ToolValidationError(
                    f"{facts.tool.name} {how} {path!r}, which no rule allows; nothing was changed"
                )

    def denied(self, tool: Tool[Any, Any], path: str, *, asking: bool = False) -> Rule | None:
        """The rule that takes back what a call of a tool did to a path, whatever its arguments; by the path's name alone.

        With `asking` also one that wants a person asked, as a call is taken back that nobody was asked about.
        """
        wanted = ("deny", "ask") if asking else ("deny",)
        parts = (part for part in self._rules_for(tool).parts if part.action in wanted and not part.is_limit)
        about = (part for part in parts if part.patterns is not None and not part.rule.arguments)
        return next((part.rule for part in about if part.means(Placed(Named("", path), (path,)))), None)

    def _was_asked(self, parts: Sequence[Part], facts: Facts) -> bool:
        """Whether the call could only come this far because a person has looked at it."""
        if self.default != "ask" and all(part.action != "ask" for part in parts):
            return False
        verdicts = {match.verdict for part in parts if (match := part.match(facts)) is not None}
        return "ask" in verdicts or (self.default == "ask" and "allow" not in verdicts)

    def _by_default(self, tool: Tool[Any, Any]) -> PolicyDecision:
        if self.default == "ask":
            return PolicyDecision.ask(f"no rule allows {tool.name} with these arguments")
        return PolicyDecision.deny(f"{tool.name} is denied: no rule allows it with these arguments; go on without it")

    def _rules_for(self, tool: Tool[Any, Any]) -> ToolRules:
        """The rules for one tool; whatever can be said without a call is settled once."""
        key = tool.name, tool.effects
        known = self._compiled.get(key)
        if known is None:
            known = ToolRules.of(self.rules, tool, self._name)
            if len(self._compiled) < _MOST_TOOLS:
                self._compiled[key] = known
        return known

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self.rules)!r}, default={self.default!r})"


def _count(limits: Sequence[Part], facts: Facts) -> None:
    """Count the call for each limit that it is about, once for limits that say the same of how many calls they are about."""
    counted: set[str] = set()
    for part in limits:
        most = part.rule.at_most
        if most is None or part.own_key in counted or part.match(facts) is None:
            continue
        counted.add(part.own_key)
        # A person who was asked may let more of them happen than the rule does.
        bound = most if part.action == "deny" else None
        count_up(facts.context.session, part.own_key, bound, part.too_many(facts.tool.name))


def _is_in_named(path: str, facts: Facts) -> bool:
    named = (place for one in facts.paths if one.may_be_changed(facts.tool) for place in one.places)
    return any(place in ("", path) or path.startswith(f"{place}/") for place in named)
