"""Texts are merged as `git merge` merges them: the same conflicts, and the same lines where there are none."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from plugins.sandbox.tests.tries.conftest import GIT
from tests.real import merges

from wink_sandbox.tries import MergedText, merge_texts

Versions = tuple[bytes, bytes, bytes]

FILES = 400


def _edited(lines: list[str], chance: random.Random) -> list[str]:
    """The lines, with some of them replaced, deleted, doubled or added to."""
    made: list[str] = []
    for line in lines:
        what = chance.random()
        made += (
            [f"{chance.choice('abc')}\n"]
            if what < 0.06
            else []
            if what < 0.1
            else [line, line]
            if what < 0.13
            else [line]
        )
        made += [f"{chance.choice('xyz')}\n"] if chance.random() < 0.04 else []
    return made


class _Repository:
    """Two branches that have changed the same files, in the directory `place`."""

    def __init__(self, place: Path, texts: list[Versions]) -> None:
        self.place = place
        place.mkdir()
        self.git("init", "-q", "-b", "main")
        self._commit([base for _, base, _ in texts])
        self.git("branch", "other")
        self._commit([ours for ours, _, _ in texts])
        self.git("checkout", "-q", "other")
        self._commit([theirs for _, _, theirs in texts])

    def git(self, *words: str) -> None:
        subprocess.run(["git", "-C", self.place, *words], env={**os.environ, **GIT}, check=True, capture_output=True)

    def _commit(self, texts: list[bytes]) -> None:
        for number, text in enumerate(texts):
            (self.place / f"{number}").write_bytes(text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "x")


def _random_texts(chance: random.Random, files: int) -> list[Versions]:
    texts = list[Versions]()
    for _ in range(files):
        base = [f"{one}\n" if one % 3 else f"{chance.randrange(5)}\n" for one in range(chance.randrange(40))]
        end = "\r\n" if chance.random() < 0.2 else "\n"
        ours, old, theirs = (
            "".join(lines)[: -1 if chance.random() < 0.2 else None].replace("\n", end).encode()
            for lines in (_edited(base, chance), base, _edited(base, chance))
        )
        texts.append((ours, old, theirs))
    return texts


def test_random_texts_are_merged_as_git_merges_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Hundreds of files in one merge, of lines that are all different and of lines that are often the same."""
    repository = _Repository(tmp_path / "repository", _random_texts(random.Random(20), FILES))
    repository.git("merge", "-q", "-s", "ours", "-m", "x", "main")

    assert merges.compare(str(repository.place), 10) == 0

    said = capsys.readouterr().out.split()
    assert said[:2] == ["1", "merges,"]
    assert int(said[2]) > int(said[4]) > FILES // 10  # both outcomes are met


@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_one_side_is_taken_in_conflicts_as_by_an_option_of_git_merge(tmp_path: Path, side: str) -> None:
    """Whatever ends the lines, and whether the last one ends at all."""
    texts = _random_texts(random.Random(21), FILES)
    repository = _Repository(tmp_path / "repository", texts)
    repository.git("checkout", "-q", "main")
    repository.git("merge", "-q", "-X", side, "-m", "x", "other")

    merged = [text for text in merge_texts(texts) if isinstance(text, MergedText)]
    assert sum(bool(text.hunks) for text in merged) > FILES // 10
    for number, (text, versions) in enumerate(zip(merged, texts, strict=True)):
        wanted = (repository.place / f"{number}").read_bytes()
        assert (text.ours if side == "ours" else text.theirs) == wanted, (number, versions)


def test_places_in_conflict_have_the_markers_of_git_with_what_it_was() -> None:
    """The base between them; lines that look like markers are lines."""
    rule = b"=" * 251 + b"\n"
    versions = rule + b"<<<<<<< ours\none\n" + rule, rule + b"<<<<<<< ours\nzero\n" + rule, rule + b"two\n" + rule
    (text,) = merge_texts([versions], labels=("here", "before", "there"))

    assert isinstance(text, MergedText)
    hunk = "<<<<<<< here\n<<<<<<< ours\none\n||||||| before\n<<<<<<< ours\nzero\n=======\ntwo\n>>>>>>> there\n"
    assert text == MergedText(rule + hunk.encode() + rule, versions[0], versions[2], (hunk,))


def test_texts_that_end_their_lines_differently_are_merged_and_end_them_as_ours() -> None:
    """No line is in conflict only because somebody's editor has written the file anew."""
    versions = b"1\r\nb\r\nc\r\n", b"a\nb\nc\n", b"a\nb\n3\n"

    assert next(merge_texts([versions])) == MergedText(*(b"1\r\nb\r\n3\r\n",) * 3)


def test_more_texts_than_are_given_to_git_at_once_come_back_in_order() -> None:
    """Those that only one side has changed, and what is no text, lie between them."""
    texts = [
        (b"%d\na\nb\nc\n" % at, b"a\nb\nc\n", b"a\nb\nc\n%d\n" % at) if at % 3 else (b"\0", b"%d" % at, b"%d" % at)
        for at in range(2500)
    ]

    for at, merged in enumerate(merge_texts(texts)):
        assert merged == (MergedText(*(b"%d\na\nb\nc\n%d\n" % (at, at),) * 3) if at % 3 else None)


def test_a_text_that_git_gives_up_on_is_the_only_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is merged alone when all of them together have failed."""
    git = shutil.which("git")
    fake = tmp_path / "git"
    fake.write_text(
        f'#!/bin/sh\n[ -f stream ] && grep -q poison stream && {{ echo no >&2; exit 3; }}\nexec {git} "$@"\n'
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    texts = [(b"%s\nx\n" % one, b"x\n", b"x\n2\n") for one in (b"a", b"poison", b"b")]

    first, failed, last = merge_texts(texts)

    assert (first, last) == (MergedText(*(b"a\nx\n2\n",) * 3), MergedText(*(b"b\nx\n2\n",) * 3))
    assert str(failed) == "git fast-import failed: no"


def test_where_there_is_no_room_for_a_merge_that_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of the text that needs one."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    monkeypatch.setattr("wink_sandbox.tries.merging._lines._MEMORY", str(tmp_path / "gone"))

    (failed,) = merge_texts([(b"1\nx\n", b"x\n", b"x\n2\n")])

    assert str(failed) == "No such file or directory"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (None, "git is not installed, which merges texts; apt-get install git"),
        ("exit 129", "git is older than 2.38; upgrade it"),
        ("exit 7", "git fast-import failed: exit status 7"),
    ],
)
def test_what_keeps_git_from_merging_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str | None, reason: str
) -> None:
    """And nothing is raised: other texts may need no merge."""
    if script is not None:
        (tmp_path / "git").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    failed, fine = merge_texts([(b"1\nx\n", b"x\n", b"x\n2\n"), (b"x\n", b"x\n", b"y\n")])

    assert str(failed) == reason
    assert fine == MergedText(*(b"y\n",) * 3)
