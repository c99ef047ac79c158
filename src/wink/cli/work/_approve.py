"""`wink approvals`, `wink approve` and `wink deny`: see which calls wait for a person, and answer."""

from __future__ import annotations

import json
from typing import Any, Final

import click

from wink.cli._calls import echo_json, json_option, opened_for_reading
from wink.cli._opening import open_workspace
from wink.cli._shorten import one_line
from wink.cli._standing import workspace_option
from wink.cli._wrong import wrong
from wink.cli.work._approval_view import json_of, lines_of
from wink.errors import ParseError
from wink.limits import utc_now
from wink.runtime import Answer, ApprovalRequest, answer_approval, pending_approvals, request_to_answer

NETWORK_ACCESS: Final = "network access"
"""What the requests of programs for hosts call themselves, which are held meanwhile: no tool has this name."""


@click.command()
@workspace_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line, for machines.")
def approvals(workspace: str, as_json: bool) -> None:
    """List the calls that wait for a person.

    Each is shown with its arguments, with who asks and why, and with the diff that writing or editing a file would make.
    """
    with opened_for_reading(workspace) as opened:
        waiting = pending_approvals(opened)
        if as_json:
            for request in waiting:
                click.echo(json.dumps(json_of(request)))
            return
        if not waiting:
            click.echo("nothing waits for approval")
            return
        for request in waiting:
            for line in lines_of(request, opened.filesystem, utc_now()):
                click.echo(line)
        click.echo(f"\nanswer with `wink approve {waiting[0].id}` or `wink deny {waiting[0].id}`")


@click.command()
@click.argument("request", metavar="ID")
@click.argument("arguments", nargs=-1, metavar="[KEY=VALUE]...")
@workspace_option
@click.option("--edit", metavar="JSON", help="Other arguments for the call, all of them as one JSON object.")
@click.option("--note", default="", metavar="TEXT", help="What to tell the model.")
@json_option
def approve(
    request: str, arguments: tuple[str, ...], workspace: str, edit: str | None, note: str, as_json: bool
) -> None:
    """Let the call ID run, as it stands or with other arguments.

    KEY=VALUE changes single arguments, and --edit all of them; policies see what you give. Your answer holds for exactly
    this call and for the files as they are now, and only once. Where they changed since the call was asked about, it is
    asked again under another ID.
    """
    if edit is not None and arguments:
        raise wrong("give other arguments as KEY=VALUE or as --edit JSON, not both")
    with open_workspace(workspace) as opened:
        if arguments:
            edit = edited(request_to_answer(opened, request), arguments)
        try:
            answered = answer_approval(opened, request, Answer(True, note, edit))
        except ParseError as error:
            raise wrong(f"--edit takes a JSON object: {error}") from error
        tell(answered, "approved", as_json=as_json, edit=edit)


@click.command()
@click.argument("request", metavar="ID")
@workspace_option
@click.option("--note", default="", metavar="TEXT", help="What to tell the model; say what it should do instead.")
@json_option
def deny(request: str, workspace: str, note: str, as_json: bool) -> None:
    """Do not let the call ID run."""
    with open_workspace(workspace) as opened:
        tell(answer_approval(opened, request, Answer(False, note)), "denied", as_json=as_json)


def edited(request: ApprovalRequest, arguments: tuple[str, ...]) -> str:
    """The arguments of a call with some of them changed, as JSON."""
    values: dict[str, Any] = json.loads(request.arguments)
    for argument in arguments:
        key, equals, text = argument.partition("=")
        if not equals or key not in values:
            known = ", ".join(values) or "none"
            raise wrong(f"{argument!r} changes no argument of {request.tool}, as KEY=VALUE; they are: {known}")
        values[key] = text if isinstance(values[key], str) else _value(key, text, values[key])
    return json.dumps(values)


def tell(answered: ApprovalRequest, what: str, *, as_json: bool, edit: str | None = None) -> None:
    """Say what was answered, and what comes next."""
    if as_json:
        echo_json(id=answered.id, tool=answered.tool, answer=what, run=answered.run or None)
        return
    click.echo(one_line(f"{what} {answered.id}: {answered.tool}"))
    if answered.tool == NETWORK_ACCESS:
        _tell_host(json.loads(edit or answered.arguments), approved=what == "approved")
    elif answered.run:
        click.echo(f"  `wink run --resume {answered.run}` goes on with the run")
    else:
        click.echo("  it counts for the next time that this call is made")


def _tell_host(arguments: dict[str, Any], *, approved: bool) -> None:
    """Say what becomes of a program that is held, and which line of settings makes the answer one for good."""
    click.echo("  the program that asked is told, if it still runs")
    if approved and arguments.get("lasts") == "always":
        host = str(arguments.get("host"))
        entry = f"[{host}]:{arguments.get('port')}" if ":" in host else f"{host}:{arguments.get('port')}"
        click.echo(one_line(f"  for good: add {json.dumps(entry)} to `network` in your own settings"))


def _value(key: str, text: str, before: object) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        if before is None:
            return text
        raise wrong(f"{key}={text!r} is not JSON, and {key} is no text") from error
