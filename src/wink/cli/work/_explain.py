"""`wink explain`: what would be allowed or denied, by which rule or setting, and why; nothing is executed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from wink.cli._compose import workspace_options
from wink.cli._shorten import visible
from wink.cli._standing import named_path, shown_path
from wink.cli._views import ENDS
from wink.cli._wrong import WrongInput, wrong
from wink.cli.work._judging import Judge, Judged, answer_of, judging, rules_of
from wink.filesystem import quoted_path

if TYPE_CHECKING:
    from wink.cli._views import Verdict
    from wink.policies import RuleMatch
    from wink.prompt import RenderedPrompt

_SAID: Final[dict[str, str]] = {"allow": "allows", "deny": "denies", "ask": "asks"}
_DOES: Final[dict[str, str]] = {"read": "reads it", "write": "writes it", "reach": "reaches it", "call": "is called"}
_ADVICE: Final = (
    "rules on command lines are advice: a copy under another name, an interpreter or a library does the same without "
    "the name; what must hold, hold by paths and by the network"
)


@click.command()
@click.argument("tool", required=False)
@click.argument("arguments", nargs=-1, metavar="[KEY=VALUE]...")
@workspace_options
@click.option("--arguments", "json_arguments", metavar="JSON", help="All arguments as one JSON object.")
@click.option("--path", metavar="PATH", help="Say what may read and write PATH, of tools and of programs.")
@click.option("--host", metavar="HOST[:PORT]", help="Say whether programs reach HOST, at port 443 unless given.")
@click.option("--command", "line", metavar="LINE", help="Say what rules make of LINE, as one types it at a shell.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
def explain(
    tool: str | None,
    arguments: tuple[str, ...],
    workspace: str,
    session: str,
    sections: tuple[str, ...],
    policies: tuple[str, ...],
    json_arguments: str | None,
    path: str | None,
    host: str | None,
    line: str | None,
    *,
    as_json: bool,
) -> int:
    """Say which rule would allow or deny a call of TOOL, and why; or what becomes of a path, a host or a command line.

    Nothing is executed and nothing is written. Arguments are given as to `wink call`. The exit status is 0 for what
    would be allowed, 1 for what would be denied or left to a person, also in part, and 2 for wrong input. Without a tool the
    rules are listed. For --host a name that is listed is looked up, as it would be.
    """
    given = [one for one in (tool, path, host, line) if one is not None]
    if len(given) > 1:
        raise wrong("give one of TOOL, --path, --host and --command")
    if json_arguments is not None and tool is None:
        raise wrong("--arguments are those of a TOOL; name it")
    asked = judging(workspace, session=session, sections=sections, policies=policies, commands=line is not None)
    with asked as judge:
        if tool is not None:
            return _call(judge, tool, arguments, json_arguments, as_json=as_json)
        if path is not None:
            typed = _typed(os.path.expanduser(path))
            shown = quoted_path(typed) if os.path.isabs(typed) else shown_path(typed)
            return _tell("path", shown, judge.paths([typed])[0], as_json=as_json)
        if host is not None:
            return _tell("host", host, judge.hosts([host], look_up=True)[0], as_json=as_json)
        if line is not None:
            return _command(judge, line, as_json=as_json)
        return _list(judge.rendered, as_json=as_json)


def _typed(path: str) -> str:
    """A path as it is typed, relative to the workspace; one that leads out of it as it is."""
    try:
        return named_path(path)
    except WrongInput:
        return os.path.abspath(path)


def _call(judge: Judge, tool: str, arguments: tuple[str, ...], given: str | None, *, as_json: bool) -> int:
    text, judged = judge.call(tool, arguments, given)
    if as_json:
        _echo({"tool": tool, "arguments": json.loads(text or "{}"), **_rows(judged)})
    else:
        for line in _lines(tool, judged):
            click.echo(visible(line))
    return 0 if answer_of(judged) == "allow" else 1


def _command(judge: Judge, line: str, *, as_json: bool) -> int:
    tools = judge.command(line)
    answer = answer_of([one for judged in tools.values() for one in judged])
    if as_json:
        rows = [{"tool": tool, **_rows(judged)} for tool, judged in tools.items()]
        _echo({"command": line, "answer": answer, "tools": rows, "note": _ADVICE})
    else:
        for tool, judged in tools.items():
            for one in _lines(tool, judged):
                click.echo(visible(one))
        click.echo(_ADVICE)
    return 0 if answer == "allow" else 1


def _tell(what: str, subject: str, verdicts: Sequence[Verdict], *, as_json: bool) -> int:
    answer = answer_of(verdicts)
    if as_json:
        _echo({what: subject, "answer": answer, "verdicts": [one._asdict() for one in verdicts]})
    else:
        click.echo(visible(subject))
        for one in verdicts:
            said = f": {one.reason}" if one.reason else ""
            click.echo(visible(f"  {one.who} {_DOES[one.does]}: {ENDS[one.answer]}{said}"))
            if one.origin or one.rule:
                click.echo(visible(f"    decided by {' '.join(filter(None, (one.origin, one.rule)))}"))
        if not verdicts:
            click.echo("  nothing here has to do with it")
    return 0 if answer == "allow" else 1


def _lines(tool: str, judged: Sequence[Judged]) -> Iterable[str]:
    yield f"{tool}: {ENDS[answer_of(judged)]}"
    for one in judged:
        yield f"  {one.policy} {_SAID[one.answer]}" + (f": {one.reason}" if one.reason else "")
        if one.rules is None:
            continue
        decided = one.rules.decided
        if decided is None:
            place = f" ({one.default_origin})" if one.default_origin else ""
            yield f"    decided by {one.default}{place}: no rule fits"
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


def _rows(judged: Sequence[Judged]) -> dict[str, Any]:
    return {"answer": answer_of(judged), "policies": [_row(one) for one in judged]}


def _row(one: Judged) -> dict[str, Any]:
    row: dict[str, Any] = {"policy": one.policy, "answer": one.answer, "reason": one.reason}
    if one.rules is not None:
        decided = one.rules.decided
        place = f" ({one.default_origin})" if one.default_origin else ""
        row["decided"] = f"{one.default}{place}" if decided is None else decided.rule.origin
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
    policies = [rules for policy in rendered.policies if (rules := rules_of(policy)) is not None]
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
        _echo(rows)
        return 0
    for policy in policies:
        place = f" ({policy.default_origin})" if policy.default_origin else ""
        click.echo(visible(f"{policy.name}, what no rule is about: {policy.default}{place}"))
        for rule in policy.rules:
            click.echo(visible(f"  {rule.origin or 'a rule'} {rule}" + (f": {rule.reason}" if rule.reason else "")))
    if not policies:
        click.echo("there are no rules; docs/guide/rules.md shows how to write them")
    return 0


def _echo(found: Any) -> None:
    click.echo(json.dumps(found, indent=2, ensure_ascii=False, default=str))
