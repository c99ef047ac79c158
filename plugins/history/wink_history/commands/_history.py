"""`wink history`: git, to read what calls did in wink's own repository."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Mapping
from typing import NoReturn

import click

from wink.cli import opened_for_reading, workspace_option, wrong
from wink_history.commands._git_words import git_words


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[GIT ARGUMENT]...")
@workspace_option
def history(words: tuple[str, ...], workspace: str) -> int:
    """Read the history with git: one commit a call, and one for what others had changed before it.

    Alone it lists the commits. Otherwise the words are for git: `log -p`, `show c0ffee`, `diff`, `blame FILE`, `grep TEXT HEAD`,
    `ls-tree`, `cat-file`, `rev-list`, `archive`, `bundle create FILE`, `clone DIRECTORY` and others that only read. HEAD is
    the last call, and paths begin at the top of the workspace. Nothing in the workspace and none of your settings for git have a say. The exit status is git's.
    """
    git_words(words, "")  # what is wrong is said before anything is done
    with opened_for_reading(workspace) as opened:
        if not opened.filesystem.read_only:
            opened.fold()
        elif opened.record.folds.pending(1):
            click.echo("wink: the last calls are missing: nothing can be added to the history here", err=True)
        is_empty = not words and opened.record.folds.last()[1] is None
        state = opened.state
    from wink_history import git_on_store

    git = git_on_store(state, os.environ)
    if git is None or is_empty:
        if words:
            click.echo("wink: nothing is in the history yet", err=True)
            return 1
        click.echo("nothing is in the history yet")
        return 0
    program = shutil.which("git", path=git.environment["PATH"])
    if program is None:
        raise wrong("there is no git on the PATH; install it, for example with apt-get install git")
    return _become(program, ["git", *git.options, *git_words(words, git.place)], git.environment)


def _become(program: str, argv: list[str], environment: Mapping[str, str]) -> NoReturn:
    """Be git from here on: it has the terminal, ends as it ends, and is told of signals as if there had been no wink."""
    sys.stdout.flush()
    sys.stderr.flush()
    for one in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores, and with it whatever it becomes
        signal.signal(one, signal.SIG_DFL)
    os.execve(program, argv, environment)  # noqa: S606
