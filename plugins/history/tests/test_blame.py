"""`wink blame`: who wrote each line, in one clear line where that cannot be said."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from tests.cli.conftest import Done
from tests.workspace.working import call

from wink.filesystem.diffs import changed_blocks, lines_of
from wink.transactions import CommitEntry
from wink.workspace import Workspace, apply
from wink_history import Author, BlameError, blame
from wink_history._blame import _blocks  # pyright: ignore[reportPrivateUsage]

Cli = Callable[..., Done]


def write(workspace: Workspace, path: str, text: str, tool: str = "write", **told: object) -> int:
    """One call that writes a file; `told` is what else the record says of it."""

    def more(made: CommitEntry) -> CommitEntry:
        return replace(made, **told)  # type: ignore[arg-type]

    number, _ = apply(workspace, tool, {}, lambda part: part.handle.write(path, text), told=more)
    assert number is not None
    return number


def authors(workspace: Workspace, path: str, at: int | None = None) -> list[str]:
    """What a person is told of each line."""
    return [f"{one.author.name} {one.author.told}".strip() for one in blame(workspace, path, at=at)]


def test_each_line_has_the_call_that_wrote_it(workspace: Workspace, root: Path) -> None:
    """And what was there before, and what somebody has written since."""
    (root / "a").write_text("one\ntwo\n")
    write(workspace, "a", "one\n2\n")
    write(workspace, "a", "zero\none\n2\n")

    assert authors(workspace, "a") == ["c2 write", "before wink", "c1 write"]
    assert authors(workspace, "a", at=1) == ["before wink", "c1 write"]


def test_what_an_undo_brings_back_is_of_whoever_wrote_it(workspace: Workspace, root: Path) -> None:
    """So it is with redos and restores, of some paths too."""
    (root / "a").write_text("one\n")
    write(workspace, "a", "one\ntwo\n")
    write(workspace, "a", "three\n")
    workspace.undo()
    assert authors(workspace, "a") == ["before wink", "c1 write"]
    workspace.redo()
    assert authors(workspace, "a") == ["c2 write"]
    workspace.restore(1, "a")
    assert authors(workspace, "a") == ["before wink", "c1 write"]


def test_a_file_is_followed_to_where_it_was_moved_from(workspace: Workspace) -> None:
    """With what was written in the same call, over another file, and with its directory."""
    write(workspace, "d/a", "one\ntwo\n")
    call(workspace, lambda files, _: (files.move("d/a", "b"), files.write("b", "one\n2\n")))
    call(workspace, lambda files, _: files.move("d", "e"))
    write(workspace, "c", "other\n")
    call(workspace, lambda files, _: files.move("b", "c", overwrite=True))

    assert authors(workspace, "c") == ["c1 write", "c2 work"]


def test_what_somebody_wrote_between_two_calls(workspace: Workspace, root: Path) -> None:
    """It is known by the arguments of the call, or by the history, what the call itself had left."""
    write(workspace, "a", "one\n", arguments='{"content": "one\\n"}')
    (root / "a").write_text("one\nmine\n")
    assert authors(workspace, "a") == ["c1 write", "somebody since c1"]
    write(workspace, "a", "one\nmine\ntwo\n", arguments='{"edits": [{"old": "mine\\n", "new": "mine\\ntwo\\n"}]}')
    (root / "a").write_text("one\nmine\ntwo\nmore\n")
    write(workspace, "a", "one\nmine\ntwo\nmore\n3\n")
    workspace.fold()
    (root / "a").write_text("one\nmine\ntwo\nmore\n3\nlast\n")

    assert authors(workspace, "a") == [
        "c1 write", "somebody between c1 and c2", "c2 write", "somebody between c2 and c3", "c3 write", "somebody since c3",
    ]  # fmt: skip


def test_what_is_not_kept_is_told_and_not_guessed(workspace: Workspace, root: Path) -> None:
    """Nothing has what the call left once somebody has saved over it."""
    write(workspace, "a", "one\n")
    write(workspace, "a", "one\ntwo\n")
    (root / "a").write_text("one\ntwo\nthree\n")

    assert authors(workspace, "a") == ["c1 write", "c2? or somebody since c2", "c2? or somebody since c2"]
    with pytest.raises(BlameError, match=r"^a cannot be read, or is not kept as it was then$"):
        blame(workspace, "a", at=2)


def test_calls_that_are_not_kept_any_more(root: Path) -> None:
    """What they may have written is before the first that is kept."""
    with Workspace.open(root) as workspace:
        write(workspace, "a", "one\n")
        for number in range(1_100):
            write(workspace, "b", f"{number}\n")
        last = write(workspace, "a", "one\ntwo\n")
        workspace.gc(calls=10, age=timedelta(days=1))
        kept = workspace.record.forgetting.first()
        assert kept is not None

        assert authors(workspace, "a") == [f"before c{kept[0]}", f"c{last} write"]


def test_turns_of_attached_agents_and_what_somebody_did_between_their_calls(workspace: Workspace) -> None:
    """As the record has it: a call named `between` is nobody's."""
    workspace.record.turn("claude-code-1", "claude-code", "Do it")
    write(workspace, "a", "one\n", "Edit", run="t1", prompt="claude-code", session="claude-code-1")
    write(workspace, "a", "one\ntwo\n", "between", effects="read")
    write(workspace, "a", "one\ntwo\n3\n", "Bash", run="t1", error="guessed: it ran at the same time as Edit")

    write(workspace, "a", "one\ntwo\n3\n4\n", "between", effects="read", error="guessed: of Bash, its end was not told")

    assert authors(workspace, "a") == [
        "c1 claude-code, turn 1: Edit", "somebody between c1 and c2", "c3 claude-code, turn 1: Bash, guessed", "somebody between c3 and c4, guessed",
    ]  # fmt: skip


