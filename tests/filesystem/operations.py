"""What programs and people do to files: for real, in the model, and how what comes of it is compared."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from tests.filesystem.model import Model, Thing, Tree, differing

from wink.errors import PathRefused, WinkError
from wink.filesystem import DIFFABLE_BYTES, FileChange, FileStat, Filesystem, FileVersion, workspace_path
from wink.filesystem._paths import unportable_name


def is_honest(name: str) -> bool:
    """Whether a name may be made."""
    try:
        return workspace_path(name).parts == (name,) and unportable_name(name) is None
    except PathRefused:
        return False


class Large(bytes):
    """More than one piece of content, which nobody wants to see in a report."""

    def __repr__(self) -> str:
        return "LARGE"


ODD = st.text(alphabet="aé\u0301 ~-#[]{}!$%.'日", min_size=1, max_size=3).filter(is_honest)
COMMON = st.sampled_from(["a", "b", "c.txt"])
NAMES = st.one_of(COMMON, COMMON, COMMON, COMMON, ODD)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
LINES = st.sampled_from(["", "a", "a\n", "a\r\nb\r\n", "b\na\nb", "é\n", "\r\n", "a\nb\n"])
CONTENTS = st.one_of(
    LINES.map(str.encode), st.sampled_from([b"\0\1", b"\xff\n", Large((b"long " * 20_000 + b"\na\n") * 12)])
)
MODES = st.sampled_from([0o600, 0o644, 0o750, 0o755])
TARGETS = st.one_of(NAMES, st.sampled_from([".", "..", "../a", "a/b", "../../a", "b/.."]))
OPERATIONS = st.one_of(
    st.tuples(st.just("write"), PATHS, CONTENTS, st.sampled_from(["overwrite", "overwrite", "create", "append"])),
    st.tuples(st.just("stream"), PATHS, CONTENTS),
    st.tuples(st.just("edit"), PATHS, st.sampled_from(["a", "b", "a\n", "a\nb"]), LINES, st.booleans()),
    st.tuples(st.just("mkdir"), PATHS, st.booleans(), st.booleans()),
    st.tuples(st.just("delete"), PATHS, st.booleans()),
    st.tuples(st.just("move"), PATHS, PATHS, st.booleans()),
    st.tuples(st.just("copy"), PATHS, PATHS, st.booleans()),
    st.tuples(st.just("chmod"), PATHS, MODES),
    st.tuples(st.just("symlink"), PATHS, TARGETS),
)


def carry_out(operation: Any, files: Filesystem) -> object:
    """Do it for real."""
    kind, path, *rest = operation
    if kind == "write":
        return files.write_bytes(path, *rest)
    if kind == "stream":
        with files.open_write(path) as stream:
            for at in range(0, len(rest[0]), 100_000):
                stream.write(rest[0][at : at + 100_000])
        return None
    if kind == "edit":
        return files.edit(path, rest[0], rest[1], replace_all=rest[2])
    if kind == "mkdir":
        return files.mkdir(path, *rest)
    if kind == "delete":
        return files.delete(path, rest[0])
    if kind in ("move", "copy"):
        return getattr(files, kind)(path, rest[0], overwrite=rest[1])
    step(files, kind, path, *rest)
    return None


def step(files: Filesystem, kind: str, path: str, *rest: object) -> None:
    """A change that tools have no operation for, in a part of its own; a root waits for its turn, as for all others."""
    with ExitStack() as held:
        if files._transaction.autocommit:  # type: ignore[attr-defined]
            files.write_lock.acquire(10)
            held.callback(files.write_lock.release)
        part = files.begin()
        try:
            with part.changing(path) as change_set:
                getattr(change_set, kind)(path, *rest)
            part.prepare()
            part.publish()
        except BaseException:
            part.undo()
            raise


def imagine(operation: Any, model: Model) -> None:
    """Do it in the model."""
    kind, path, *rest = operation
    if kind == "write" and rest[1] == "append":
        model.append(path, rest[0])
    elif kind == "write":
        model.put(path, rest[0], exclusive=rest[1] == "create", parents=True)
    elif kind == "stream":
        model.put(path, rest[0], parents=True)
    elif kind == "edit":
        model.edit(path, rest[0], rest[1], replace_all=rest[2])
    elif kind == "mkdir":
        model.mkdir(path, parents=rest[0], exist_ok=rest[1])
    elif kind == "delete":
        model.delete(path, recursive=rest[0])
    elif kind == "move":
        model.move(path, rest[0], overwrite=rest[1])
    elif kind == "copy":
        model.copy_file(path, rest[0], overwrite=rest[1])
    else:
        getattr(model, kind)(path, *rest)


def meddle(edit: tuple[str, str, bytes, int], place: Path | Filesystem) -> None:
    """What somebody else does to a path, in a way that the model allows; without wink where there is a disk."""
    how, path, content, mode = edit
    if isinstance(place, Path):
        at = place / path
        match how:
            case "save":
                at.write_bytes(content)
            case "save-anew":
                fresh = place / "fresh~"
                fresh.write_bytes(content)
                fresh.replace(at)
            case "remove":
                at.rmdir() if at.is_dir() and not at.is_symlink() else at.unlink()
            case "mkdir":
                at.mkdir()
            case _:
                at.chmod(mode)
        return
    part = place.begin()
    with part.changing(path) as change_set:
        match how:
            case "save":
                change_set.put(path, content)
            case "save-anew":
                change_set.put(path, content, mode=0o644)
            case "remove":
                change_set.delete(path)
            case "mkdir":
                change_set.mkdir(path)
            case _:
                change_set.chmod(path, mode)
    part.publish()


def outcome(work: Callable[[], object]) -> tuple[str, object]:
    """What came of it, as it can be compared."""
    try:
        result = work()
    except (OSError, ValueError, WinkError) as error:
        return type(error).__name__, str(error)
    return "done", replace(result, modified_at=None, size_bytes=0) if isinstance(result, FileStat) else result


def version_of(thing: Thing | None) -> FileVersion | None:
    """How a change tells one side of it."""
    if thing is None:
        return None
    size = len(thing.content) if thing.kind == "file" else len((thing.target or "").encode())
    return FileVersion(thing.kind, size, thing.mode, thing.target)


def sides(before: Tree, after: Tree) -> list[tuple[str, str, str]]:
    """Each path that differs, and its two versions."""
    return sorted(
        (path, repr(version_of(before.get(path))), repr(version_of(after.get(path))))
        for path in differing(before, after)
    )


def told(changes: tuple[FileChange, ...]) -> list[tuple[object, ...]]:
    """Changes as they can be compared, in the order of paths.

    Large content that was written again as it was may be told: an overlay does not fetch it to compare.
    """
    return sorted(
        (change.path, change.kind, repr(change.before), repr(change.after), replace(change, moved_from=None).diff())
        for change in changes
        if change.before != change.after or (change.after and change.after.size <= DIFFABLE_BYTES)
    )
