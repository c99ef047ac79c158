"""Run a program in a try: over an overlay, on a copy where none can be mounted, or on a copy with nothing confined.

Each way says in one line, before the program starts, what that will see.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from wink.cli import one_line, shown_workspace
from wink.dataclass import replace
from wink.errors import SandboxUnavailable
from wink.filesystem import quoted_path
from wink.limits import utc_now
from wink.trust import allowed, is_inside
from wink_sandbox import (
    Command,
    Mount,
    Overlay,
    Profile,
    Sandbox,
    Traffic,
    bubblewrap,
    check_mounts,
    launcher,
    layers,
    objection,
)
from wink_sandbox.commands._keeping import shown_entries, tell_persisted
from wink_sandbox.commands._network import shown_network, tell_traffic
from wink_sandbox.commands._telling import tell_notes
from wink_sandbox.tries import PROFILES, Run, Try, home_of, private_places, profile_named, run_here

if TYPE_CHECKING:
    from wink_sandbox import CopyOfTry
    from wink_sandbox.hiding import Hiding, Kept
    from wink_sandbox.network import People
    from wink_sandbox.tries import HomePattern

_UNCONFINED: Final = (
    "nothing is confined: network, home and /tmp are the real ones, and what is written outside of the copy, "
    "by the workspace's own path too, is real at once"
)
_SCRIPTS: Final = (
    "scripts in {0}/bin, as pip, name the workspace's own path, and what they change there is real; "
    "{0}/bin/python -m pip changes the copy"
)
_OR_UNCONFINED: Final = "`wink try --unconfined` runs it on a copy of the workspace, and confines nothing"
_NOT_KEPT: Final = "not kept in your home: {}; it is {} for a program on a copy"
_NO_HOME: Final = "the home is empty: no overlay can be mounted over it either ({})"
_RUNS_ON: Final = "the try is in use until it ends, and what it writes from now on is in none"
_LOST: Final = 2
_TEMPORARY: Final = "/tmp"  # noqa: S108 - what a program sees of it is told
_FOR_TEMPORARY: Final = ("TMPDIR", "TMP", "TEMP")
_PRIVATE: Final = (_TEMPORARY, "/var/tmp", "/dev/shm")  # noqa: S108 - these every program has, for itself


class Asked(NamedTuple):
    """What is asked for: `argv` with a profile, whatever that says of the network, and `entries` of the home to make real.

    `hiding` is what rules hide of the workspace, `kept` what is hidden of the machine, `people` are asked about hosts.
    """

    argv: tuple[str, ...]
    profile: str
    network: bool | tuple[str, ...] | None
    read: tuple[str, ...]
    entries: tuple[HomePattern, ...]
    quiet: bool
    hiding: Hiding | None = None
    kept: Kept | None = None
    people: People | None = None

    @property
    def sandbox(self) -> Sandbox:
        """Programs as they are confined, with the usual profile."""
        hidden = () if self.kept is None else self.kept.places
        return Sandbox(hiding=self.hiding, hidden=hidden, people=self.people)


class _Ended(NamedTuple):
    """How a program ended: its exit status, None where it was ended from outside, and what it asked of the network."""

    status: int | None = None
    traffic: Traffic | None = None


def run_confined(tried: Try, overlay: Overlay, asked: Asked) -> tuple[int | None, bool]:
    """Run it over an overlay, or on a copy; its exit status, None where it was ended, and whether anything of the home is real.

    Raises `SandboxUnavailable`.
    """
    root, chosen = overlay.root, PROFILES[asked.profile]
    home = os.environ.get("HOME") or os.path.expanduser("~")
    places, is_private = tuple(os.path.abspath(path) for path in asked.read), chosen.home == "private"
    # Where an empty home is wanted, the sandbox makes one; a private one is shown through an overlay of its own.
    made = profile_named(asked.profile, network=asked.network, home=None if is_private else home, readable=places)
    _check_confining()
    check_mounts(root)
    hidden = () if asked.kept is None else asked.kept.variables
    env = {name: value for name, value in allowed(os.environ, chosen.env).items() if name not in hidden}
    if chosen.machine:
        # The workspace is a mount of its own now, and may be a directory of a repository that begins above it.
        env["GIT_DISCOVERY_ACROSS_FILESYSTEM"] = "1"
    command = Command(asked.argv, _inside(root), env)
    why = "this try began on one" if tried.is_copied else _no_overlay(overlay)
    if why:
        command = _with_temporary(command, root)
        return _run_copied(tried, overlay, command, made, asked, home_of(home) if is_private else (), why)
    layers(overlay.directory)  # what is wrong with them is said before what a program would see
    mounts, told = private_places(overlay, home, tried.accepts_git_to()) if is_private else ((), ())
    command = _with_temporary(command, root, *(mount.target for mount in mounts))
    if not asked.quiet:
        _tell_overlay(made, root, mounts, asked)
    for line in told:
        click.echo(one_line(f"wink: {line}"), err=True)
    _tell_kept(asked)
    sandbox = replace(asked.sandbox, profile=replace(made, writable=tuple(mount.target for mount in mounts)))
    with _noted(tried, asked.argv, home if is_private else "") as ended:
        tried.note_places(mounts, os.path.abspath(git) if (git := env.get("GIT_DIR")) else "")
        persist = None
        if asked.entries:
            from wink_sandbox.tries import Persist

            persist = Persist(overlay, home, asked.entries)
        ended.append(_run(sandbox, command, overlay, mounts, asked))
    return ended[-1].status, persist is not None and tell_persisted(persist.keep(), quiet=asked.quiet)


def run_on_copy(tried: Try, overlay: Overlay, asked: Asked) -> int | None:
    """Run it as it is, with a copy of the workspace at another path; where it left something beside that, it has not ended well."""
    from wink_sandbox.tries import run_unconfined

    if not asked.quiet:
        click.echo(one_line(f"wink: workspace {shown_workspace()}, on a copy of it: {_UNCONFINED}"), err=True)
        for name in _environments(overlay.root):
            click.echo(one_line(f"wink: {_SCRIPTS.format(quoted_path(name))}"), err=True)
    command = Command(asked.argv, _inside(overlay.root), allowed(os.environ, PROFILES[asked.profile].env))
    with _copied_elsewhere(tried) as copy, _noted(tried, asked.argv) as ended:
        tell_notes(tuple(sorted(copy.left_out)), err=True)
        _tell_strays("an earlier program left beside the copy", copy.strays_before)
        status, running = run_unconfined(command, copy.shown, overlay.lock)
        ended.append(_Ended(status))
    for name in running:
        click.echo(one_line(f"wink: {name} is another user's, and runs on: {_RUNS_ON}"), err=True)
    return _LOST if copy.strays and ended[-1].status == 0 else ended[-1].status


@contextmanager
def _copied_elsewhere(tried: Try) -> Generator[CopyOfTry]:
    """A copy at another path; in the end it is said what lies beside it, also where what lay in it cannot be told."""
    copies = list["CopyOfTry"]()
    try:
        with tried.copied(moved=True) as copy:
            copies.append(copy)
            yield copy
    finally:
        for copy in copies:
            _tell_strays("beside the copy, and in no try", copy.strays)


def _environments(root: str) -> list[str]:
    """The virtual environments at the usual places of a workspace, and the active one if it is in there."""
    active = os.environ.get("VIRTUAL_ENV", "")
    names = {".venv", "venv", *([os.path.relpath(active, root)] if is_inside(active, root) else [])}
    return [name for name in sorted(names) if os.path.isfile(f"{root}/{name}/pyvenv.cfg")]


def _tell_strays(what: str, paths: Iterable[str]) -> None:
    for path in paths:
        click.echo(one_line(f"wink: {what}: {quoted_path(path)}"), err=True)


def _run_copied(
    tried: Try, overlay: Overlay, command: Command, made: Profile, asked: Asked, home: tuple[str, ...], why: str
) -> tuple[int | None, bool]:
    """Run it confined, with a copy of the workspace at the workspace's path; `home` is what it may read of that.

    That is shown through an overlay too: in what is merely mounted read-only, FIFOs and sockets lead to other processes.
    """
    no_home = objection(overlay.directory, home[0], writable=False) if home else ""
    if no_home:
        usual = len(made.readable) - len(asked.read)
        readable = (*_around(home[0], made.readable[:usual]), *made.readable[usual:])
        made, home = replace(made, home=home[0], readable=readable), ()
    seen = "read-only" if home else "empty" if made.home else "none"
    if not asked.quiet:
        places = f"home {seen}, {_TEMPORARY} empty" if seen != "empty" else f"home and {_TEMPORARY} empty"
        _tell_start(made, asked, places, f"; on a copy of the workspace: {why}")
    if no_home:
        click.echo(one_line(f"wink: {_NO_HOME.format(no_home)}"), err=True)
    if asked.entries:
        click.echo(one_line(f"wink: {_NOT_KEPT.format(shown_entries(asked.entries), seen)}"), err=True)
    _tell_kept(asked)
    sandbox = replace(asked.sandbox, profile=replace(made, readable=(*made.readable, *home)))
    mounts = tuple(Mount(place, (place,), "", "") for place in home)
    with tried.copied() as copy, _noted(tried, asked.argv) as ended:
        tell_notes(tuple(sorted(copy.left_out)), err=True)
        ended.append(_run(sandbox, command, copy.shown, mounts, asked))
    return ended[-1].status, False


def _run(sandbox: Sandbox, command: Command, overlay: Overlay, mounts: tuple[Mount, ...], asked: Asked) -> _Ended:
    """Run it, and say what it asked of the network."""
    ended = _Ended(*run_here(sandbox, command, overlay, mounts))
    if ended.traffic is not None:
        tell_traffic(ended.traffic, quiet=asked.quiet)
    return ended


def _around(home: str, places: Iterable[str]) -> Iterator[str]:
    """Some directories without the home, which they would show: of one that it lies in, what is beside it."""
    for place in places:
        if not is_inside(home, place):
            yield place
            continue
        while place != home:
            on_the_way = os.path.join(place, os.path.relpath(home, place).partition("/")[0])
            with suppress(OSError), os.scandir(place) as entries:
                yield from (one.path for one in entries if one.path != on_the_way and one.is_dir(follow_symlinks=False))
            place = on_the_way


def _with_temporary(command: Command, *writable: str) -> Command:
    """The command, without a place for temporary files that it could not write to: they are in `/tmp` then, as ever."""
    kept = (*writable, *_PRIVATE)
    env = {
        name: value
        for name, value in command.env.items()
        if name not in _FOR_TEMPORARY or any(is_inside(os.path.realpath(value), place) for place in kept)
    }
    return replace(command, env=env)


def _check_confining() -> None:
    """Raise `SandboxUnavailable`, with the other way on, where nothing can confine a program."""
    try:
        bubblewrap()
        launcher.start()
    except SandboxUnavailable as error:
        ways = (_OR_UNCONFINED,) if sys.platform == "linux" else ()
        raise SandboxUnavailable(error.guard, (*error.missing, *ways)) from None


def _no_overlay(overlay: Overlay) -> str:
    """Why no overlay can be mounted over the workspace, which is tried out; empty where one can."""
    why = objection(overlay.directory, overlay.root)
    return f"no overlay can be mounted ({why})" if why else ""


@contextmanager
def _noted(tried: Try, argv: tuple[str, ...], home: str = "") -> Generator[list[_Ended]]:
    """Keep that a program runs, and how it ended, which whoever runs it adds to the list."""
    started, clock = utc_now(), time.monotonic()
    ended: list[_Ended] = []
    tried.note(Run(argv, started, 0.0, None), home)
    yield ended
    tried.note(Run(argv, started, time.monotonic() - clock, *ended[-1]))


def _tell_overlay(made: Profile, root: str, mounts: Iterable[Mount], asked: Asked) -> None:
    uppers = {mount.target: mount.upper for mount in mounts}
    is_private = any(upper.endswith("/home/upper") for upper in uppers.values())
    home = "private" if is_private else "empty" if made.home else "none"
    temporary = "private" if _TEMPORARY in uppers else "the workspace" if root == _TEMPORARY else "empty"
    places = f"home and {_TEMPORARY} {home}" if home == temporary else f"home {home}, {_TEMPORARY} {temporary}"
    kept = f" (kept in your home: {shown_entries(asked.entries)})" if asked.entries and is_private else ""
    _tell_start(made, asked, f"{places}{kept}")


def _tell_start(made: Profile, asked: Asked, places: str, copied: str = "") -> None:
    """Say in a line what a program sees."""
    is_machine = PROFILES[asked.profile].machine
    shown = " and ".join(("machine" if is_machine else "system", *map(quoted_path, asked.read)))
    rest = "" if is_machine else ", the rest of the machine"
    sees = f"network {shown_network(made.network, asked.people is not None)}, {places}, {shown} read-only; hidden: .wink, socket files{rest}{copied}"
    with suppress(OSError):  # nobody needs to read it
        click.echo(one_line(f"wink: workspace {shown_workspace()}, profile {asked.profile}: {sees}"), err=True)


def _tell_kept(asked: Asked) -> None:
    """Say in a line what of the machine is hidden, and how it is not."""
    if asked.kept is not None and asked.kept.told and not asked.quiet:
        with suppress(OSError):
            click.echo(one_line(f"wink: also hidden: {asked.kept}; --read PATH shows one"), err=True)


def _inside(root: str) -> str:
    """The directory to start in: the current one where that is in the workspace, otherwise the workspace itself."""
    here = os.path.realpath(Path.cwd())
    if here == root or not here.startswith(root.rstrip("/") + "/"):
        return ""
    return os.path.relpath(here, root)
