"""`FilesystemContract` finds what is wrong: each of these filesystems breaks one promise."""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from tests.states import state_of

from wink.filesystem import (
    FileChange,
    Filesystem,
    FileTransaction,
    HostFilesystem,
    StoreFilesystem,
    _edit,
    _reading,
)
from wink.filesystem._stamps import whole
from wink.filesystem.memory._change_set import MemoryChangeSet
from wink.filesystem.memory._entries import Directory, File, Link
from wink.filesystem.memory._store import MemoryStore
from wink.testing import FilesystemContract

pytest_plugins = ["pytester"]


class ChangeSet(MemoryChangeSet):
    """A sound change set, for mutants to be made of."""


class Store(MemoryStore):
    """A sound store whose change sets are of another class."""

    __slots__ = ("change_set",)

    def __init__(self, change_set: type[MemoryChangeSet]) -> None:
        super().__init__()
        self.change_set = change_set

    def begin(self, transaction_id: str) -> MemoryChangeSet:
        return self.change_set(self)


# -- change sets


class ForgetsModes(ChangeSet):
    """Changes a mode so that nothing knows of it."""

    def chmod(self, path: str, mode: int) -> None:
        entry = self._store.find(path, follow=True).entry
        if type(entry) is File:
            entry.node = replace(entry.node, mode=mode)
        else:
            super().chmod(path, mode)


class LosesMovedFrom(ChangeSet):
    """Tells a move as a deletion and a creation that have nothing to do with each other."""

    def changes(self, since: int = 0) -> tuple[FileChange, ...]:
        return tuple(replace(change, moved_from=None) for change in super().changes(since))


class TellsTwice(ChangeSet):
    """Tells of what was changed back, too."""

    def changes(self, since: int = 0) -> tuple[FileChange, ...]:
        told = super().changes(since)
        paths = {change.path for change in told}
        return told + tuple(FileChange(step.path, None, None) for step in self._steps[since:] if step.path not in paths)


class LetsLinksOut(ChangeSet):
    """Makes any link."""

    def symlink(self, path: str, target: str) -> None:
        place = self._store.find(path, follow=False)
        assert place.directory is not None
        self._set(place.directory, place.name, Link(target, 0), place.path)


class DeletesThroughLinks(ChangeSet):
    """Removes what a link leads to."""

    def delete(self, path: str, *, recursive: bool = False) -> None:
        entry = self._store.find(path, follow=False).entry
        super().delete(entry.target if type(entry) is Link else path, recursive=recursive)


class UndoesTooMuch(ChangeSet):
    """Takes everything back, whatever it was asked for."""

    def undo(self, to: int = 0) -> None:
        super().undo(0)


class LeavesDirectories(ChangeSet):
    """Does not take away the directories that it made."""

    def undo(self, to: int = 0) -> None:
        self._steps[to:] = [
            step
            for step in self._steps[to:]
            if step.before is not None or type(step.directory.entries.get(str(step.name))) is not Directory
        ]
        super().undo(to)


class LeavesNewTimes(ChangeSet):
    """Takes names and contents back, and leaves directories as if they had just been changed."""

    def undo(self, to: int = 0) -> None:
        touched = [step.directory for step in self._steps[to:]]
        super().undo(to)
        for directory in touched:
            directory.modified_ns = self._store.clock()


class ReplacesDirectories(ChangeSet):
    """Lets a file take the place of a directory."""

    def move(self, source: str, target: str, *, overwrite: bool = False) -> None:
        if overwrite and self._store.find(target, follow=False).entry is not None:
            super().delete(target, recursive=True)
        super().move(source, target, overwrite=overwrite)


# -- what is around them


@contextmanager
def drops_final_newlines() -> Iterator[None]:
    """Edits end without the newline that the file ended with."""
    sound = _edit.edited

    def edited(*args: Any, **options: Any) -> Any:
        edit = sound(*args, **options)
        return edit._replace(text=edit.text.rstrip("\n"))

    with mock.patch.object(_edit, "edited", edited):
        yield


@contextmanager
def does_not_wait() -> Iterator[None]:
    """Revoking sets the flag, and looks no further."""

    def revoke(part: FileTransaction) -> None:
        part._revoked = True

    with mock.patch.object(FileTransaction, "revoke", revoke):
        yield


@contextmanager
def has_no_guard() -> Iterator[None]:
    """The root can be used inside a call."""
    sound = FileTransaction._check

    def check(transaction: FileTransaction) -> None:
        if not transaction.autocommit:
            sound(transaction)

    with mock.patch.object(FileTransaction, "_check", check):
        yield


@contextmanager
def takes_a_page_for_the_file() -> Iterator[None]:
    """One line was read, and the file counts as known."""

    def note_lines(access: Any, path: str, facts: Any, total: int, ranges: Any) -> None:
        access.observe(path, whole(path, facts.digest, facts.size, total, "read"))

    with mock.patch.object(_reading, "note_lines", note_lines):
        yield


@contextmanager
def puts_back_blindly() -> Iterator[None]:
    """A rollback writes what was there before, whatever is there now."""
    sound = FileTransaction.undo

    def undo(part: FileTransaction) -> None:
        changes, root = part.changes(), Path(part.tree.store.root)
        sound(part)
        shutil.rmtree(state_of(root) / "conflicts", ignore_errors=True)
        for change in changes:
            (root / change.path).write_bytes((change.before and change.before.content()) or b"")

    with mock.patch.object(FileTransaction, "undo", undo):
        yield


