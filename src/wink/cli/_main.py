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
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from wink import __version__
from wink.cli._standing import stand_anew, told
from wink.cli._upward import guard_here
from wink.cli._warnings import plugin_warnings_in_a_line
from wink.cli._wrong import ReaderGone, WrongInput, nearest, wrong
from wink.errors import (
    WinkError,
)
from wink.trust import guarded_places

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS: Final = {
    # name: (module, attribute, one line for the list of commands)
    "demo": ("wink.cli.work._demo", "demo", "Watch an agent fix a small project, and a failed call undone."),
    "run": ("wink.cli.work._run", "run", "Let a model work on a repository."),
    "replay": ("wink.cli.work._replay", "replay", "Play a recorded run again, without its model."),
    "call": ("wink.cli.work._call", "call", "Run one tool on a workspace, through the whole pipeline."),
    "approvals": ("wink.cli.work._approve", "approvals", "List the calls that wait for a person."),
    "approve": (
        "wink.cli.work._approve",
        "approve",
        "Let a call run that waits, as it stands or with other arguments.",
    ),
    "deny": ("wink.cli.work._approve", "deny", "Do not let a call run that waits."),
    "status": ("wink.cli.past._status", "status", "Say what is tried, waits or runs, and what the last call was."),
    "runs": ("wink.cli.past._runs", "runs", "List the runs that can be resumed, or all."),
    "log": ("wink.cli.past._log", "log", "List the calls that were made on a workspace."),
    "show": ("wink.cli.past._show", "show", "Show one call: arguments, policies, reply, changes."),
    "watch": ("wink.cli.past._watch", "watch", "Show what happens on a workspace while it happens."),
    "events": ("wink.cli.past._events", "events", "Print what happened on a workspace as JSON lines, or follow it."),
    "diff": ("wink.cli.past._diff", "diff", "Show what calls changed."),
    "undo": ("wink.cli.past._undo", "undo", "Take calls back, files and session state together."),
    "redo": ("wink.cli.past._undo", "redo", "Take back the last undo."),
    "checkpoint": (
        "wink.cli.past._checkpoint",
        "checkpoint",
        "Name a state of files and sessions, or list those named.",
    ),
    "restore": ("wink.cli.past._checkpoint", "restore", "Take back what calls have done since a checkpoint."),
    "gc": ("wink.cli.past._gc", "gc", "Free what the oldest calls replaced."),
    "recover": ("wink.cli.past._recover", "recover", "End what a killed process left half done."),
    "tools": ("wink.cli.work._tools", "tools", "List the tools that a model would be shown."),
    "lint": ("wink.cli.work._lint", "lint", "Check what of the tools a provider does not take."),
    "doctor": ("wink.cli.setup._doctor", "doctor", "Check what this machine can do, and how to get what it lacks."),
    "explain": (
        "wink.cli.work._explain",
        "explain",
        "Say which rule would allow or deny a call, a path, a host or a command line, and why.",
    ),
    "trust": ("wink.cli.settings._trust", "trust", "Let a workspace's settings count as your own."),
    "plugins": ("wink.cli.setup._plugins", "plugins", "List, explain and check plugins."),
    "new-plugin": ("wink.cli.setup._new_plugin", "new_plugin", "Write a package for a plugin of your own."),
    "help": ("wink.cli.setup._help", "help_", "Show what a command does, or the list of them."),
    "completion": ("wink.cli._completion", "completion", "Print what makes bash, zsh or fish complete wink's words."),
}
"""wink's own commands: the module, the attribute and the line in the list; no plugin can take one of these words."""
GROUPS: Final = {
    "Work": ("demo", "run", "call", "serve", "attach", "detach", "acp", "batch", "replay"),
    "Try, and keep what is good": ("try", "tries", "update", "accept", "drop"),
    "Look": (
        "status",
        "log",
        "show",
        "diff",
        "blame",
        "watch",
        "ui",
        "runs",
        "events",
        "history",
        "verify",
        "export",
        "import",
    ),
    "Go back": ("undo", "redo", "rewind", "checkpoint", "restore"),
    "Decide": ("approvals", "approve", "deny", "explain", "rules", "trust"),
    "Set up": ("tools", "lint", "plugins", "prompts", "new-plugin", "doctor", "recover", "gc", "completion", "help"),
}
"""How the list of commands is grouped; a word that nothing of wink's own brings is left out."""
FAILED, WRONG, INTERRUPTED, UNREAD = 1, 2, 130, 141


_MAKE_ROOM: Final = "; make room on the disk and try again"


