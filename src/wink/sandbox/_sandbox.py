"""Run programs over a workspace's files, each in an overlay of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from wink._planted import inherited
from wink.errors import SandboxUnavailable
from wink.sandbox._deep import tree
from wink.sandbox._filter import filter_of_calls
from wink.sandbox._launch import Request, launcher
from wink.sandbox._overlay import Overlay, is_directory
from wink.sandbox._program import Command, Ended, OnOutput, Stop, Streams, watch
from wink.sandbox._settings import MIB, Limits, Profile
from wink.sandbox._view import SYSTEM, is_in, toolchain, view
from wink.state import user_directory

PROGRAMS = "programs"
"""Where in the state the overlays of single programs are."""

_SCARCE = 512 * MIB
"""When less than this is left of the disk, a program that may have taken a lot of it is ended."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """How programs are confined.

    `masked` are directories, relative to the workspace, that look empty to them, `scratch` names of directories that stay
    out of transactions, see `Scratch`.
    """

    profile: Profile = field(default_factory=Profile)
    masked: tuple[str, ...] = (".wink",)
    scratch: tuple[str, ...] = ()

    def run(
        self,
        command: Command,
        overlay: Overlay,
        *,
        stop: Stop | None = None,
        on_output: OnOutput | None = None,
        beat: Callable[[], object] | None = None,
    ) -> Ended:
        """Run a program to its end, with no terminal, over an open overlay; what it changes stays in there.

        Raises `SandboxUnavailable` and `ProgramNotStarted`. `beat` is called a few times a second.
        """
        limits = self.profile.limits
        launcher.start()
        streams = Streams()
        try:
            with launcher.group.limited(limits):
                try:
                    channel = launcher.launch(self.request(command, overlay), streams.theirs)
                except BaseException:
                    streams.close(streams.feed)
                    raise
                finally:
                    streams.close_theirs()
                return watch(
                    command.argv[0],
                    channel,
                    streams,
                    command.stdin,
                    seconds=limits.wall_seconds,
                    output_bytes=limits.output_bytes,
                    stop=stop,
                    on_output=on_output,
                    beat=_Watcher(overlay.directory, limits, beat),
                )
        finally:
            streams.close(streams.out, streams.err)

    def request(
        self,
        command: Command,
        overlay: Overlay,
        *,
        interactive: bool = False,
        terminal: bool = False,
    ) -> Request:
        """What the launcher is asked for; `terminal` makes the first stream the program's controlling terminal."""
        root = overlay.root
        profile = replace(self.profile, readable=(*toolchain(root, self.profile.home), *self.profile.readable))
        source = overlay.upper if overlay.is_copy else root
        masked = [f"{root}/{name}" for name in self.masked if is_directory(f"{source}/{name}")]
        own = _own(profile, source, root)
        cwd = f"{root}/{command.cwd}" if command.cwd else root
        return Request(
            bwrap=bubblewrap(),
            argv=command.argv,
            view=view(
                root,
                cwd,
                command.env,
                profile,
                source=source,
                masked=[*masked, *own],
                interactive=interactive or terminal,
            ),
            mounts=() if overlay.is_copy else (overlay.mount(),),
            limits=rlimits(self.profile, launcher.group.held),
            terminal=terminal,
            filter=(filter_of_calls() or b"").hex(),
            places=[*masked, *own],
        )


def _own(profile: Profile, source: str, root: str) -> list[str]:
    """Where the user's key and what they trust lie, if a program would see it: that is for nobody but wink itself."""
    usual = {"XDG_STATE_HOME": ""}
    places = {user_directory(), *(user_directory({**usual, "HOME": home}) for home in _homes())}
    shown = [os.path.realpath(one) for one in (*SYSTEM, *profile.readable, *profile.writable)]
    found: list[str] = []
    for place in sorted(os.path.realpath(one) for one in places if one is not None):
        if is_in(place, root):
            found += [place] if is_directory(f"{source}{place[len(root) :]}") else []
        elif os.path.isdir(place) and any(is_in(place, one) for one in shown):
            found.append(place)
    return list(dict.fromkeys(found))


def _homes() -> set[str]:
    """Where this user's own files may lie: the variable can point elsewhere."""
    import pwd

    try:
        return {os.path.expanduser("~"), pwd.getpwuid(os.geteuid()).pw_dir}
    except KeyError:  # a user without a name, as in a container
        return {os.path.expanduser("~")}


def bubblewrap() -> str:
    """Where bubblewrap is; raises `SandboxUnavailable`."""
    # Never by PATH: that may name directories which a program could write.
    for place in ("/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"):
        if os.access(place, os.X_OK):
            return place
    raise SandboxUnavailable("overlay", ("bubblewrap is not installed; apt-get install bubblewrap",))


def rlimits(profile: Profile, held: Collection[str]) -> dict[str, int]:
    """The limits of each process; `held` are those that hold for the program as a whole."""
    limits = profile.limits
    wanted = {
        # What a group holds as a whole need not be held a second time: many programs reserve far more than they use.
        "RLIMIT_AS": None if "memory" in held else limits.memory_bytes,
        "RLIMIT_NPROC": limits.processes,
        "RLIMIT_FSIZE": limits.file_bytes,
        "RLIMIT_CPU": limits.cpu_seconds,
        "RLIMIT_CORE": 0,
    }
    return {name: value for name, value in wanted.items() if value is not None}


class _Watcher:
    """Tells when a program has written more than it may, looking at all of it only when the disk has filled so much."""

    def __init__(self, directory: str, limits: Limits, beat: Callable[[], object] | None) -> None:
        self._directory, self._limits, self._beat = directory, limits, beat
        self._free, self._free_files = self._left()

    def __call__(self) -> str | None:
        if self._beat is not None:
            self._beat()
        most, most_files = self._limits.written_bytes, self._limits.made_files
        left, left_files = self._left()
        is_much = most is not None and self._free - left >= most
        if not is_much and (most_files is None or self._free_files - left_files < most_files):
            return None
        # Files that have been deleted and are still written to are in no tree: what they take shows when it gets scarce.
        is_scarce = is_much and left < _SCARCE
        size = number = 0
        for _, status in tree(f"{self._directory}/upper"):
            size, number = size + status.st_blocks * 512, number + 1
        is_over = (most is not None and size > most) or (most_files is not None and number > most_files)
        return "wrote too much" if is_over or is_scarce else None

    def _left(self) -> tuple[int, int]:
        found = os.statvfs(self._directory)
        return found.f_bfree * found.f_frsize, found.f_ffree


@contextmanager
def opened(overlay: Overlay) -> Generator[Overlay]:
    """An overlay in use, and gone afterwards."""
    overlay.open()
    try:
        yield overlay
    finally:
        overlay.drop()


def words_of(argv: str | Sequence[str]) -> tuple[str, ...]:
    """A command as a program and its arguments; text is for the shell."""
    return ("/bin/sh", "-c", argv) if isinstance(argv, str) else tuple(argv)


def allowed(environment: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """The variables that `names` lists; a name may end in `*`.

    >>> allowed({"LC_ALL": "C", "AWS_SECRET": "x"}, ["LC_*"])
    {'LC_ALL': 'C'}
    """
    exact = {name for name in names if not name.endswith("*")}
    starts = tuple(name[:-1] for name in names if name.endswith("*"))
    kept = inherited(environment).items()
    return {name: value for name, value in kept if name in exact or (starts and name.startswith(starts))}