def test_what_a_try_brought(cli: Cli, place: Path) -> None:
    """The accepting call, with the name of the try; what the workspace had changed meanwhile is not its."""
    assert cli("try", "--name", "fix", "--", "sh", "-c", "echo three >> a.txt").status == 0
    (place / "a.txt").write_text("zero\none\ntwo\n")
    assert cli("accept", "--name", "fix").status == 0

    rows = cli("blame", "a.txt", "--json").rows
    assert [(row["line"], row["text"], row["by"], row["try"]) for row in rows] == [
        (1, "zero", "before", None), (2, "one", "before", None), (3, "two", "before", None), (4, "three", "call", "fix"),
    ]  # fmt: skip
    assert "c1 accept of the try fix" in cli("blame", "a.txt:4").out


def test_lines_for_people_and_machines(cli: Cli, place: Path) -> None:
    """Columns are aligned, and nothing of the file plays with the terminal; bytes that are no UTF-8 are written out."""
    with Workspace.open(place) as workspace:
        write(workspace, "a.txt", "one\n\x1b[2J2\r\n")
        (place / "a.txt").write_bytes(b"one\n\x1b[2J2\r\n\xff")

    out = cli("blame", "a.txt").out.splitlines()
    assert [line.partition("  1) ")[2] or line.rpartition(") ")[2] for line in out] == ["one", "\\x1b[2J2", "\\xff"]
    assert len({line.index(") ") for line in out}) == 1
    only = cli("blame", "a.txt:2-3", "--json").rows
    assert [row["text"] for row in only] == ["\x1b[2J2\r", "\\xff"]
    assert only[0] == {
        "line": 2, "text": "\x1b[2J2\r", "by": "unknown", "call": None, "tool": None, "session": None, "run": None,
        "at": None, "agent": None, "turn": None, "try": None, "guessed": False, "calls": ["c1"], "after": "c1", "before": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a.txt:3"], "a.txt has 2 lines, and no line 3"),
        (["a.txt:1-9"], "a.txt has 2 lines, and no line 9"),
        (["empty:1"], "empty has 0 lines, and no line 1"),
        (["a.txt:0"], "'a.txt:0' names no lines: they are counted from 1, and a range begins with the smaller number"),
        (
            ["a.txt:2-1"],
            "'a.txt:2-1' names no lines: they are counted from 1, and a range begins with the smaller number",
        ),
        (["none"], "none is not there, and no call has changed it"),
        (["gone"], "gone is not there; c2 changed it last: --at names an earlier call"),
        (["d"], "d is a directory; name a file in it"),
        (["."], ". is a directory; name a file in it"),
        (["link"], "link is a link, and has no lines"),
        (["fifo"], "fifo is no file"),
        (["binary"], "binary is no text, and has no lines"),
        (["large"], f"large has {1 << 25} bytes, and lines are compared up to {1 << 24}"),
        (["../a"], "'../a' is outside the workspace"),
        (
            ["a.txt", "--at", "c1"],
            "a.txt was changed by no call, so that only what it is now is known; leave --at away",
        ),
        (["gone", "--at", "c2"], "gone was not there after c2"),
        (["gone", "--at", "c9"], "there is no call c9 in this workspace; `wink log` lists them"),
        (["a.txt", "--at", "x"], "--at 'x' names no call; `wink log` lists them as c1, c2, …"),
    ],
)
def test_what_has_no_lines_is_said_in_one(cli: Cli, place: Path, words: list[str], said: str) -> None:
    """With the path as it was named, and the exit status of wrong input."""
    (place / "d").mkdir()
    (place / "link").symlink_to("a.txt")
    os.mkfifo(place / "fifo")
    (place / "binary").write_bytes(b"a\0b\n")
    (place / "empty").touch()
    with (place / "large").open("wb") as file:
        file.truncate(1 << 25)
    with Workspace.open(place) as workspace:
        write(workspace, "gone", "one\n")
        call(workspace, lambda files, _: files.delete("gone"))

    done = cli("blame", *words)

    assert (done.status, done.out, done.err) == (2, "", f"wink: {said}\n")