class LazyGroup(click.Group):
    """A group that imports a command when it runs, and looks for plugins' only where the word is none of wink's own."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """wink's own commands, then those of plugins."""
        del ctx
        from wink.cli._offered import listed_commands

        return [*COMMANDS, *(one.name for one in listed_commands(COMMANDS))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        del ctx
        return _command(cmd_name)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[Any]]:
        """The words that begin so, without importing a command to ask whether it wants to be seen."""
        from click.shell_completion import CompletionItem

        from wink.cli._offered import listed_commands

        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        known = {name: summary for name, (_, _, summary) in COMMANDS.items()}
        known |= {one.name: one.summary for one in listed_commands(COMMANDS)}
        return [CompletionItem(name, help=known[name]) for name in known if name.startswith(incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which ones there are."""
        name = args[0]
        if name.startswith("-"):
            return super().resolve_command(ctx, args)
        command = _command(name, args)
        if command is None:
            known = self.list_commands(ctx)
            hint = nearest(name, known, otherwise=f"the commands are: {', '.join(known)}")
            raise wrong(f"there is no command {name!r}; {hint}")
        return name, command, args[1:]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands in groups, without importing them."""
        from wink.cli._offered import Listed, listed_commands
        from wink.cli._shorten import one_line

        del ctx
        problem, listed = "", list[Listed]()
        try:
            listed = listed_commands(COMMANDS)
        except (WinkError, OSError) as error:  # help is most needed where something is wrong
            problem = _of_system(error) if isinstance(error, OSError) else str(error)
        known = {name: summary for name, (_, _, summary) in COMMANDS.items()}
        known |= {one.name: one.summary for one in listed if not one.is_foreign}
        for group, names in GROUPS.items():
            if rows := [(name, one_line(known.pop(name))) for name in names if name in known]:
                with formatter.section(group):
                    formatter.write_dl(rows)
        if problem:
            with formatter.section("Commands of plugins"):
                formatter.write_text(f"not listed: {one_line(problem)}")
        others = [one for one in listed if one.is_foreign or one.name in known]
        for (plugin, installed_as), commands in groupby(others, key=lambda one: (one.plugin, one.installed_as)):
            with formatter.section(one_line(f"Commands of {plugin} ({installed_as})")):
                formatter.write_dl([(one_line(one.name), one_line(one.summary)) for one in commands])


def _command(name: str, arguments: Sequence[str] = ()) -> click.Command | None:
    if name in COMMANDS:
        module, attribute, _ = COMMANDS[name]
        command = getattr(importlib.import_module(module), attribute)
    else:
        from wink.cli._offered import offered_command

        command = offered_command(name, arguments)
    if not gc.isenabled():  # see `main`; a command may run for hours
        gc.freeze()
        gc.enable()
    return command


def _go(context: click.Context, option: click.Parameter, directories: Sequence[str]) -> None:
    del option
    arguments, context.obj = context.obj, None  # which is for whoever wants to keep something there
    for directory in directories:
        try:
            os.chdir(directory)
        except (OSError, ValueError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise wrong(f"cannot go to {directory!r}: {reason}; name a directory with -C") from error
    if directories and guarded_places() is not None:
        guard_here(arguments or ())


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="wink")
@click.option(
    "-C",
    metavar="DIR",
    multiple=True,
    is_eager=True,
    expose_value=False,
    callback=_go,
    help="Go to DIR before anything else, as `git -C` does.",
)
@click.option("--debug", is_flag=True, help="Show the tracebacks of what raises.")
@click.pass_context
def wink(ctx: click.Context, *, debug: bool) -> None:
    """Tools for agents that cannot leave a mess: every call commits, or it never happened."""
    ctx.meta["wink.tracebacks"] = debug
    if os.environ.get("NO_COLOR"):  # https://no-color.org, and the other by https://force-color.org
        ctx.color = False
    elif os.environ.get("FORCE_COLOR"):
        ctx.color = True


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
    stand_anew()
    if asked := os.environ.get("_WINK_COMPLETE"):
        from wink.cli._completion import completed

        return completed(wink, asked)
    try:
        # Not `wink.main`: it has its own ideas of interrupts and of closed pipes.
        with wink.make_context("wink", list(arguments), obj=arguments) as context:
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
        return _complain(told(error), FAILED if error.is_failure else WRONG)
    except (BrokenPipeError, ReaderGone):
        return UNREAD
    except OSError as error:
        return _complain(_of_system(error), FAILED)
    except Exception as error:  # foreign code: a plugin's, or a mistake of wink's own
        if "--debug" in arguments:
            raise
        if getattr(error, "sqlite_errorname", "") == "SQLITE_FULL":
            return _complain(f"{error}{_MAKE_ROOM}", FAILED)
        word = next(iter(_words(arguments)), "")
        whose = "this should not happen" if word in COMMANDS else f"the plugin's command {word} failed"
        return _complain(f"{type(error).__name__}: {error}; {whose}, `wink --debug …` shows where", FAILED)
    return status if isinstance(status, int) else 0


def _complain(message: str, status: int) -> int:
    try:
        from wink.cli._shorten import visible  # what goes wrong is rare

        click.echo(visible(f"wink: {' '.join(message.split())}"), err=True)
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
    # click forgets it where an option lacks its value
    path = " ".join(["wink", *_words(arguments)[:1]]) if error.ctx is None else error.ctx.command_path
    return f"{message}; `{path} --help` shows what it takes"


def _words(arguments: Sequence[str]) -> list[str]:
    """The command and what follows it, without the options before it."""
    words = list(arguments)
    while words and words[0].startswith("-"):
        del words[: 2 if words[0] == "-C" else 1]
    return words


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
