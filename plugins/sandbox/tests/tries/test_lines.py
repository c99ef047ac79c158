"""Texts are merged as `git merge` merges them: the same conflicts, and the same lines where there are none."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest
from plugins.sandbox.tests.tries.conftest import GIT
from tests.real import merges

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


def test_random_texts_are_merged_as_git_merges_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Hundreds of files in one merge, of lines that are all different and of lines that are often the same."""
    repository = tmp_path / "repository"

    def git(*words: str) -> None:
        subprocess.run(["git", "-C", repository, *words], env={**os.environ, **GIT}, check=True, capture_output=True)

    def commit(texts: list[list[str]]) -> None:
        for number, lines in enumerate(texts):
            (repository / f"{number}").write_text("".join(lines))
        git("add", "-A")
        git("commit", "-q", "--allow-empty", "-m", "x")

    chance = random.Random(20)
    repository.mkdir()
    git("init", "-q")
    base = [
        [f"{number}\n" if number % 3 else f"{chance.randrange(5)}\n" for number in range(chance.randrange(40))]
        for _ in range(FILES)
    ]
    commit(base)
    git("branch", "other")
    commit([_edited(lines, chance) for lines in base])
    git("checkout", "-q", "other")
    commit([_edited(lines, chance) for lines in base])
    git("merge", "-q", "-s", "ours", "-m", "x", "main")

    assert merges.compare(str(repository), 10) == 0

    said = capsys.readouterr().out.split()
    assert said[:2] == ["1", "merges,"]
    assert int(said[2]) > int(said[4]) > FILES // 10  # both outcomes are met
