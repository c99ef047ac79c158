"""A person's repository, and what is done in it with wink and without."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from plugins.sandbox.tests.tries.conftest import GIT, Wink, place, sandbox_is_there, wink
from plugins.sandbox.tests.tries.conftest import environment as somebodys_environment

__all__ = ["Day", "environment", "place", "sandbox_is_there", "somebodys_environment", "wink"]


@pytest.fixture
def environment(somebodys_environment: dict[str, str]) -> dict[str, str]:
    """Of somebody who commits."""
    return somebodys_environment | GIT


class Day:
    """A repository, and what is done in it."""

    def __init__(self, root: Path, wink: Wink, environment: dict[str, str]) -> None:
        self.root, self.call, self._environment = root, wink, environment

    def sh(self, script: str, where: str = "") -> str:
        """What a person does, without wink."""
        return subprocess.run(
            ["sh", "-ec", script],
            cwd=self.root / where,
            env=self._environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    def wink(self, *arguments: str, where: str = "", status: int = 0) -> str:
        """A command that ends with a status; all that it has said."""
        done = self.call(*arguments, cwd=self.root / where)
        assert done.returncode == status, (arguments, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def tried(self, script: str, where: str = "") -> str:
        """A script in a try, which changes nothing that is real."""
        before = self.look()
        said = self.wink("try", "--", "sh", "-ec", script, where=where)
        assert self.look() == before
        return said

    def look(self) -> dict[str, Any]:
        """Every file, with all that people see of it; of what git keeps for itself, what git says."""
        found: dict[str, Any] = {}
        for above, directories, files in os.walk(self.root):
            directories[:] = [name for name in directories if name not in (".git", ".wink")]
            for name in (*directories, *files):
                path = Path(above, name)
                mode = path.lstat().st_mode
                what = os.readlink(path) if path.is_symlink() else ""
                if not what and path.is_file():
                    with path.open("rb") as file:
                        what = hashlib.file_digest(file, "sha256").hexdigest()
                found[str(path.relative_to(self.root))] = (mode, what)
        if (self.root / ".git").exists():
            found["what git says"] = self.sh(
                "git for-each-ref; git symbolic-ref -q HEAD || git rev-parse HEAD; git status --porcelain; git fsck --no-dangling 2>&1"
            )
        return found

    def accepted(self, *paths: str, where: str = "") -> None:
        """Accepted, taken back, done again: each is exactly what was before or after it."""
        before = self.look()
        self.wink("accept", *paths, where=where)
        after = self.look()
        assert after != before
        self.wink("undo", where=where)
        assert self.look() == before
        self.wink("redo", where=where)
        assert self.look() == after
