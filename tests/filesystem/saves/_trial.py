"""Let a person save at one step of something that wink does to the same file, and look where it has gone."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from tests.filesystem.confinement.test_races import Striker
from tests.states import journals, state_of

from wink.errors import WinkError
from wink.filesystem import Filesystem, HostFilesystem
from wink.filesystem.disk import _operations as operations
from wink.filesystem.disk import _root as disk_root
from wink.filesystem.disk._operations import Operations
from wink.filesystem.disk._root import DiskRoot
from wink.prompt import MarkdownSection, Prompt, PromptTemplate
from wink.runtime import ToolCall, ToolExecutor
from wink.tools import Tool, ToolContext, ToolResult
from wink.workspace import Workspace

from ._editors import SIZE, WAYS, Editor, NotSaved

PLACES: Final = ("path", "conflicts", "replaced", "lost")
"""Where a save can be found: at the path, kept aside and reported, in the version that a call replaced, nowhere."""

_LATER: Final = 4
_NEVER: Final = 10**9

Act = Callable[[Any], object]


def _mode(files: Any) -> None:
    def change(part: Any) -> None:
        with part.changing("d/a.txt") as change_set:
            change_set.chmod("d/a.txt", 0o600)

    files._transaction.run("change", change)


@dataclass(frozen=True, slots=True)
class Operation:
    """What a call does, and under which name the person knows the file."""

    name: str
    act: Act
    theirs: str = "d/a.txt"


OPERATIONS: Final = (
    Operation("overwrite", lambda files: files.write("d/a.txt", "wink's\n")),
    Operation("overwrite, streamed", lambda files: files.write("d/a.txt", "wink's\n" * 160_000)),
    Operation("edit", lambda files: files.edit("d/a.txt", "one line", "one line of wink's")),
    Operation("append", lambda files: files.append("d/a.txt", "wink's\n")),
    Operation("delete", lambda files: files.delete("d/a.txt")),
    Operation("delete the directory", lambda files: files.delete("d", recursive=True)),
    Operation("move", lambda files: files.move("d/a.txt", "e/b.txt")),
    Operation("move the directory", lambda files: files.move("d", "e/d")),
    Operation("move onto it", lambda files: files.move("e/c.txt", "d/a.txt", overwrite=True)),
    Operation("copy onto it", lambda files: files.copy("e/c.txt", "d/a.txt", overwrite=True)),
    Operation("change its mode", _mode),
    Operation("create", lambda files: files.write("n/new.txt", "wink's\n"), "n/new.txt"),
    Operation("overwrite a hard link", lambda files: files.write("d/linked.txt", "wink's\n"), "d/linked.txt"),
    Operation("overwrite its other name", lambda files: files.write("d/linked.txt", "wink's\n"), "e/linked.txt"),
    Operation("change a hard link's mode", _mode, "d/a.txt"),
    Operation("overwrite through a link", lambda files: files.write("e/link.txt", "wink's\n")),
    Operation("twice", lambda files: (files.write("d/a.txt", "wink's\n"), files.delete("d/a.txt"))),
)  # fmt: skip
ENDINGS: Final = ("committed", "rolled back", "killed and recovered")
VARIANTS: Final = ("exchange", "walk", "portable")
BACKWARDS: Final = ("undo", "redo", "restore")
"""What a workspace does to calls of the past; tried for some of the operations."""

_UNDOABLE: Final = ("overwrite", "append", "delete", "delete the directory", "move", "copy onto it", "create")


@dataclass(frozen=True, slots=True)
class Case:
    """One thing that is done, in one way, while a person saves in another."""

    operation: str
    ending: str
    variant: str
    way: str

    @property
    def title(self) -> str:
        """For a table."""
        return f"{self.ending} of: {self.operation}" if self.ending in BACKWARDS else self.operation


@dataclass(slots=True)
class Found:
    """Where the saves of one trial were found, and what was wrong with that."""

    places: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    steps: int = 0
    is_over: bool = False


def cases() -> Iterator[Case]:
    """All that is to be tried."""
    for operation in OPERATIONS:
        for way in WAYS:
            for variant in VARIANTS:
                for ending in ENDINGS:
                    yield Case(operation.name, ending, variant, way)
            if operation.name in _UNDOABLE:
                for ending in BACKWARDS:
                    yield Case(operation.name, ending, "exchange", way)


class Laboratory:
    """A place for trees, with the injector that lets the person act before the n-th call to the file system."""

    def __init__(self, scratch: Path, patch: pytest.MonkeyPatch) -> None:
        self._top, self._patch, self._striker = scratch / "top", patch, Striker(patch)
        self._looked = self._replaced = _NEVER
        logging.getLogger("wink").setLevel(logging.CRITICAL)
        for owner, name, field_name in (
            (Operations, "overwrite", "_looked"), (Operations, "remove", "_looked"), (DiskRoot, "swap", "_replaced"), (DiskRoot, "take", "_replaced")
        ):  # fmt: skip
            patch.setattr(owner, name, self._noting(getattr(owner, name), field_name))
        # A directory has been looked at when all that is in it has been.
        patch.setattr(operations, "marks_within", self._noting_end(operations.marks_within, "_looked"))
        patch.setattr(operations, "touched_within", self._noting_end(operations.touched_within, "_replaced"))

    def attempt(self, case: Case, at: int) -> Found:
        """Let the person save before call number `at`; it `is_over` when there was no such call."""
        operation = next(one for one in OPERATIONS if one.name == case.operation)
        root = lay_out(self._top, is_linked=operation.name == "change a hard link's mode")
        editor = WAYS[case.way](root / operation.theirs)
        self._looked = self._replaced = _NEVER
        found, conflicts = Found(), list[str]()
        with self._patch.context() as patch:
            if case.variant == "walk":
                patch.setattr(disk_root, "has_openat2", lambda: False)
            if case.ending in BACKWARDS:
                committed = self._backwards(root, operation, case.ending, editor, at, conflicts, found)
            else:
                committed = self._call(root, operation, case, editor, at, conflicts, found)
        self._judge(case, at, root, editor, conflicts, found, committed=committed)
        return found

    # -- what wink does

    def _call(
        self, root: Path, operation: Operation, case: Case, editor: Editor, at: int, conflicts: list[str], found: Found
    ) -> bool:
        committed = False
        self._begin(editor)
        with _opened(root, case.variant) as files:
            part = files.begin()
            self._arm(at, editor)
            done = False
            with contextlib.suppress(WinkError, OSError, ValueError):
                operation.act(part.handle)
                if case.ending == "committed":
                    part.prepare()
                    done = True
            with contextlib.suppress(WinkError, OSError):
                if done:
                    part.publish()
                    committed = True
                elif case.ending == "killed and recovered":
                    part.leave()
                else:
                    part.undo()
            if case.ending == "killed and recovered":
                with contextlib.suppress(WinkError, OSError), _opened(root, case.variant) as after:
                    after.write_lock.acquire(10)
                    after.write_lock.release()
                    conflicts += [conflict.kept or "" for one in after.recovered for conflict in one.conflicts]
            self._ended(at, editor, found)
            if committed:
                self._look_at_replaced(root, editor, found)
        # Closing frees what was replaced, unless somebody has written to it.
        conflicts += [conflict.kept or "" for conflict in files.conflicts]
        return committed

    def _backwards(
        self, root: Path, operation: Operation, verb: str, editor: Editor, at: int, conflicts: list[str], found: Found
    ) -> bool:
        done = False
        with Workspace.open(root) as workspace:
            if verb == "restore":
                workspace.checkpoint("start")
            assert _executed(workspace, operation), operation.name
            if verb == "redo":
                workspace.undo()
            self._begin(editor)
            self._arm(at, editor)
            with contextlib.suppress(WinkError, OSError, ValueError):
                workspace.restore("start") if verb == "restore" else getattr(workspace, verb)()
                done = True
            self._ended(at, editor, found)
            if done:
                self._look_at_replaced(root, editor, found)
            workspace.gc(calls=0)
            conflicts += [conflict.kept or "" for conflict in workspace.filesystem.conflicts]
        return done

    # -- the person

    def _begin(self, editor: Editor) -> None:
        with contextlib.suppress(NotSaved):
            editor.begin()

    def _arm(self, at: int, editor: Editor) -> None:
        striker = self._striker

        def later() -> None:
            with contextlib.suppress(NotSaved):
                editor.later()

        def strike() -> None:
            with contextlib.suppress(NotSaved):
                editor.strike()
            striker.at, striker.strike = at + _LATER, later

        striker.arm(at, strike)

    def _ended(self, at: int, editor: Editor, found: Found) -> None:
        striker = self._striker
        found.steps, found.is_over = striker.calls, striker.calls <= at
        striker.arm(-1, lambda: None)
        with contextlib.suppress(NotSaved):
            editor.end()

    def _noting(self, real: Callable[..., Any], name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            setattr(self, name, min(getattr(self, name), self._striker.calls))
            return real(*arguments, **options)

        return call

    def _noting_end(self, real: Callable[..., Any], name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            result = real(*arguments, **options)
            setattr(self, name, self._striker.calls)
            return result

        return call

    # -- afterwards

    def _look_at_replaced(self, root: Path, editor: Editor, found: Found) -> None:
        """Which saves are in what the call replaced, and so come back with an undo."""
        staged = b"".join(_contents(state_of(root) / "staged"))
        self._in_replaced = {mark for mark in editor.saved if mark in staged}

    def _judge(
        self, case: Case, at: int, root: Path, editor: Editor, conflicts: list[str], found: Found, *, committed: bool
    ) -> None:
        where = f"{case}, before call {at} of {found.steps}"
        shown = b"".join(_contents(root))
        aside = {
            str(path.relative_to(state_of(root))): path.read_bytes() for path in _files(state_of(root) / "conflicts")
        }
        reported = b"".join(content for name, content in aside.items() if name in conflicts)
        unreported = b"".join(aside.values())
        # What was saved before the call looked at the file is what it was told to replace.
        guarded = self._replaced if "map" in case.way else self._looked
        for mark in editor.saved:
            if mark in shown:
                place = "path"
            elif mark in reported:
                place = "conflicts"
            elif mark in unreported:
                place = "lost"
                found.problems.append(f"{where}: {mark!r} was kept, and nobody was told")
            elif committed and mark in self._in_replaced and at <= guarded and case.ending not in BACKWARDS:
                place = "replaced"
            else:
                place = "lost"
                found.problems.append(f"{where}: {mark!r} is nowhere, looked {self._looked}, replaced {self._replaced}")
            found.places[place] += 1
        # What a checkpoint needs is not freed.
        is_freed = case.ending != "restore" and (state_of(root) / "staged").exists()
        left = os.listdir(state_of(root) / "staged") if is_freed else []
        left += journals(root)
        found.problems += [f"{where}: {name} was left" for name in left]


def lay_out(top: Path, *, is_linked: bool) -> Path:
    """A workspace with a file that everybody works on."""
    shutil.rmtree(top, ignore_errors=True)
    root = top / "root"
    for name in ("d", "e", "n"):
        (root / name).mkdir(parents=True)
    content = b"one line\n" + b"-" * (SIZE - 9)
    (root / "d/a.txt").write_bytes(content)
    (root / "d/linked.txt").write_bytes(content)
    os.link(root / "d/linked.txt", root / "e/linked.txt")
    (root / "e/c.txt").write_bytes(b"another\n")
    (root / "e/link.txt").symlink_to("../d/a.txt")
    if is_linked:
        os.link(root / "d/a.txt", root / "e/other.txt")
    return root


def _opened(root: Path, variant: str) -> HostFilesystem:
    files = HostFilesystem(root)
    if variant == "portable":
        files._store._root.can_exchange = False
    return files


def _executed(workspace: Workspace, operation: Operation) -> bool:
    def handler(params: None, *, context: ToolContext) -> ToolResult[None]:
        operation.act(context.filesystem)
        return ToolResult[None].ok(None)

    tool = Tool[None, None](name="work", description="Work.", handler=handler)
    section = MarkdownSection(title="Tools", key="tools", template="Use them.", tools=[tool])
    prompt = Prompt(PromptTemplate(ns="test", key="saves", sections=[section]))
    prompt.bind(resources={Filesystem: workspace.filesystem})
    session = workspace.session()
    executor = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)
    return executor.execute(ToolCall("work", {})).success


def _files(top: Path) -> Iterator[Path]:
    for directory, _, names in os.walk(top):
        yield from (Path(directory, name) for name in names if not Path(directory, name).is_symlink())


def _contents(top: Path) -> Iterator[bytes]:
    """The content of all files, without wink's own where `top` is the workspace."""
    for path in _files(top):
        if ".wink" not in path.relative_to(top).parts:
            yield path.read_bytes()
