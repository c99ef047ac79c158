"""What `wink explain` asks of paths and hosts: what programs of a try see, change and reach, and what is accepted of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from wink.cli import Verdict, network_settings, path_rules, wrong
from wink.errors import SandboxUnavailable
from wink.filesystem import check_writable
from wink.trust import is_inside
from wink_sandbox import SYSTEM, Step, merge_problem, own_places
from wink_sandbox.commands._hidden import hide_entries, hiding_of, homes, kept_of
from wink_sandbox.commands._keeping import persisted
from wink_sandbox.commands._network import Reach, network_of
from wink_sandbox.hiding import kept_from, unseen, would_keep
from wink_sandbox.network import judged, target
from wink_sandbox.tries import PROFILES, profile_named

if TYPE_CHECKING:
    from wink_rules import Rule
    from wink_sandbox.hiding import Unseen

TRY: Final = "wink try"
ACCEPT: Final = "wink accept"
_PROFILE: Final = next(iter(PROFILES))
_STATE: Final = ".wink"
_IS_STATE: Final = "it is wink's own, which no program sees"
_TEMPORARY: Final = ("/tmp", "/var/tmp")  # noqa: S108 - a program sees the machine's
_COVERED: Final = "what hides it can be neither written to nor moved"
_KEPT: Final = "programs find an empty file or directory in its place; `wink try --read` shows it for one run"
_WOULD_KEEP: Final = "nothing is there now; it would be hidden, settings where a credential is in them"
_EMPTY_HANDED: Final = "nothing of this place is seen by programs with any profile"
_PRIVATE: Final = "what a program writes there stays in the try, and is never real"
_READ_ONLY: Final = "programs may only read it"
_UNSEEN: Final = "its programs see the system, and what they are shown besides"
_UNCHANGED: Final = "its programs change nothing outside of the workspace"
_ASKED: Final = "it is not listed, and a person is asked while the program waits; where nobody can be, it is refused"
_ANY_PUBLIC: Final = "where it leads to public addresses; to others only if these are listed too"


def explained(workspace: str, about: str, subjects: Sequence[str], look_up: bool) -> tuple[tuple[Verdict, ...], ...]:
    """What the usual profile of `wink try` makes of each path or host, and `wink accept` of what is written."""
    if about == "host":
        found, said = network_of(_PROFILE, (), False, False, workspace), network_settings(workspace)
        reach = found if found.network is not None else found._replace(network=PROFILES[_PROFILE].network)
        known = dict(zip(said.network, said.origins, strict=True)) if isinstance(said.network, tuple) else {}
        usual = "nothing is said of the network, and the usual profile has all of it; build and closed have none"
        return tuple(
            (reached(TRY, one, reach, known, said.origin, usual, look_up),)
            for one in subjects
        )  # fmt: skip
    if about == "path":
        inside, outside = WorkspacePaths(workspace, TRY, ACCEPT), _Machine(workspace)
        return tuple(
            outside.verdicts(one) if os.path.isabs(one) else inside.verdicts(one, outside.verdicts) for one in subjects
        )
    return ((),) * len(subjects)


class WorkspacePaths:
    """What programs of `reader` see of paths of a workspace, and what becomes of what they write, by `writer`.

    With `call` they are programs of a call of the tool `reader`, with these effects: what a rule wants a person asked about is taken
    back too. Those of tries are held as `run_command` holds its own.
    """

    def __init__(self, root: str, reader: str, writer: str, *, call: str = "") -> None:
        self._root, self._reader, self._writer = root, reader, writer
        if call:
            self._hiding = hiding_of(root, reader)
            self._rule = path_rules(root, tool=reader, effects=call, asking=True)
        else:
            self._hiding, self._rule = hiding_of(root), path_rules(root)
        self._problem = ""
        if self._hiding is not None:
            try:
                self._hiding.find(root)
            except SandboxUnavailable as error:
                self._problem = f"programs are not run: {error}"

    def verdicts(self, path: str, elsewhere: Callable[[str], Sequence[Verdict]]) -> tuple[Verdict, ...]:
        """What becomes of reading a path, and of writing it; `elsewhere` says what becomes of one that a link leads out to."""
        path = "" if path == "." else path
        real = os.path.realpath(os.path.join(self._root, path))
        found = None if self._hiding is None or self._problem else unseen(self._hiding, self._root, path)
        if found is None and not is_inside(real, self._root):
            who = {"read": self._reader, "write": self._writer}
            return tuple(one._replace(who=who.get(one.does, one.who)) for one in elsewhere(real))
        read, write = self._read(path, found), self._write(path)
        if found is not None and found.is_now and write.answer == "allow":
            write = Verdict(self._writer, "write", "deny", _COVERED, read.origin, read.rule)
        return read, write

    def _read(self, path: str, found: Unseen | None) -> Verdict:
        if path == _STATE or path.startswith(f"{_STATE}/"):
            return Verdict(self._reader, "read", "deny", _IS_STATE)
        if self._problem:
            return Verdict(self._reader, "read", "deny", self._problem)
        if found is None:
            return Verdict(self._reader, "read", "allow")
        why = f": {found.rule.reason}" if found.rule is not None and found.rule.reason else ""
        return Verdict(self._reader, "read", "deny", f"{found.reason}{why}", *_of(found.rule))

    def _write(self, path: str) -> Verdict:
        real = os.path.realpath(os.path.join(self._root, path))
        names = (path, os.path.relpath(real, self._root)) if is_inside(real, self._root) else (path,)
        for name in names:
            rule = self._rule(name)
            if rule is not None:
                return Verdict(self._writer, "write", "deny", self._why(rule), *_of(rule))
        try:
            found = os.lstat(os.path.join(self._root, names[-1]))
        except OSError:
            found = None
        problem = merge_problem(Step("file", names[-1], found), self._root, is_git=False, check=check_writable)
        return Verdict(self._writer, "write", "deny" if problem else "allow", problem or "")

    def _why(self, rule: Rule) -> str:
        why = rule.reason or ("a rule asks about it" if rule.action == "ask" else "a rule denies that")
        if self._writer == ACCEPT:
            return f"it is denied to programs by a rule: {why}; with --rest all else is accepted"
        return f"a program's change of it is taken back, with all that it did: {why}"


class CalledPrograms:
    """What programs of calls of the tool `who`, which has these effects, see, change and reach in a workspace.

    `reach` is the network that they have; `origin` says where that is set, and `usual` what holds where it is not.
    """

    def __init__(self, workspace: str, who: str, *, effects: str, reach: Reach, origin: str, usual: str) -> None:
        self._workspace, self._who, self._effects = workspace, who, effects
        self._reach, self._origin, self._usual = reach, origin, usual

    def explained(
        self, about: str, subjects: Sequence[str], look_up: bool, outside: Callable[[str], tuple[Verdict, ...]]
    ) -> tuple[tuple[Verdict, ...], ...]:
        """What `wink explain` asks of a plugin; `outside` says it of a path that is not in the workspace."""
        who = self._who
        if about == "host":
            return tuple((reached(who, one, self._reach, {}, self._origin, self._usual, look_up),) for one in subjects)
        if about == "path":
            inside = WorkspacePaths(self._workspace, who, who, call=self._effects)
            return tuple(outside(one) if os.path.isabs(one) else inside.verdicts(one, outside) for one in subjects)
        return ((),) * len(subjects)

    def shown(self, readable: Sequence[str], origin: str, path: str) -> tuple[Verdict, ...]:
        """What of the rest of the machine they see where their home is empty, and what is `readable` is shown besides the system."""
        real = os.path.realpath(path)
        is_listed = any(is_inside(real, os.path.realpath(one)) for one in readable)
        is_shown = is_listed or any(is_inside(real, os.path.realpath(one)) for one in SYSTEM)
        answer, why = ("allow", "") if is_shown else ("deny", _UNSEEN)
        read = Verdict(self._who, "read", answer, why, origin if is_listed else "")
        return read, Verdict(self._who, "write", "deny", _UNCHANGED)


class _Machine:
    """What programs of a try see of the rest of the machine, with the usual profile."""

    def __init__(self, root: str) -> None:
        self._root, self._homes = os.path.realpath(root), homes()
        self._entries, self._persisted = hide_entries(root), persisted(_PROFILE, root)
        self._kept = kept_of(_PROFILE, root, (), self._persisted)
        profile = profile_named(_PROFILE, network=None, home=None, readable=())
        self._own = own_places(profile, root, self._root)
        self._shown = [os.path.realpath(one) for one in (*SYSTEM, *profile.readable, *_TEMPORARY, *self._homes[:1])]

    def verdicts(self, path: str) -> tuple[Verdict, ...]:
        """What becomes of reading an absolute path, and of writing it."""
        above, name = os.path.split(path)
        named = os.path.join(os.path.realpath(above), name)
        return self._read(named), self._write(named)

    def _read(self, path: str) -> Verdict:
        for place in dict.fromkeys((path, os.path.realpath(path))):
            if any(is_inside(place, one) for one in self._own):
                return Verdict(TRY, "read", "deny", _IS_STATE)
            entry = None if self._kept is None else self._kept.entry(place)
            if entry is not None:
                return Verdict(TRY, "read", "deny", _KEPT, *self._said(entry))
            if not any(is_inside(place, one) for one in self._shown):
                return Verdict(TRY, "read", "deny", _EMPTY_HANDED)
        entry = None if os.path.lexists(path) else would_keep(path, self._homes, tuple(self._entries))
        if entry is not None:
            return Verdict(TRY, "read", "deny", _WOULD_KEEP, *self._said(entry))
        exception = self._exception(path) if any(one.startswith(("!~", "!/")) for one in self._entries) else ""
        return Verdict(TRY, "read", "allow", "", *(self._said(exception) if exception else ("", "")))

    def _exception(self, path: str) -> str:
        """The exception without which a path would be hidden; empty where there is none."""
        wanted = [one for one in self._entries if not one.startswith(("!", "$"))]
        bare = kept_from(self._root, self._homes, {}, wanted)
        if bare.entry(path) is None:
            return ""
        exceptions = (one for one in self._entries if one.startswith(("!~", "!/")))
        lifted = (
            one for one in exceptions if kept_from(self._root, self._homes, {}, [*wanted, one]).entry(path) is None
        )
        return next(lifted, "")

    def _said(self, entry: str) -> tuple[str, str]:
        origin = self._entries.get(entry, "")
        return origin, f'hide = ["{entry}"]' if origin else f"what is usually hidden: {entry}" if entry else ""

    def _write(self, path: str) -> Verdict:
        home = next((one for one in self._homes if is_inside(path, one)), None)
        if home is not None and any(one.fits(os.path.relpath(path, home).split("/")) for one in self._persisted):
            return Verdict(TRY, "write", "allow", "persist: it is made real in your home when the program ends")
        is_private = home is not None or any(is_inside(path, one) for one in _TEMPORARY)
        return Verdict(TRY, "write", "deny", _PRIVATE if is_private else _READ_ONLY)


def reached(
    who: str, host: str, reach: Reach, origins: dict[str, str], origin: str, usual: str, look_up: bool
) -> Verdict:
    """Whether programs of `who` reach HOST or HOST:PORT; wrong input for what is none.

    `origins` say where each host that programs `reach` is listed, `origin` where the setting is, and `usual` what holds where it is not.
    """
    try:
        name, port = target(host)
    except ValueError as error:
        raise wrong(str(error)) from None
    network = reach.network or ()
    if network is True or not (network or reach.asks):
        is_open = network is True
        said = "all of the network is open" if is_open else "there is no network"
        return Verdict(
            who, "reach", "allow" if is_open else "deny", said if origin else usual, origin, _network(reach, origin)
        )
    found = judged(name, port, network, look_up=look_up)
    if reach.asks and not found.is_listed:
        return Verdict(who, "reach", "ask", _ASKED, origin, 'network_default = "ask"')
    if not found.is_allowed:
        return Verdict(who, "reach", "deny", found.outcome, origin, "network lists no entry that lets it through")
    told = f"but it leads nowhere now: {found.outcome}" if found.outcome else "" if look_up else _ANY_PUBLIC
    return Verdict(who, "reach", "allow", told, origins.get(found.entry, origin), f'network = ["{found.entry}"]')


def _network(reach: Reach, origin: str) -> str:
    return f"network = {'[]' if reach.network == () else str(reach.network).lower()}" if origin else ""


def _of(rule: Rule | None) -> tuple[str, str]:
    return ("", "") if rule is None else (rule.origin, str(rule))
