"""Names that Windows and macOS take for one: found in directories of any size, without listing them each time."""

import os
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wink.errors import PathRefused
from wink.filesystem import Filesystem, HostFilesystem, InMemoryFilesystem
from wink.filesystem import _siblings as siblings_module

Make = Callable[..., Filesystem]


@pytest.fixture
def odd(tmp_path: Path) -> HostFilesystem:
    """A tree from Linux that already has such names, as a checkout of Linux itself has."""
    for name in ("xt_mark.h", "xt_MARK.h", "e\u0301", "\u00e9"):
        (tmp_path / name).write_text(f"{name}\n", encoding="utf-8")
    return HostFilesystem(tmp_path)


def test_work_in_an_odd_tree_goes_on(odd: HostFilesystem) -> None:
    """Only a third one is refused: whatever is there can be read, edited, replaced, moved away and deleted."""
    odd.edit("xt_mark.h", "mark", "Mark")
    odd.write("xt_MARK.h", "new\n")
    odd.append("\u00e9", "more\n")
    odd.copy("xt_MARK.h", "xt_mark.h", overwrite=True)
    with pytest.raises(PathRefused, match=r"'XT_mark.h' differs from 'xt_(mark|MARK)\.h', which is there"):
        odd.write("XT_mark.h", "")
    with pytest.raises(FileExistsError):
        odd.write("xt_mark.h", "", "create")
    with pytest.raises(PathRefused, match="only in upper and lower case"):
        odd.move("xt_mark.h", "Xt_mark.h")
    odd.move("xt_mark.h", "other.h")
    odd.delete("e\u0301")
    with pytest.raises(PathRefused, match="only in how its letters are composed; Windows and macOS take them for one"):
        odd.mkdir("e\u0301")
    odd.move("xt_MARK.h", "xt_mark.h")


def test_the_setting_lets_them_be_made(make: Make) -> None:
    """For those whose project never leaves Linux."""
    files = make(portable_names=False)
    files.write("a", "1")
    files.write("A", "2")

    assert (files.read("a").content, files.read("A").content) == ("1", "2")


def test_a_file_alone_in_its_directory_moves_to_another_spelling_of_that(files: Filesystem) -> None:
    """As histories have it; git knows no empty directories. Where more is left the directory itself is to be moved."""
    files.write("x/Docs/in/a.txt", "a")
    files.move("x/Docs/in/a.txt", "x/docs/a.txt")
    assert [entry.path for entry in files.glob("**")] == ["x", "x/docs", "x/docs/a.txt"]

    files.write("x/docs/b.txt", "b")
    with pytest.raises(PathRefused, match="move 'x/docs' itself, and all in it goes along"):
        files.move("x/docs/a.txt", "x/DOCS/a.txt")
    files.move("x/docs", "x/DOCS")
    assert [entry.path for entry in files.glob("**")] == ["x", "x/DOCS", "x/DOCS/a.txt", "x/DOCS/b.txt"]


def test_directories_count_as_well(files: Filesystem) -> None:
    """A checkout would merge `Docs` and `docs`; deeper names are no matter, for there is nothing beside them yet."""
    files.write("docs/a.txt", "")
    with pytest.raises(PathRefused, match="'Docs' differs from 'docs', which is there"):
        files.write("Docs/b.txt", "")
    files.write("docs/Docs/docs/a.txt", "")
    files.move("docs", "Docs")
    assert files.exists("Docs/Docs/docs/a.txt")


def test_what_was_taken_back_is_nobodys_twin(files: Filesystem) -> None:
    """What is remembered of a directory must not outlive a call that failed."""
    files.write("other", "")
    part = files.begin()
    part.handle.write("a", "")
    with pytest.raises(PathRefused):
        part.handle.write("A", "")
    part.undo()
    files.write("A", "")
    files.delete("A")
    with files.open_write("a") as stream:
        stream.write(b"x")
    with pytest.raises(PathRefused):
        files.write("A", "")


def test_a_clock_that_stands_still_refuses_nothing_that_could_be_made() -> None:
    """Then a directory's times say nothing about what was kept of it."""
    files = InMemoryFilesystem(clock=lambda: 0)
    files.write("a", "")
    part = files.begin()
    part.handle.write("b", "")
    part.undo()

    files.write("B", "")
    files.delete("a")
    files.write("A", "")
    with pytest.raises(PathRefused):
        files.write("a", "")


