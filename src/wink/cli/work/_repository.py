"""Make a copy of a project a git repository of its own, and see whether anybody touches it."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from wink.trust import inherited, program

_IGNORED: Final = ("__pycache__", ".git", ".wink")


def copy_project(source: Path, target: Path) -> None:
    """Copy a project's files, without the traces of git, wink and Python; raises `OSError` where that fails."""
    try:
        shutil.copytree(source, target, ignore=shutil.ignore_patterns(*_IGNORED), dirs_exist_ok=True, symlinks=True)
    except shutil.Error as error:  # it collects what failed, as (source, target, reason)
        path, _, reason = error.args[0][0]
        raise OSError(None, reason, path) from error


def make_repository(directory: Path) -> bool:
    """Commit all that is there to a new repository; False where there is no git, or one that cannot."""
    git = program("git")
    if git is None:
        return False
    # The user's own settings, and a repository that the environment names, are none of this copy's business.
    environment = {name: value for name, value in inherited(os.environ).items() if not name.startswith("GIT_")}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    author = ["-c", "user.name=wink demo", "-c", "user.email=demo@example.invalid"]
    for command in (
        ["-c", "init.defaultBranch=main", "init", "--quiet", "--template="],
        ["add", "--all", "--force"],
        [*author, "commit", "--quiet", "--allow-empty", "--message", "A project with a bug"],
    ):
        done = subprocess.run([git, *command], cwd=directory, env=environment, capture_output=True, check=False)
        if done.returncode:
            shutil.rmtree(directory / ".git", ignore_errors=True)
            return False
    return True


def fingerprint(directory: Path) -> str:
    """One digest of all names and contents below a directory."""
    digest = hashlib.sha256()
    for path in sorted(directory.rglob("*")):
        digest.update(os.fsencode(path.relative_to(directory)) + b"\0")
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()
