"""`wink rules test`: hold what rules and settings do against what a file expects of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

import click

from wink.cli import Judge, Verdict, WrongInput, judging, visible, workspace_option, wrong
from wink_rules.commands._table import Expectation, read_table

_PROGRAMS: Final = 'programs are never asked about; by = "{}" asks about that alone'
_FAILED: Final = 1


class _Tested(NamedTuple):
    """An expectation, what each that it is about answered, and those of them that answered otherwise."""

    wanted: Expectation
    verdicts: tuple[Verdict, ...]
    wrong: tuple[Verdict, ...]


@click.command("test")
@click.argument("file", metavar="FILE")
@workspace_option
@click.option("--section", "sections", multiple=True, metavar="NAME", help="Add a section that a plugin offers.")
@click.option("--policy", "policies", multiple=True, metavar="NAME", help="Add a policy that a plugin offers.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
def expected(file: str, workspace: str, sections: tuple[str, ...], policies: tuple[str, ...], as_json: bool) -> int:
    """Hold what rules do against what FILE expects, so that a team keeps its rules in CI.

    FILE is TOML with tables [[test]]: a tool with its arguments, or paths that are read or written, hosts or command lines, and
    whether to expect "allow", "deny" or "ask". It is answered as `wink explain` does, in a session in which nothing was called yet;
    nothing is executed, written or looked up. The exit status is 0 where all is as expected, 1 where something is not, and 2 for
    wrong input.
    """
    wanted = read_table(file)
    with judging(workspace, sections=sections, policies=policies, commands=True) as judge:
        tested = [_held(one, verdicts) for one, verdicts in _judged(judge, wanted)]
    failed = [one for one in tested if one.wrong]
    if as_json:
        rows = [_row(one) for one in tested]
        click.echo(json.dumps({"expected": len(tested), "failed": len(failed), "tests": rows}, indent=2))
    else:
        for one in failed:
            for line in _lines(one):
                click.echo(visible(line))
        click.echo(f"{len(tested) - len(failed)} of {len(tested)} as expected")
    return _FAILED if failed else 0


def _judged(judge: Judge, wanted: Sequence[Expectation]) -> Iterator[tuple[Expectation, tuple[Verdict, ...]]]:
    """Each with what is answered; all paths are asked about at once, for which the workspace is looked through, and all hosts."""
    paths = list(dict.fromkeys(one.subject for one in wanted if one.about in ("read", "write")))
    hosts = list(dict.fromkeys(one.subject for one in wanted if one.about == "host"))
    known = dict(zip(paths, judge.paths(paths), strict=True))
    with suppress(WrongInput):  # which is said of the one that it is about
        known |= zip(hosts, judge.hosts(hosts, look_up=False), strict=True)
    for one in wanted:
        try:
            yield one, _verdicts(judge, one, known)
        except WrongInput as error:
            raise wrong(f"{one.place}: {error.format_message()}") from error


def _verdicts(judge: Judge, one: Expectation, known: dict[str, tuple[Verdict, ...]]) -> tuple[Verdict, ...]:
    if one.about == "tool":
        found = (judge.called(one.subject, dict(one.arguments)),)
    elif one.about == "command":
        found = judge.ran(one.subject)
    elif one.about == "host":
        found = known.get(one.subject) or judge.hosts([one.subject], look_up=False)[0]
    else:
        found = tuple(verdict for verdict in known[one.subject] if verdict.does == one.about)
    if one.by:
        names = [verdict.who for verdict in found]
        found = tuple(verdict for verdict in found if verdict.who == one.by)
        if not found:
            raise wrong(f"by must be one of {', '.join(names) or 'nothing'}, not {one.by!r}")
    if not found:
        raise wrong(f"nothing here has to do with {one.about} = {one.subject!r}, so nothing could fail")
    return found


def _held(one: Expectation, verdicts: tuple[Verdict, ...]) -> _Tested:
    def is_other(said: Verdict) -> bool:
        if said.answer != one.expect or (one.reason and one.reason not in said.reason):
            return True
        return bool(one.rule) and one.rule != said.origin

    return _Tested(one, verdicts, tuple(filter(is_other, verdicts)))


def _lines(one: _Tested) -> Iterator[str]:
    wanted = one.wanted
    more = ", ".join(f"{key} {value!r}" for key in ("reason", "rule") if (value := getattr(wanted, key)))
    arguments = f" {json.dumps(wanted.arguments, ensure_ascii=False, default=str)}" if wanted.arguments else ""
    yield f"{wanted.place}: {wanted.about} {wanted.subject!r}{arguments}: expected {wanted.expect}{f', {more}' if more else ''}"
    for said in one.wrong:
        yield f"  {said.who}: {said.answer}{f': {said.reason}' if said.reason else ''}"
        if said.origin or said.rule:
            yield f"    decided by {' '.join(filter(None, (said.origin, said.rule)))}"
    asking = [said.who for said in one.verdicts if said.answer == "ask"]
    if wanted.expect == "ask" and asking and any(said.answer != "ask" for said in one.wrong):
        yield f"  {_PROGRAMS.format(asking[0])}"


def _row(one: _Tested) -> dict[str, Any]:
    wanted = one.wanted
    said = {key: value for key, value in wanted._asdict().items() if key not in ("about", "subject") and value}
    answers = [verdict._asdict() for verdict in one.verdicts]
    return {wanted.about: wanted.subject, **said, "answers": answers, "differ": [verdict.who for verdict in one.wrong]}