class CrossesDirectories(StoreFilesystem):
    """`*` is as good as `**/*`."""

    def glob(self, pattern: str, *args: Any, **options: Any) -> Any:
        return super().glob(pattern.replace("**", "*").replace("*", "**/*"), *args, **options)


class TranslatesNewlines(StoreFilesystem):
    """Reads as Python's text mode does."""

    def read(self, *args: Any, **options: Any) -> Any:
        result = super().read(*args, **options)
        return replace(result, content=result.content.replace("\r\n", "\n"))


class TruncatesFirst(StoreFilesystem):
    """Empties a file as soon as it is opened to be written."""

    def open_write(self, path: str, *args: Any, **options: Any) -> Any:
        if not args and self.exists(path):
            self.write(path, "")
        return super().open_write(path, *args, **options)


class TellsTheHost(StoreFilesystem):
    """Errors name the place where the files really are."""

    def read(self, path: str, *args: Any, **options: Any) -> Any:
        try:
            return super().read(path, *args, **options)
        except FileNotFoundError as error:
            raise FileNotFoundError(error.errno, error.strerror, f"/srv/files/{path}") from None


class OpensGit(StoreFilesystem):
    """One way of writing was forgotten when `.git` was closed."""

    def mkdir(self, path: str, *args: Any, **options: Any) -> None:
        if not path.startswith(".git"):
            super().mkdir(path, *args, **options)


MUTANTS: list[tuple[Any, str]] = [
    (ForgetsModes, "test_modes_change_and_come_back"),
    (LosesMovedFrom, "test_a_move_is_a_deletion_and_a_creation_that_know_each_other"),
    (TellsTwice, "test_each_path_is_told_once_against_how_it_was"),
    (LetsLinksOut, "test_links_that_lead_out_are_not_made"),
    (DeletesThroughLinks, "test_deleting_a_link_deletes_the_link"),
    (UndoesTooMuch, "test_undoing_the_inner_part_keeps_the_outer_ones_changes"),
    (LeavesDirectories, "test_moving_what_is_not_there_leaves_no_directories_behind"),
    (LeavesNewTimes, "test_everything_is_taken_back_exactly"),
    (ReplacesDirectories, "test_move_replaces_only_when_told"),
    (drops_final_newlines, "test_newlines_survive_an_edit"),
    (does_not_wait, "test_revoking_waits_for_a_change_under_way"),
    (has_no_guard, "test_a_root_is_refused_inside_a_call"),
    (takes_a_page_for_the_file, "test_seen_pages_add_up"),
    (puts_back_blindly, "test_a_rollback_loses_nothing_that_somebody_saved"),
    (CrossesDirectories, "test_patterns_find_what_programmers_expect"),
    (TranslatesNewlines, "test_a_file_is_read_exactly"),
    (TruncatesFirst, "test_content_appears_when_the_stream_is_closed"),
    (TellsTheHost, "test_errors_are_pythons_own_with_the_path_as_given"),
    (OpensGit, "test_git_is_never_written_in_any_spelling"),
]


def tried(mutant: Any, test: str, *, is_broken: bool) -> type[FilesystemContract]:
    """A class with the one test of a filesystem that is broken, or sound."""

    class Tried(FilesystemContract):
        on_host = mutant is puts_back_blindly

        @pytest.fixture(autouse=True)
        def _break(self) -> Iterator[None]:
            with nullcontext() if inspect.isclass(mutant) or not is_broken else mutant():
                yield

        def make_filesystem(self, place: Path, *, read_only: bool = False) -> Filesystem:
            if self.on_host:
                return HostFilesystem(place)
            if not is_broken or not inspect.isclass(mutant):
                return StoreFilesystem(Store(ChangeSet), immutable=True)
            if issubclass(mutant, MemoryChangeSet):
                return StoreFilesystem(Store(mutant), immutable=True)
            return mutant(MemoryStore(), immutable=True)

    for name in dir(Tried):
        if name.startswith("test_") and name != test:
            setattr(Tried, name, None)
    return Tried


def test_every_broken_promise_is_found(pytester: pytest.Pytester) -> None:
    """By the test that is there for it, whose report says what was promised; a sound filesystem passes it."""
    pytester.makepyfile(
        f"""
        from {__name__} import MUTANTS, tried

        for mutant, test in MUTANTS:
            globals()[f"TestSound_{{mutant.__name__}}"] = tried(mutant, test, is_broken=False)
            globals()[f"TestBroken_{{mutant.__name__}}"] = tried(mutant, test, is_broken=True)
        """
    )

    passed, skipped, failed = pytester.inline_run("-p", "no:cacheprovider").listoutcomes()

    assert not skipped
    assert not [report.nodeid for report in failed if "TestSound_" in report.nodeid]
    found = {report.nodeid.split("::")[1] for report in failed}
    assert found == {f"TestBroken_{mutant.__name__}" for mutant, _ in MUTANTS}
    assert {report.nodeid.split("::")[1] for report in passed} >= {
        f"TestSound_{mutant.__name__}" for mutant, _ in MUTANTS
    }
    assert all("The promise: " in report.longreprtext for report in failed)
