"""`wink export`: a session in one file, for another machine or for a person to read."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import IO

import click

from wink.cli import echo_json, json_option, one_line, open_workspace, shown_path, workspace_option, wrong
from wink.limits import utc_now


@click.command()
@click.argument("file", required=False)
@workspace_option
@click.option("--session", default="default", show_default=True, metavar="NAME", help="The session to write.")
@click.option("--html", "as_html", is_flag=True, help="Write a page for a person, with nothing in it from elsewhere.")
@click.option("--no-history", is_flag=True, help="Leave out the git repository of what calls changed.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@json_option
def export(
    file: str | None, workspace: str, session: str, as_html: bool, no_history: bool, force: bool, as_json: bool
) -> None:
    """Write a session into FILE, SESSION.wink by default: its calls with their changes, its runs with their prompts.

    Secrets are masked in all of it. `wink import` reads it elsewhere; with --html it is a page to read.
    """
    from wink_bundles import export as collect
    from wink_bundles import git_bundle, write_bundle

    target = file or f"{session}.{'html' if as_html else 'wink'}"
    if os.path.lexists(target) and not force:
        raise wrong(f"{target!r} is there already; name another file, or give --force")
    if os.path.lexists(target) and not (os.path.isfile(target) or os.path.islink(target)):
        # Renaming a draft over a device would take the device away, from everybody where root does it.
        raise wrong(f"{target!r} is no file; name another")
    with open_workspace(workspace) as opened:
        if as_html:
            from wink_ui import static_page

            page, calls, runs = static_page(opened, session)
            _write(target, lambda stream: stream.write(page.encode("utf-8", "backslashreplace")))
        else:
            collected = collect(opened, session)
            history, left_out = (None, ()) if no_history else git_bundle(opened, session)
            _write(target, lambda stream: write_bundle(stream, collected, history, left_out, utc_now()))
            calls, runs = len(collected.calls), len(collected.runs)
            for one in left_out[:20]:
                click.echo(
                    one_line(f"wink: c{one.call} {shown_path(one.path)} is not in the history: {one.reason}"), err=True
                )
    if as_json:
        echo_json(file=os.path.abspath(target), session=session, calls=calls, runs=runs)
        return
    click.echo(one_line(f"{target}: {calls} calls, {runs} runs"))


def _write(target: str, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file that is there whole or not at all."""
    draft = f"{target}.{os.getpid()}.part"
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            write(stream)
        os.replace(draft, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise
