"""Find the command that was asked for, and turn what goes wrong into one line and an exit status.

Exit statuses: 0 done, 1 the work failed, 2 the input was wrong and nothing was changed, 3 a run waits for approval, 130
interrupted, 141 nobody reads the output.
"""

from __future__ import annotations

import errno
import gc
import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

import click

from wink import __version__
from wink.cli._warnings import plugin_warnings_in_a_line
from wink.cli._wrong import ReaderGone, WrongInput, nearest, wrong
from wink.errors import (
    ApprovalChanged,
    EngineFailed,
    PromptEvaluationError,
    RecordError,
    ReplayMismatch,
    ScriptMismatch,
    TransactionError,
    WinkError,
)

COMMANDS: Final = {
    # name: (module, attribute, one line for the list of commands)
    "demo": ("wink.cli._demo", "demo", "Watch an agent mend a small project, and a failed call undone."),
    "run": ("wink.cli._run", "run", "Let a model work on a repository."),
    "batch": ("wink.cli._batch", "batch", "Let a model work on many tasks, on this machine or a cluster."),
    "replay": ("wink.cli._replay", "replay", "Play a recorded run again, without its model."),
    "call": ("wink.cli._call", "call", "Run one tool on a workspace, through the whole pipeline."),
    "serve": ("wink.cli._serve", "serve", "Give an MCP client a workspace's tools."),
    "ui": ("wink.cli._ui", "ui", "Watch the calls in a browser, and take them back."),
    "approvals": ("wink.cli._approve", "approvals", "List the calls that wait for a person."),
    "approve": ("wink.cli._approve", "approve", "Let a call run that waits, as it stands or with other arguments."),
    "deny": ("wink.cli._approve", "deny", "Do not let a call run that waits."),
    "runs": ("wink.cli._runs", "runs", "List the runs that can be resumed."),
    "try": ("wink.cli._try", "try_", "Run any program over a workspace without changing it."),
    "tries": ("wink.cli._accept", "list_tries", "List what is being tried."),
    "accept": ("wink.cli._accept", "accept", "Make what was tried real, all or in part."),
    "drop": ("wink.cli._accept", "drop", "Forget what was tried."),
    "log": ("wink.cli._log", "log", "List the calls that were made on a workspace."),
    "show": ("wink.cli._show", "show", "Show one call: arguments, policies, reply, changes."),
    "watch": ("wink.cli._watch", "watch", "Show what happens on a workspace while it happens."),
    "events": ("wink.cli._events", "events", "Print what happened on a workspace as JSON lines, or follow it."),
    "export": ("wink.cli._export", "export", "Write a session into one file, or as a page to read."),
    "import": ("wink.cli._import", "import_", "Read a session that was written elsewhere."),
    "diff": ("wink.cli._diff", "diff", "Show what calls changed."),
    "history": ("wink.cli._history", "history", "Read with git what calls did: log, show, blame, grep, clone, ..."),
    "undo": ("wink.cli._undo", "undo", "Take calls back, files and session state together."),
    "redo": ("wink.cli._undo", "redo", "Take back the last undo."),
    "checkpoint": ("wink.cli._checkpoint", "checkpoint", "Name a state of files and sessions, or list those named."),
    "restore": ("wink.cli._checkpoint", "restore", "Take back what calls have done since a checkpoint."),
    "gc": ("wink.cli._gc", "gc", "Free what the oldest calls replaced."),
    "recover": ("wink.cli._recover", "recover", "End what a killed process left half done."),
    "prompts": ("wink.cli._prompts", "prompts", "List, show and edit what a model is told."),
    "tools": ("wink.cli._tools", "tools", "List the tools that a model would be shown."),
    "lint": ("wink.cli._lint", "lint", "Check what of the tools a provider does not take."),
    "doctor": ("wink.cli._doctor", "doctor", "Check what this machine can do, and how to get what it lacks."),
    "explain": ("wink.cli._explain", "explain", "Say which rule would allow or deny a call, and why."),
    "trust": ("wink.cli._trust", "trust", "Let a workspace's settings count as your own."),
    "plugins": ("wink.cli._plugins", "plugins", "List, explain and check plugins."),
    "new-plugin": ("wink.cli._new_plugin", "new_plugin", "Write a package for a plugin of your own."),
}
WORK_FAILED: Final = (
    TransactionError,
    RecordError,
    PromptEvaluationError,
    ScriptMismatch,
    ReplayMismatch,
    ApprovalChanged,
    EngineFailed,
)
"""The errors that say that work failed; every other one of wink's means that the input was wrong."""
FAILED, WRONG, INTERRUPTED, UNREAD = 1, 2, 130, 141


_MAKE_ROOM: Final = "; make room on the disk and try again"


class LazyGroup(click.Group):
    """A group that imports a command when it runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order in which a newcomer needs them."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command = getattr(importlib.import_module(module), attribute)
        if not gc.isenabled():  # see `main`; a command may run for hours
            gc.freeze()
            gc.enable()
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which ones there are."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            hint = nearest(name, COMMANDS, otherwise=f"the commands are: {', '.join(COMMANDS)}")
            raise wrong(f"there is no command {name!r}; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, _, summary) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="wink")
@click.option("--debug", is_flag=True, help="Show the tracebacks of what raises.")
@click.pass_context
def wink(ctx: click.Context, *, debug: bool) -> None:
    """Tools for agents that cannot leave a mess: every call commits, or it never happened."""
    ctx.meta["wink.tracebacks"] = debug


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    _have_standard_streams()
    _write_whatever_the_encoding()
    status = run(sys.argv[1:] if arguments is None else arguments)
    is_stuck = status == UNREAD
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        status, is_stuck = UNREAD, True
    except OSError as error:
        status, is_stuck = _complain(f"cannot write the output: {error.strerror or error}", FAILED), True
    except (AttributeError, ValueError):  # a tool has closed it, or put nothing in its place
        pass
    if is_stuck:
        # The interpreter flushes once more at its end, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    gc.freeze()  # the process ends: what it holds need not be looked through once more
    sys.exit(status)


def run(arguments: Sequence[str]) -> int:
    """Run the command line; the exit status."""
    try:
        # Not `wink.main`: it has its own ideas of interrupts and of closed pipes.
        with wink.make_context("wink", list(arguments)) as context:
            with plugin_warnings_in_a_line():
                status = wink.invoke(context)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 0
    except click.ClickException as error:
        return _complain(_with_remedy(error, arguments), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        return _complain("interrupted; what had been committed stays, a call in the middle was taken back", INTERRUPTED)
    except WinkError as error:
        return _complain(str(error), FAILED if isinstance(error, WORK_FAILED) else WRONG)
    except (BrokenPipeError, ReaderGone):
        return UNREAD
    except OSError as error:
        return _complain(_of_system(error), FAILED)
    except Exception as error:  # foreign code: a plugin's, or a mistake of wink's own
        if "--debug" in arguments:
            raise
        if getattr(error, "sqlite_errorname", "") == "SQLITE_FULL":
            return _complain(f"{error}{_MAKE_ROOM}", FAILED)
        text = f"{type(error).__name__}: {error}; this should not happen, `wink --debug …` shows where"
        return _complain(text, FAILED)
    return status if isinstance(status, int) else 0


def _complain(message: str, status: int) -> int:
    try:
        click.echo(f"wink: {' '.join(message.split())}", err=True)
    except OSError:  # nobody reads standard error either; the status still tells
        pass
    return status


def _with_remedy(error: click.ClickException, arguments: Sequence[str]) -> str:
    """click's own messages say what is wrong and not what to do."""
    message = error.format_message()
    if isinstance(error, WrongInput) or not isinstance(error, click.UsageError):
        return message
    message = message[:1].lower() + message[1:].rstrip(".")
    if "Did you mean" in message:
        return message.replace(". Did", "; did")
    if error.ctx is not None:
        path = error.ctx.command_path
    else:  # click forgets it where an option lacks its value
        path = " ".join(["wink", *[word for word in arguments if word in COMMANDS][:1]])
    return f"{message}; `{path} --help` shows what it takes"


def _of_system(error: OSError) -> str:
    reason = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        reason += _MAKE_ROOM
    return f"{error.filename}: {reason}" if error.filename else reason


def _have_standard_streams() -> None:
    """What the caller has closed must not be the number of the next file that is opened, and take what is printed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest number that is free
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: SIM115


def _write_whatever_the_encoding() -> None:
    """Characters that the terminal's encoding lacks are written as escapes; output must not end a run."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
