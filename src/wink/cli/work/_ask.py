"""Ask the person at the terminal whether a call may run."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from wink.cli._wrong import WrongInput
from wink.cli.work._approval_view import lines_of
from wink.cli.work._approve import edited
from wink.errors import ParseError
from wink.limits import utc_now
from wink.runtime import Answer, ApprovalRequest, SuspendRun

if TYPE_CHECKING:
    from wink.filesystem import Filesystem


def can_ask() -> bool:
    """Whether somebody is there who sees a question and can answer it."""
    return sys.stdin.isatty() and sys.stderr.isatty()


class TerminalApprovals:
    """Shows a call on standard error and waits for a line on standard input; nothing but a plain yes approves.

    `before` runs before each question, to stop whatever moves on the screen. Ctrl-C and the end of input answer nothing:
    with `suspends` they suspend the run.
    """

    def __init__(
        self, files: Filesystem | None, *, suspends: bool = True, before: Callable[[], object] = lambda: None
    ) -> None:
        self.suspends = suspends
        self._files, self._before = files, before

    def answer(self, request: ApprovalRequest) -> Answer | None:
        """Ask until there is an answer."""
        self._before()
        try:
            return self._asked(request)
        except (KeyboardInterrupt, EOFError):
            click.echo("", err=True)
            return None

    def _asked(self, request: ApprovalRequest) -> Answer | None:
        arguments: str | None = None
        for line in lines_of(request, self._files, utc_now()):
            click.echo(line, err=True)
        later = "[s]uspend" if self.suspends else "[l]ater"
        while True:
            said = _line(f"Let it run? [y]es / [n]o / [e]dit / {later}: ", flush=True).strip().lower()
            if said in ("y", "yes"):
                return Answer(True, "", arguments)
            if said in ("n", "no"):
                return Answer(False, _line("Why not? The model is told (Enter for nothing): ").strip())
            if said in ("s", "suspend", "l", "later"):
                return None
            if said in ("e", "edit"):
                arguments = self._edited(request) or arguments
                if arguments is not None:
                    click.echo(f"  with {arguments}", err=True)
            else:
                click.echo(f"please answer with y, n, e or {later[1]}", err=True)

    def _edited(self, request: ApprovalRequest) -> str | None:
        """Other arguments, as the person types them."""
        from wink.runtime import edited_arguments

        text = _line("Arguments, as KEY=VALUE or all of them as JSON: ").strip()
        try:
            if text.startswith("{"):
                return edited_arguments(text)
            return edited(request, (text,)) if text else None
        except (ParseError, WrongInput) as error:
            click.echo(getattr(error, "message", str(error)), err=True)
            return None


class Later:
    """Answers nothing, and lets the call be denied until somebody has approved it."""

    suspends = False

    async def answer(self, request: ApprovalRequest) -> Answer | None:
        """Nobody is asked."""
        del request
        return None


def approvals_for(
    files: Filesystem | None, *, no_input: bool, suspends: bool, before: Callable[[], object] = lambda: None
) -> TerminalApprovals | SuspendRun | Later:
    """Who answers: the person at the terminal if there is one, otherwise nobody for now."""
    if can_ask() and not no_input:
        return TerminalApprovals(files, suspends=suspends, before=before)
    return SuspendRun() if suspends else Later()


def _line(question: str, *, flush: bool = False) -> str:
    """One line that a person types; raises `EOFError` at the end of input."""
    import select

    if flush:
        _forget_typed()
    sys.stderr.write(question)
    sys.stderr.flush()
    while not select.select([sys.stdin], [], [], 0.2)[0]:
        pass  # a signal that came right before a read would be heard after it only
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line


def _forget_typed() -> None:
    """What was typed before the question was there is no answer to it."""
    with suppress(Exception):  # no terminal, or none that can do this
        import termios

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def shown_arguments(request: ApprovalRequest, width: int) -> str:
    """The arguments in one line, with secrets masked."""
    from wink.cli._masked import masked_value
    from wink.cli._shorten import arguments

    return arguments(masked_value(json.loads(request.arguments)), width)
