"""`wink attach` and `wink detach`: put hooks into an agent's own configuration, and take out exactly those again."""

from __future__ import annotations

import difflib
import os
import shutil
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import click

from wink.cli import echo_json, json_option, visible, workspace_option, wrong
from wink_attach._agent import Agent, Edit, Limited, Scope, Trusting
from wink_attach._helper import stop
from wink_attach._hooks_file import write_settings
from wink_attach._judge import Judge
from wink_attach._offers import agent_named, agent_names
from wink_attach._place import baseline_directory, hook_command, install_client, mark_closed, oddity, seen
from wink_attach.commands._running import run_attached

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_user = click.option("--user", is_flag=True, help="For all projects of yours, in the agent's own user settings.")
_dry_run = click.option("--dry-run", is_flag=True, help="Only show what would be written.")


@click.command()
@click.argument("agent", required=False)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- CMD...]")
@workspace_option
@_user
@_dry_run
@click.option(
    "--yes", is_flag=True, help="Trust wink's hooks in the agent, where it asks for that, without being asked here."
)
@json_option
def attach(
    agent: str | None,
    command: tuple[str, ...],
    workspace: str,
    user: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Judge, record and make undoable what an agent's own tools do: each call, and each turn.

    AGENT is the agent's name. Its hooks are written beside what is in its configuration; what it does is not rewritten, only
    compared with what was there before. With CMD, which starts the agent, the hooks are for this run only. Without AGENT, list what is attached here, and whether it was seen to work.
    """
    root = os.path.realpath(workspace)
    if agent is None:
        if user or dry_run:
            raise wrong("name an agent: " + ", ".join(agent_names(root)))
        _list(root, as_json=as_json)
        return
    chosen = agent_named(root, agent)
    scope = scope_of(root, user=user)
    if command and (user or dry_run or as_json):
        raise wrong("give --user, --dry-run or --json, or a command to run, not both")
    if not user and (reason := oddity(root, is_chosen=True)):
        raise wrong(reason)
    if command:
        if any(is_attached(chosen, scope_of(root, user=one)) for one in (False, True)):
            raise wrong(f"{agent} is attached already: start it as it is, or `wink detach {agent}` first")
        run_attached(chosen, root, command, closed=Judge.denies(root), environ=os.environ)
    if not user and is_attached(chosen, scope_of(root, user=True)):
        raise wrong(f"{agent} is attached for all projects already; `wink detach {agent} --user` first")
    edit = chosen.attach(scope, hook_command)
    if not as_json:
        _show(edit)
    if dry_run:
        if as_json:
            echo_json(**_json_of(agent, edit), dry_run=True)
        return
    place = install_client()
    if not user:
        mark_closed(root, closed=Judge.denies(root))
    write_settings(edit)
    if as_json:
        is_active = not isinstance(chosen, Trusting) or _settle_trust(chosen, agent, scope, yes=yes, asks=False)
        limits = list(_limits(chosen))
        echo_json(**_json_of(agent, edit), dry_run=False, hooks_run=place, active=is_active, limits=limits)
        return
    where = "all your projects" if user else root
    click.echo(
        f"{agent} is {'still ' if edit.before == edit.after else ''}attached in {visible(where)}; its hooks run {visible(place)}"
    )
    if isinstance(chosen, Trusting) and _settle_trust(chosen, agent, scope, yes=yes):
        click.echo(f"{agent} trusts wink's hooks")
    for limit in _limits(chosen):
        click.echo(f"not with {agent}: {limit}")
    click.echo("start it anew; then `wink log` shows its calls, and `wink undo --turn` takes a turn of its back")


@click.command()
@click.argument("agent")
@workspace_option
@_user
@_dry_run
@json_option
def detach(agent: str, workspace: str, user: bool, dry_run: bool, as_json: bool) -> None:
    """Take wink's hooks out of an agent's configuration again, and nothing else.

    What was recorded stays, and can still be undone. With the last agent of a workspace go the copies of files that were kept
    for the next call.
    """
    root = os.path.realpath(workspace)
    edit = agent_named(root, agent).detach(scope_of(root, user=user))
    if not as_json:
        _show(edit)
    if dry_run:
        if as_json:
            echo_json(**_json_of(agent, edit), dry_run=True)
        return
    write_settings(edit)
    if not any(_may_be_attached(root, name, user=one) for name in agent_names(root) for one in (False, True)):
        _forget(root)
    if as_json:
        echo_json(**_json_of(agent, edit), dry_run=False)
        return
    click.echo(f"{agent} is {'not attached' if edit.before == edit.after else 'detached'}")


def scope_of(root: str, *, user: bool) -> Scope:
    """Where hooks are to be written."""
    return Scope(None if user else root, os.path.expanduser("~"), os.environ)


def is_attached(agent: Agent, scope: Scope) -> bool:
    """Whether hooks of wink's are in an agent's configuration."""
    edit = agent.detach(scope)
    return edit.before != edit.after


def _may_be_attached(root: str, name: str, *, user: bool) -> bool:
    """Whether hooks of wink's are, or could be, in an agent's configuration, which may be none."""
    try:
        return is_attached(agent_named(root, name), scope_of(root, user=user))
    except click.UsageError:
        return True


def is_complete(agent: Agent, scope: Scope) -> bool:
    """Whether they are all there, as this wink would write them."""
    edit = agent.attach(scope, hook_command)
    return edit.before == edit.after


class _Standing(NamedTuple):
    """How an agent is attached: whether for all projects, whether all hooks are as wink writes them, and when one was last heard."""

    agent: str
    user: bool
    is_complete: bool
    seen_at: datetime | None


def _attached(root: str) -> Iterator[_Standing]:
    for name in agent_names(root):
        agent = agent_named(root, name)
        for user in (False, True):
            scope = scope_of(root, user=user)
            if is_attached(agent, scope):
                heard = seen(root, name)
                at = None if heard is None else datetime.fromtimestamp(heard, UTC)
                yield _Standing(name, user, is_complete(agent, scope), at)


def _list(root: str, *, as_json: bool) -> None:
    """Say what is attached here."""
    from wink.cli import when
    from wink.limits import utc_now

    found = list(_attached(root))
    if as_json:
        keys = ("agent", "user", "complete", "seen_at")
        shown = [(*one[:3], None if one.seen_at is None else one.seen_at.isoformat()) for one in found]
        echo_json(attached=[dict(zip(keys, one, strict=True)) for one in shown])
        return
    for one in found:
        where = "all projects" if one.user else "this project"
        state = "" if one.is_complete else "; not all of its hooks are as wink wrote them, attach it again"
        told = "not seen to work yet" if one.seen_at is None else f"seen to work {when(one.seen_at, utc_now())}"
        click.echo(f"{one.agent}: attached for {where}, {told}{state}")
    if not found:
        first = (agent_names(root) or ["AGENT"])[0]
        click.echo(f"no agent is attached here; `wink attach {first}` attaches one")


def _limits(agent: Agent) -> Sequence[str]:
    """What is not possible with an agent."""
    return agent.limits if isinstance(agent, Limited) else ()


def _json_of(agent: str, edit: Edit) -> dict[str, object]:
    """What becomes of an agent's settings, for machines."""
    return {"agent": agent, "file": edit.path, "changed": edit.before != edit.after}


def _settle_trust(chosen: Trusting, name: str, scope: Scope, *, yes: bool, asks: bool = True) -> bool:
    """Have the hooks trusted with the user's yes; whether they are, and otherwise say loudly that they are not active."""
    try:
        found = chosen.untrusted(scope)
        question = f"{name} runs hooks only when you trust them. Trust the {len(found)} of wink's?"
        if found and (yes or (asks and sys.stdin.isatty() and click.confirm(question))):
            chosen.trust(scope, found)
            found = chosen.untrusted(scope)
    except click.UsageError as error:
        click.echo(f"wink: {error.message}", err=True)
        found = [("", "")]
    if found:
        click.echo(
            f"wink: NOT ACTIVE: {name} skips wink's hooks until you trust them, here with --yes or in its own dialog",
            err=True,
        )
    return not found


def _show(edit: Edit) -> None:
    before, after = ((side or "").splitlines(keepends=True) for side in (edit.before, edit.after))
    for line in difflib.unified_diff(before, after, edit.path, edit.path):
        click.echo(visible(line.rstrip("\n")))


def _forget(root: str) -> None:
    """End the helper, and drop the copies."""
    stop(root)
    mark_closed(root, closed=False)
    shutil.rmtree(baseline_directory(root), ignore_errors=True)
