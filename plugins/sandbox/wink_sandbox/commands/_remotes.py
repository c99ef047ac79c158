"""Ask a person what is no program's to say: which remotes git has, and which git directory elsewhere is the workspace's."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from wink.cli import one_line, shown_path
from wink.filesystem import quoted_path
from wink.trust import is_inside

if TYPE_CHECKING:
    from wink_sandbox import RemoteSetting


class Remotes:
    """Asks once about the same, at a terminal; with `taken` it shows them and takes them."""

    def __init__(self, root: str, *, taken: bool) -> None:
        self._root, self._taken = os.path.realpath(root), taken
        self._answers: dict[tuple[RemoteSetting, ...], bool] = {}

    def __call__(self, settings: tuple[RemoteSetting, ...]) -> bool:
        """Whether these are to be taken."""
        if settings not in self._answers:
            self._answers[settings] = self._answer(settings)
        return self._answers[settings]

    def _answer(self, settings: tuple[RemoteSetting, ...]) -> bool:
        if not (self._taken or (sys.stdin.isatty() and sys.stdout.isatty())):
            return False
        click.echo("wink: other places for git to fetch from or push to:", err=True)
        for one in settings:
            click.echo(one_line(f"  {self._name(one.file)}: {one}"), err=True)
        return self._taken or click.confirm("Take them?", err=True)

    def _name(self, file: str) -> str:
        is_ours = is_inside(file, self._root)
        return shown_path(os.path.relpath(file, self._root)) if is_ours else quoted_path(file)


class GitDirectories:
    """Asks once, at a terminal, whether a git directory belongs to the workspace, whose `.git` alone says so; with `taken` it does."""

    def __init__(self, *, taken: bool) -> None:
        self._taken = taken
        self._answers: dict[str, bool] = {}

    def __call__(self, directory: str) -> bool:
        """Whether what git wrote there is to be taken, now and later."""
        if directory not in self._answers:
            is_asked = not self._taken and sys.stdin.isatty() and sys.stdout.isatty()
            words = (
                f"Does the git directory {quoted_path(directory)}, which this workspace's .git leads to, belong to it?"
            )
            self._answers[directory] = self._taken or (is_asked and click.confirm(one_line(words), err=True))
        return self._answers[directory]
