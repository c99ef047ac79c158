"""What `wink diff` writes into a pipe is what `git apply` makes the same tree of."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from wink.cli._main import run
from wink.filesystem import FileChange, FileVersion
from wink.filesystem.diffs import file_diffs
from wink.workspace import Workspace

EXAMPLES = int(os.environ.get("WINK_DIFF_EXAMPLES", "20"))

Entry = tuple[bytes, bool] | str
"""A file's content and whether it is executable, or where a link leads."""

LINES = st.lists(
    st.sampled_from([b"a\n", b"b\n", b"\n", b"-- c\n", b"+++ d\n", b"crlf\r\n", b"\xe9\n", b" \t\n"]), max_size=12
)
TEXTS = st.builds(lambda lines, end: b"".join(lines) + end, LINES, st.sampled_from([b"", b"end", b"\r"]))
CONTENTS = st.one_of(TEXTS, st.binary(max_size=200).map(lambda data: b"\0" + data))
ENTRIES = st.one_of(st.tuples(CONTENTS, st.booleans()), st.sampled_from(["elsewhere", "else/where", "no where"]))
PLAIN = ("a", "b", "d/x", "d/y", "a b", "é")
ODD = (
    *PLAIN,
    "trailing ",
    'q"uote',
    "back\\slash",
    "tab\tin",
    "line\nend",
    "d",
    "a/below",
    "--- a",
    "@@ -1 +1 @@",
    "\udcff",
)


def trees(names: tuple[str, ...]) -> st.SearchStrategy[dict[str, Entry]]:
    """Trees in which no name is both a directory and something else."""
    return st.dictionaries(st.sampled_from(names), ENTRIES, max_size=6).map(
        lambda tree: {name: one for name, one in tree.items() if not any(f"{other}/" in f"{name}/" != f"{other}/" and name.startswith(f"{other}/") for other in tree)}
    )  # fmt: skip


def written(root: Path, tree: dict[str, Entry]) -> Path:
    """The tree in a new directory."""
    root.mkdir()
    for name, entry in tree.items():
        path = root / name
        path.parent.mkdir(exist_ok=True)
        if isinstance(entry, str):
            path.symlink_to(entry)
        else:
            path.write_bytes(entry[0])
            path.chmod(0o755 if entry[1] else 0o644)
    return root


def read(root: Path) -> dict[str, Entry]:
    """What git would know of a tree, which knows no directories, and of modes whether something is executable."""
    found: dict[str, Entry] = {}
    for place, directories, files in os.walk(root):
        for name in (*files, *(one for one in directories if (Path(place) / one).is_symlink())):
            path = Path(place, name)
            is_executable = bool(path.lstat().st_mode & stat.S_IXUSR)
            inside = path.relative_to(root).as_posix()
            found[inside] = os.readlink(path) if path.is_symlink() else (path.read_bytes(), is_executable)
    return {name: one for name, one in found.items() if not name.startswith(".wink/")}


def applied(patch: bytes, root: Path, *more: str) -> dict[str, Entry]:
    """The tree that `git apply` leaves; nobody's settings and no repository around have a say."""
    if patch:
        environment = {"PATH": os.environ["PATH"], "HOME": str(root.parent), "GIT_CONFIG_NOSYSTEM": "1"}
        environment["GIT_CEILING_DIRECTORIES"] = str(root.parent)
        done = subprocess.run(
            ["git", "apply", "--whitespace=nowarn", *more], cwd=root, input=patch, env=environment, capture_output=True, check=False
        )  # fmt: skip
        assert done.returncode == 0, (done.stderr, patch)
    return read(root)


def changes_between(before: dict[str, Entry], after: dict[str, Entry], moved: dict[str, str]) -> list[FileChange]:
    """What became of each path."""
    return [
        FileChange(name, _version(before.get(name)), _version(after.get(name)), moved.get(name))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


def _version(entry: Entry | None) -> FileVersion | None:
    if entry is None or isinstance(entry, str):
        return None if entry is None else FileVersion("link", len(entry), 0o777, entry)
    content, is_executable = entry
    return FileVersion("file", len(content), 0o755 if is_executable else 0o644, load=lambda: content)


def in_a_directory(check: Callable[[Path], None]) -> None:
    """Each example has its own."""
    place = Path(tempfile.mkdtemp(prefix="wink-apply-"))
    try:
        check(place)
    finally:
        shutil.rmtree(place)


@settings(max_examples=EXAMPLES)
@given(trees(ODD), trees(ODD), st.sampled_from(ODD), st.sampled_from(ODD))
def test_a_patch_makes_one_tree_of_the_other_and_back(
    before: dict[str, Entry], after: dict[str, Entry], source: str, target: str
) -> None:
    """Modes, binaries, links, renames, CRLF, ends without a newline, and any name that a file can have."""
    moved: dict[str, str] = {}
    if source in before and target not in before and target not in after and source not in after:
        others = [name for name in after if name.startswith(f"{target}/") or target.startswith(f"{name}/")]
        if not others:
            after, moved = {**after, target: before[source]}, {target: source}
    patch = b"".join(diff.patch() for diff in file_diffs(changes_between(before, after, moved)))

    def check(place: Path) -> None:
        root = written(place / "tree", before)
        assert applied(patch, root) == after
        assert applied(patch, root, "-R") == before

    in_a_directory(check)


@settings(max_examples=EXAMPLES)
@given(trees(PLAIN), trees(PLAIN), trees(PLAIN))
def test_the_command_writes_one_diff_over_many_calls(
    before: dict[str, Entry], between: dict[str, Entry], after: dict[str, Entry]
) -> None:
    """From what was there first to what is there last, however often a path has changed in between."""

    if before == between == after:
        return

    def check(place: Path) -> None:
        there, here = written(place / "there", before), written(place / "here", before)
        with Workspace.open(here) as workspace:
            was = before
            for wanted in (between, after):
                _made(workspace, was, wanted)
                was = wanted
        out, err = TextIOWrapper(BytesIO(), "utf-8", write_through=True), StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            status = run(["diff", "--workspace", str(here)])
        assert status == 0, err.getvalue()
        patch = out.buffer.getvalue()  # pyright: ignore[reportAttributeAccessIssue]

        assert read(here) == after
        assert applied(patch, there) == after
        assert patch.count(b"\ndiff --git ") + patch.startswith(b"diff --git ") <= 2 * len({*before, *after})

    in_a_directory(check)


def _made(workspace: Workspace, before: dict[str, Entry], after: dict[str, Entry]) -> None:
    files = workspace.filesystem
    for name in before:
        if before[name] != after.get(name):
            files.delete(name)
    for name, entry in after.items():
        if before.get(name) == entry:
            continue
        if isinstance(entry, str):
            files.symlink(name, entry, create_parents=True)
        else:
            files.write_bytes(name, entry[0], create_parents=True)
            files.chmod(name, 0o755 if entry[1] else 0o644)