def test_names_that_look_like_lines_and_files_without_lines(
    cli: Cli, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is there is meant by its whole name; paths are those of where somebody stands."""
    (place / "a.txt:1").write_text("x\n")
    (place / "empty").touch()
    assert cli("blame", "a.txt:1").out == "no call  1) x\n"
    assert cli("blame", "empty") == Done(0, "", "")
    with Workspace.open(place) as workspace:
        write(workspace, "d/b", "one\n")
    monkeypatch.chdir(place / "d")
    assert cli("blame", "../a.txt:2").out == "no call  2) two\n"
    assert cli("blame", "../none").err == "wink: ../none is not there, and no call has changed it\n"


def test_a_record_that_was_brought_here(cli: Cli, place: Path, tmp_path: Path) -> None:
    """Its files are elsewhere: the last that a call left counts, as far as a bundle has it."""
    with Workspace.open(place) as workspace:
        write(workspace, "a.txt", "one\n2\n")
        write(workspace, "a.txt", "one\n2\n3\n")
    assert cli("export", "../out.wink").status == 0
    assert cli("import", "../out.wink", "../read").status == 0

    done = cli("blame", "a.txt", "--workspace", "../read")

    assert done.status in (0, 2)
    assert "Traceback" not in done.err


def test_what_is_alike_at_both_ends_makes_no_difference() -> None:
    """Texts are cut by bytes before they are split into lines, which must not cut a line."""
    texts = [
        b"",
        b"a",
        b"a\n",
        b"a\nb",
        b"a\nb\n",
        b"ab\n",
        b"b\n",
        b"\n",
        b"a\n\nb\n",
        b"aa\nb\n",
        b"a\na\nb\n",
        b"b\na\n",
        b"x\na\nb\ny",
    ]
    for old in texts:
        for new in texts:
            expected = changed_blocks(lines_of(old), lines_of(new))
            assert _blocks(old, new) == expected, (old, new)


def test_a_history_that_is_damaged_is_a_gap(root: Path) -> None:
    """Nothing fails for want of what an older call had found."""
    with Workspace.open(root) as workspace:
        write(workspace, "a", "one\n")
        write(workspace, "a", "one\ntwo\n")
        write(workspace, "a", "one\ntwo\nthree\n")
        workspace.fold()
        store = Path(workspace.state) / "store.git"
    subprocess.run(["sh", "-c", f"rm -rf {store}/objects/pack/*"], check=True)
    with Workspace.open(root) as workspace:
        told = [line.author for line in blame(workspace, "a")]

    assert [one.by for one in told] == ["unknown"] * 3
    assert told[0].calls == (3, 2, 1)
    assert isinstance(told[0], Author)
