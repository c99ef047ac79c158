"""Run programs over a workspace's files, each in an overlay of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from wink.dataclass import dataclass, field, replace
from wink.errors import ProgramNotStarted, SandboxUnavailable
from wink.state import user_directory
from wink_sandbox._overlay import Overlay, is_directory
from wink_sandbox._written import Watcher
from wink_sandbox.network import PORT, hosts_of, proxied, variables
from wink_sandbox.programs import (
    SYSTEM,
    Command,
    Ended,
    Mount,
    OnOutput,
    Profile,
    Request,
    Stop,
    Streams,
    filter_of_calls,
    is_in,
    launcher,
    listening,
    toolchain,
    view,
    watch,
)

if TYPE_CHECKING:
    from wink_sandbox.hiding import Hiding
    from wink_sandbox.network import People

T = TypeVar("T")

_STARTS = 5
PROGRAMS = "programs"
"""Where in the state the overlays of single programs are."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """How programs are confined.

    `masked` are directories, relative to the workspace, that look empty to them, `scratch` names of directories that stay
    out of transactions, see `Scratch`. `hiding` is what rules hide of the workspace, `hidden` are real paths elsewhere that
    look empty. `people` are asked about hosts that the profile does not list.
    """

    profile: Profile = field(default_factory=Profile)
    masked: tuple[str, ...] = (".wink",)
    scratch: tuple[str, ...] = ()
    hiding: Hiding | None = None
    hidden: tuple[str, ...] = ()
    people: People | None = None

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
        launcher.start()  # what it holds programs to is left out of the request

        def once(request: Request) -> Ended:
            with proxied(self.profile.network, self.people) as way:
                ended = self._run(request, command, overlay, stop, on_output, beat, way.gate if way else None)
            return replace(ended, traffic=way.traffic()) if way else ended

        return run_request(lambda: self.request(command, overlay), once)

    def _run(
        self,
        request: Request,
        command: Command,
        overlay: Overlay,
        stop: Stop | None,
        on_output: OnOutput | None,
        beat: Callable[[], object] | None,
        gate: int | None,
    ) -> Ended:
        limits = self.profile.limits
        streams = Streams()
        try:
            with launcher.group.limited(limits):
                try:
                    channel = launcher.launch(request, streams.theirs, gate)
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
                    beat=Watcher(overlay, limits, beat),
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
        own = own_places(profile, source, root)
        cwd = f"{root}/{command.cwd}" if command.cwd else root
        hosts = hosts_of(profile.network, self.people)
        return Request(
            bwrap=bubblewrap(),
            argv=command.argv,
            view=view(
                root,
                cwd,
                {**command.env, **variables(hosts)},
                profile,
                masked=[*masked, *own],
                interactive=interactive or terminal,
            ),
            # Not by the copy's path, which may lead through what is mounted before it, such as the home.
            mounts=(Mount(root, (), source, "") if overlay.is_copy else overlay.mount(),),
            # The kernel would hold its own copies to a size too, and let nobody change the mode of a larger file.
            limits=rlimits(self.profile, {*launcher.group.held, "file size"}),
            terminal=terminal,
            filter=(filter_of_calls() or b"").hex(),
            places=[*masked, *own],
            covered=listening(profile, root),
            port=0 if hosts is None else PORT,
            hidden=self._hidden(root, overlay.upper),
            blank=overlay.directory,
            pinned=[root] if overlay.is_copy else (),
        )

    def _hidden(self, root: str, upper: str) -> list[tuple[str, tuple[str, ...]]]:
        """What the launcher is to hide."""
        from wink_sandbox.hiding import other_names  # which commands that run no program do not need

        names: list[str] = list(self.masked)
        hidden = [("/", tuple(path[1:] for path in self.hidden))] if self.hidden else []
        if self.hiding is not None and (found := self.hiding.find(root, upper)):
            hidden.append((root, found))
            names = [*names, *found]
        # The same filesystem can be mounted at other places too.
        if others := tuple(other_names(root, names)):
            hidden.append(("/", others))
        return hidden


def own_places(profile: Profile, source: str, root: str) -> list[str]:
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


def run_request(ask: Callable[[], Request], run: Callable[[Request], T]) -> T:
    """Run what is asked for; again where it could not be started and a socket that was to be covered has gone meanwhile.

    The kernel takes away what is mounted over a name with the name, and bubblewrap, which mounts all again, ends there. On a
    busy machine that may happen several times in a row.
    """
    for _ in range(_STARTS - 1):
        request = ask()
        try:
            return run(request)
        except ProgramNotStarted:
            if all(os.path.lexists(path) for path in request.covered):
                raise
    return run(ask())


def bubblewrap() -> str:
    """Where bubblewrap is; raises `SandboxUnavailable`."""
    # Never by PATH: that may name directories which a program could write.
    for place in ("/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"):
        if os.access(place, os.X_OK):
            return place
    raise SandboxUnavailable("overlay", ("bubblewrap is not installed; apt-get install bubblewrap",))


def rlimits(profile: Profile, held: Collection[str]) -> dict[str, int]:
    """The limits of each process; `held` are those that somebody else holds the program to, as a whole."""
    limits = profile.limits
    wanted = {
        # What a group holds as a whole need not be held a second time: many programs reserve far more than they use.
        "RLIMIT_AS": None if "memory" in held else limits.memory_bytes,
        "RLIMIT_NPROC": limits.processes,
        "RLIMIT_FSIZE": None if "file size" in held else limits.file_bytes,
        "RLIMIT_CPU": limits.cpu_seconds,
        "RLIMIT_CORE": 0,
    }
    return {name: value for name, value in wanted.items() if value is not None}


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
