"""`wink explain`: which policies would allow or deny a call, by which rule, and why; nothing is executed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click

from wink.cli._compose import compose, workspace_options
from wink.cli._opening import open_workspace
from wink.cli._shorten import visible
from wink.cli.settings import installed_catalog
from wink.cli.work._arguments import arguments_text, find_tool
from wink.filesystem import Filesystem
from wink.policies import ToolPolicy
from wink.runtime import ask_now, with_read_result
from wink.tools import Tool, ToolContext
from wink.transactions import Transaction

if TYPE_CHECKING:
    from wink.policies import RuleJudgement, RuleMatch, RulesPolicy
    from wink.prompt import Prompt, RenderedPrompt
    from wink.session import Session

Answer = Literal["allow", "deny", "ask"]

_SAID: dict[str, str] = {"allow": "allows", "deny": "denies", "ask": "asks"}
_ENDS: dict[str, str] = {
    "allow": "allowed",
    "deny": "denied",
    "ask": "needs a person's approval",
}


class Judged(NamedTuple):
    """What one policy says, and, where it is made of rules, what each of them does."""

    policy: str
    answer: Answer
    reason: str | None
    rules: RuleJudgement | None = None
    default: str = ""


@click.command()
@click.argument("tool", required=False)
@click.argument("arguments", nargs=-1, metavar="[KEY=VALUE]...")
@workspace_options
@click.option("--arguments", "json_arguments", metavar="JSON", help="All arguments as one JSON object.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
def explain(
    tool: str | None,
    arguments: tuple[str, ...],
    workspace: str,
    session: str,
    sections: tuple[str, ...],
    policies: tuple[str, ...],
    json_arguments: str | None,
    *,
    as_json: bool,
) -> int:
    """Say which rule would allow or deny a call of TOOL, and why.

    Nothing is executed and nothing is written. Arguments are given as to `wink call`. The exit status is 0 for a call that
    would be allowed, 1 for one that would be denied or left to a person, and 2 for wrong input. Without a tool the rules
    are listed.
    """
    with open_workspace(workspace) as opened:
        prompt = compose(opened, installed_catalog(workspace), sections=sections, policies=policies)
        state = opened.session(session)
        rendered = with_read_result(prompt.render(session=state, check=False), state)
        if tool is None:
            return _list(rendered, as_json=as_json)
        found = find_tool(rendered, tool)
        text = arguments_text(found, arguments, json_arguments)
        judged = _judge(prompt, rendered, state, found, text)
    answer = _answer(judged)
    if as_json:
        row = {"tool": tool, "arguments": json.loads(text or "{}"), "answer": answer}
        rows = [_row(one) for one in judged]
        click.echo(json.dumps({**row, "policies": rows}, indent=2, ensure_ascii=False, default=str))
    else:
        for line in _lines(tool, answer, judged):
            click.echo(visible(line))
    return 0 if answer == "allow" else 1


def _judge(
    prompt: Prompt[Any], rendered: RenderedPrompt, session: Session, tool: Tool[Any, Any], arguments: str
) -> list[Judged]:
    """Ask every policy as a call would, inside a transaction that is taken back."""
    params = tool.parse(arguments)
    resources = prompt.resources.opened()
    nobody: Any = None  # no model is at work
    transaction = Transaction(session, resources, root=resources.get_optional(Filesystem), writable=False)
    try:
        files = transaction.filesystem
        scope = resources.call_scope({} if files is None else {Filesystem: files}, transaction.remember)
        context = ToolContext(prompt, rendered, nobody, session, call_id="explain", scope=scope)
        transaction.enter()
        try:
            return [_said(policy, tool, params, context) for policy in rendered.policies_for_tool(tool.name)]
        finally:
            transaction.leave()
            scope.close()
    finally:
        transaction.abort()


def _said(policy: ToolPolicy, tool: Tool[Any, Any], params: Any, context: ToolContext) -> Judged:
    (verdict,) = ask_now((policy,), tool, params, context)
    answer: Answer = "allow" if verdict.allowed else "ask" if verdict.asks else "deny"
    written = _rules_of(policy)
    if written is None:
        return Judged(verdict.policy, answer, verdict.reason)
    try:
        rules = written.explain(tool, params, context=context)
    except Exception:  # what made the check deny: the verdict says it
        return Judged(verdict.policy, answer, verdict.reason)
    default = f'rules_default = "{written.default}"' + (
        f" ({written.default_origin})" if written.default_origin else ""
    )
    return Judged(verdict.policy, answer, verdict.reason, rules, default)


def _rules_of(policy: ToolPolicy) -> RulesPolicy | None:
    try:
        from wink.policies import RulesPolicy
    except ImportError:  # where no plugin brings rules, nobody has any
        return None
    return policy if isinstance(policy, RulesPolicy) else None


def _answer(judged: Iterable[Judged]) -> Answer:
    answers = {one.answer for one in judged}
    return "deny" if "deny" in answers else "ask" if "ask" in answers else "allow"


def _lines(tool: str, answer: Answer, judged: Sequence[Judged]) -> Iterable[str]:
    yield f"{tool}: {_ENDS[answer]}"
    for one in judged:
        yield f"  {one.policy} {_SAID[one.answer]}" + (f": {one.reason}" if one.reason else "")
        if one.rules is None:
            continue
        decided = one.rules.decided
        if decided is None:
            yield f"    decided by {one.default}: no rule fits"
        for match in sorted(one.rules.matches, key=lambda match: match is not decided):
            yield f"    {_role(match, decided)} {match.rule.origin or 'a rule'} {match.rule}: {match.why}"
    if not judged:
        yield "  no policy governs it"


def _role(match: RuleMatch, decided: RuleMatch | None) -> str:
    if match is decided:
        return "decided by"
    if match.verdict == "kept":
        return "a limit that is kept:"
    if decided is not None and match.verdict == decided.verdict:
        return "agrees:"
    return "loses:"


def _row(one: Judged) -> dict[str, Any]:
    row: dict[str, Any] = {"policy": one.policy, "answer": one.answer, "reason": one.reason}
    if one.rules is not None:
        decided = one.rules.decided
        row["decided"] = one.default if decided is None else decided.rule.origin
        row["rules"] = [
            {
                "origin": match.rule.origin,
                "rule": {"action": match.rule.action, **match.rule.said()},
                "reason": match.rule.reason,
                "verdict": match.verdict,
                "why": match.why,
                "decided": match is decided,
            }
            for match in one.rules.matches
        ]
    return row


def _list(rendered: RenderedPrompt, *, as_json: bool) -> int:
    policies = [rules for policy in rendered.policies if (rules := _rules_of(policy)) is not None]
    if as_json:
        rows = [
            {
                "policy": policy.name,
                "default": policy.default,
                "rules": [
                    {"origin": rule.origin, "action": rule.action, **rule.said(), "reason": rule.reason}
                    for rule in policy.rules
                ],
            }
            for policy in policies
        ]
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False, default=str))
        return 0
    for policy in policies:
        place = f" ({policy.default_origin})" if policy.default_origin else ""
        click.echo(visible(f"{policy.name}, what no rule is about: {policy.default}{place}"))
        for rule in policy.rules:
            click.echo(visible(f"  {rule.origin or 'a rule'} {rule}" + (f": {rule.reason}" if rule.reason else "")))
    if not policies:
        click.echo("there are no rules; docs/guide/rules.md shows how to write them")
    return 0
