"""Keep beside a try's overlay what ran in it, what it shows of other directories, and what of the workspace it has seen."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast

from wink.dataclass import dataclass
from wink.errors import RecordCorrupt
from wink.filesystem import is_git_index
from wink.state import opened_directory, read_file, replace_file
from wink_sandbox import LEFT_OUT, SINCE, Contact, Mount, Overlay, Traffic
from wink_sandbox.tries._marks import CHANGED, MODE, mark_of

if TYPE_CHECKING:
    from wink_sandbox.tries._hunks import Content

FOREVER: Final = 1 << 62
_FILE: Final = "try.json"
_MOST_BYTES: Final = 256 << 20
_UPPERS: Final = frozenset(("home/upper", "tmp/upper", "var-tmp/upper", "main/upper"))
_TEXTS: Final = 100
"""So many contents of one text are known."""
NO_PARTS: Final[Mapping[str, Content]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Run:
    """A program that ran in a try; `status` is its exit status, None where it was ended from outside.

    `traffic` is what it asked of the network, where only some hosts were listed.
    """

    argv: tuple[str, ...]
    started_at: datetime
    seconds: float
    status: int | None
    traffic: Traffic | None = None


class Facts:
    """What is kept beside an overlay; written while the try is in use."""

    def __init__(self, overlay: Overlay) -> None:
        self._overlay = overlay
        self._last: tuple[object, dict[str, Any]] = (None, {})

    def read(self) -> dict[str, Any]:
        """All of it; what is damaged is as if it had never been noted."""
        try:
            with opened_directory(self._overlay.directory) as place:
                found: object = json.loads(read_file(place, _FILE, _MOST_BYTES))
        except (OSError, ValueError, RecursionError):
            found = None
        facts = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
        runs, known, texts = facts.get("runs"), facts.get("known"), facts.get("texts")
        facts["runs"] = cast("list[Any]", runs) if isinstance(runs, list) else []
        for name in ("home", "git"):
            facts[name] = given if isinstance(given := facts.get(name), str) and os.path.isabs(given) else ""
        marks = cast("dict[str, Any]", known) if isinstance(known, dict) else {}
        places = facts.get("places")
        shown = cast("dict[str, Any]", places) if isinstance(places, dict) else {}
        facts["places"] = {place: upper for place, upper in shown.items() if str(upper) in _UPPERS}
        facts["known"] = {path: mark for path, mark in marks.items() if isinstance(mark, list)}
        lists = cast("dict[str, Any]", texts) if isinstance(texts, dict) else {}
        facts["texts"] = {path: one for path, one in lists.items() if isinstance(one, list)}
        marked = facts.get("marked")
        paths = cast("list[Any]", marked) if isinstance(marked, list) else []
        facts["marked"] = [path for path in paths if isinstance(path, str)]
        return facts

    def _as_read(self) -> dict[str, Any]:
        """The same, not to be changed: read once as long as nobody has replaced it."""
        try:
            found = os.lstat(f"{self._overlay.directory}/{_FILE}")
        except OSError:
            return self.read()
        key = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        if self._last[0] != key:
            self._last = key, self.read()
        return self._last[1]

    def keep(self, facts: Mapping[str, object]) -> None:
        """Replace all of it."""
        with opened_directory(self._overlay.directory) as place:
            replace_file(place, _FILE, json.dumps(facts).encode())

    def copy_to(self, directory: str) -> None:
        """Keep the same beside another overlay, which is as old as this one."""
        with opened_directory(self._overlay.directory) as here, opened_directory(directory) as there:
            replace_file(there, SINCE, str(self._overlay.since).encode())
            for name in (_FILE, LEFT_OUT):
                with suppress(FileNotFoundError):
                    replace_file(there, name, read_file(here, name, _MOST_BYTES))

    # -- what ran, and what was shown

    @property
    def since(self) -> int:
        """When the overlay was first used, by its filesystem's clock, in nanoseconds; 0 where nobody knows."""
        try:
            with opened_directory(self._overlay.directory) as place:
                return int(read_file(place, SINCE, 64))
        except (OSError, ValueError, RecordCorrupt):
            return 0

    @property
    def begun_at(self) -> datetime | None:
        """The same as a time."""
        try:
            return datetime.fromtimestamp(self.since / 1e9, UTC) if self.since > 0 else None
        except (OSError, ValueError, OverflowError):
            return None

    @property
    def runs(self) -> tuple[Run, ...]:
        """The programs that ran, oldest first."""
        return tuple(run for one in self.read()["runs"] if (run := _run(one)) is not None)

    @property
    def places(self) -> tuple[tuple[str, str], ...]:
        """The directories beside the workspace that were shown, each with what holds the changes there."""
        places = self.read()["places"].items()
        return tuple((target, f"{self._overlay.directory}/{upper}") for target, upper in places)

    def note(self, run: Run, argv: Sequence[object], home: str = "") -> None:
        """Note that a program runs, or how it ended if it is the one that was noted last; `argv` is what is kept of its own."""
        facts = self.read()
        facts["home"] = os.path.realpath(home) if home else facts["home"]
        runs = [one for one in facts["runs"] if _run(one) is not None]
        noted = {
            "argv": argv,
            "started_at": run.started_at.isoformat(),
            "seconds": round(run.seconds, 3),
            "status": run.status,
            **({} if run.traffic is None else {"traffic": _noted(run.traffic)}),
        }
        if runs and runs[-1]["started_at"] == noted["started_at"]:
            runs.pop()
        self.keep({**facts, "runs": [*runs, noted]})

    def note_places(self, mounts: Sequence[Mount], git: str = "") -> None:
        """Note what is shown beside the workspace, and the git directory that a program's environment names."""
        facts = self.read()
        shown = {mount.target: os.path.relpath(mount.upper, self._overlay.directory) for mount in mounts}
        self.keep({**facts, "places": {**facts["places"], **shown}, "git": git or facts["git"]})

    # -- what is known of files

    def remember(
        self,
        contents: Mapping[str, str | None],
        *,
        until: int = FOREVER,
        texts: Mapping[str, Sequence[str]] = MappingProxyType({}),
        root: str = "",
    ) -> None:
        """Know again what is at some paths of the workspace, or of `root`; their content's digests, None where that is yet to be read.

        What has changed after `until` is somebody else's. `texts` of which a part was accepted are known by content and mode
        alone, before and after, so that what was chosen can be undone, and chosen again.
        """
        facts = self.read()
        known = facts["known"]
        for path, both in texts.items():
            there = cast("list[Any]", facts["texts"].get(path) or [])
            facts["texts"][path] = [*there, *(text for text in both if text not in there)][-_TEXTS:]
        for path, digest in contents.items():
            name = f"{root}/{path}" if root else path
            mark = mark_of(f"{root or self._overlay.root}/{path}", digest, known.get(name))
            if mark is not None and mark[CHANGED] <= until:
                known[name] = mark
        self.keep(facts)

    @property
    def marked(self) -> frozenset[str]:
        """The paths that an update has given conflict markers."""
        return frozenset(self.read()["marked"])

    def updated(self, marks: Mapping[str, tuple[list[Any] | None, list[Any] | None, bool]]) -> None:
        """Know paths by a mark and by texts that were noted before, or no more where there are none; and whether an update marked conflicts in them."""
        facts = self.read()
        marked = set(facts["marked"]) - marks.keys()
        for path, (mark, texts, is_marked) in marks.items():
            for name, noted in (("known", mark), ("texts", texts)):
                facts[name].pop(path, None)
                if noted is not None:
                    facts[name][path] = noted
            marked |= {path} if is_marked else set()
        self.keep({**facts, "marked": sorted(marked)})

    def let_go(self, paths: Iterable[str]) -> None:
        """Know paths no more of which a later base was kept."""
        facts = self.read()
        for path in paths:
            facts["known"].pop(path, None)
            facts["texts"].pop(path, None)
        self.keep(facts)

    def knows(self, path: str, *, root: str = "") -> bool:
        """Whether a path, of the workspace or of `root`, is as it is known: it was accepted from here, or changed and exactly put back, as a rollback does.

        Its time alone does not say so: people keep that when they copy a file. Content decides, and where that is not
        read, whether nothing at all has happened to the file.
        """
        facts, mark = self._as_read(), mark_of(f"{root or self._overlay.root}/{path}")
        known = facts["known"].get(f"{root}/{path}" if root else path)
        texts = facts["texts"].get(path) if not root else None
        if texts and mark is not None and f"{mark[MODE] & 0o7777:o} {mark[-1]}" in texts:
            return True
        if not isinstance(known, list) or len(cast("list[object]", known)) <= CHANGED or mark is None:
            return False
        known = cast("list[object]", known)
        if is_git_index(path) and mark[-1] is not None:
            return (known[MODE], known[-1]) == (mark[MODE], mark[-1])  # git writes it anew, and it says the same
        if stat.S_ISDIR(mark[MODE]):
            return (known[0], known[MODE]) == (
                mark[0],
                mark[MODE],
            )  # what is in it has marks of its own, and gives it other times
        if known[:CHANGED] != mark[:CHANGED]:
            return False
        return known[-1] == mark[-1] if mark[-1] is not None else known == mark


def _run(noted: Any) -> Run | None:
    """A program that was noted, unless what stands there is none."""
    try:
        started = datetime.fromisoformat(noted["started_at"])
        traffic = _traffic(noted["traffic"]) if "traffic" in noted else None
        return Run(tuple(map(str, noted["argv"])), started, float(noted["seconds"]), noted["status"], traffic)
    except (KeyError, TypeError, ValueError):
        return None


def _noted(traffic: Traffic) -> dict[str, object]:
    contacts = [
        [one.host, one.port, one.outcome, one.times, one.sent, one.received, one.asked] for one in traffic.contacts
    ]
    return {"contacts": contacts, "more": traffic.more, "unrouted": traffic.unrouted}


def _traffic(noted: Any) -> Traffic:
    contacts = tuple(
        Contact(str(host), int(port), str(outcome), *map(int, rest[:3]), asked="".join(map(str, rest[3:4])))
        for host, port, outcome, *rest in noted["contacts"]
    )
    return Traffic(contacts, int(noted["more"]), int(noted["unrouted"]))