def test_what_somebody_else_made_counts(tmp_path: Path) -> None:
    """A person's editor, or a program, beside us."""
    files = HostFilesystem(tmp_path)
    files.write("a", "")
    (tmp_path / "b").touch()
    os.utime(tmp_path, ns=(0, 0))

    with pytest.raises(PathRefused):
        files.write("B", "")
    (tmp_path / "b").unlink()
    files.write("B", "")


def test_a_directory_is_listed_once_for_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten thousand files would otherwise need fifty million names to be read."""
    listed: list[str] = []
    list_names = siblings_module._listed
    monkeypatch.setattr(
        siblings_module, "_listed", lambda store, path: (listed.append(path), list_names(store, path))[1]
    )
    files = HostFilesystem(tmp_path)
    with pytest.raises(PathRefused):
        part = files.begin()
        for number in range(500):
            part.handle.write(f"many/{number}.txt", "")
        part.handle.write("many/499.TXT", "")

    assert listed.count("many") == 1


def test_a_huge_directory_is_not_held(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """There the usual spellings are looked for, which takes the same time at any size."""
    monkeypatch.setattr(siblings_module, "_MOST_NAMES", 10)
    files = make()
    for number in range(20):
        files.write(f"Name{number}.txt", "")

    for twin in ("name3.txt", "NAME3.TXT", "name3.TXT", "NAME3.txt"):
        with pytest.raises(PathRefused, match=r"differs from 'Name3\.txt'"):
            files.write(twin, "")
    files.write("name99.txt", "")
    files.move("Name3.txt", "name3.txt")


def test_only_some_directories_are_remembered(files: Filesystem, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project may have a million."""
    monkeypatch.setattr(siblings_module, "_MOST_DIRECTORIES", 3)
    for number in range(10):
        files.write(f"{number}/a", "")
        files.write(f"{number}/b", "")

    assert len(files._transaction.tree.siblings._known) == 3
    with pytest.raises(PathRefused):
        files.write("0/A", "")


def test_many_directories_are_filled_in_turn_without_being_listed_again(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than 64 were forgotten again and again: each file took as long as its directory had names."""
    listed: list[str] = []
    list_names = siblings_module._listed
    monkeypatch.setattr(
        siblings_module, "_listed", lambda store, path: (listed.append(path), list_names(store, path))[1]
    )
    files = make()
    for directory in range(100):
        files.mkdir(f"d{directory}")
    listed.clear()
    for number in range(3):
        for directory in range(100):
            files.write(f"d{directory}/{number}.txt", "")

    assert len(listed) == 100
    with pytest.raises(PathRefused):
        files.write("d7/0.TXT", "")


def test_names_are_remembered_up_to_a_number(files: Filesystem, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for ever, in however few directories they are."""
    monkeypatch.setattr(siblings_module, "_MOST_HELD", 10)
    for number in range(40):
        files.write(f"{number % 4}/{number}", "")
    files.delete("3", recursive=True)
    files.write("3/a", "")
    for path in ("0/A", "1/A", "3/A"):
        files.write(path.lower(), "")
        with pytest.raises(PathRefused):
            files.write(path, "")

    siblings = files._transaction.tree.siblings
    assert siblings._held == sum(len(known.names or ()) for known in siblings._known.values()) <= 10


names = st.text(st.sampled_from("aAbBß\u017fsSéÉe\u0301Å\u212bKk\u212a.\u0131Ii\u0130"), min_size=1, max_size=3).filter(
    lambda name: name.strip(".") == name
)


@given(st.lists(names, max_size=8))
def test_no_two_names_are_ever_one(wanted: list[str]) -> None:
    """Whatever is made in whatever order, no two names that are left are equal once case and form are folded."""
    files = InMemoryFilesystem()
    for name in wanted:
        try:
            files.write(name, name)
        except PathRefused:
            assert name not in files.list()
    made = [entry.name for entry in files.list()]

    caseless = {unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).casefold()) for name in made}
    assert len(caseless) == len(made)
    assert caseless == {unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).casefold()) for name in wanted}
