"""What git can put at a name, where a repository tracks it: planted by checking a branch out over what wink has there."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.state.kinds import MANY, double, zeros
from tests.state.world import World

RUBBISH = b"\x00\xff[{" * 300
_WHO = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
_LINK, _PLAIN, _PROGRAM, _COMMIT = "120000", "100644", "100755", "160000"

Wanted = Callable[[os.stat_result], bool]
"""What a name has to look like when git is done."""


def git(world: World, *words: str, given: bytes = b"", **env: str) -> str:
    """What git says in the workspace, run by whoever it belongs to and without anybody's settings."""
    environment = {"PATH": world.env["PATH"], "HOME": "/nonexistent", **_WHO, **env}
    command = ["git", "-c", "gc.auto=0", "-c", "advice.detachedHead=false", *words]
    done = subprocess.run(
        command, cwd=world.work, env=environment, input=given, capture_output=True, check=False, user=world.user,
        group=world.user, extra_groups=None if world.user is None else (),
    )  # fmt: skip
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout.decode().strip()


class Checkouts:
    """Makes a repository of a workspace, and checks out branches that track names in its state."""

    def __init__(self, world: World) -> None:
        self._world = world
        links: Mapping[str, Callable[[Path, Path], Path]] = {
            "link to a file": lambda _, outside: outside / "secret.txt",
            "link to a directory": lambda _, outside: outside,
            "link to its double": double,
            "dangling link": lambda _, outside: outside / "absent",
            "link to zeros": lambda _, outside: zeros(outside),
        }
        self.kinds: Mapping[str, Callable[[Path, Path], Mapping[str, tuple[str, str]]]] = {
            **{kind: self._link(target) for kind, target in links.items()},
            "rubbish": lambda _, outside: {"": (_PLAIN, self._blob(RUBBISH))},
            "many": self._many,
            "program": lambda _, outside: {"": (_PROGRAM, self._blob((outside / "run.sh").read_bytes()))},
            "submodule": lambda _, outside: {"": (_COMMIT, "1" * 40)},
            "deletion": lambda _, outside: {},
        }

    def begin(self) -> None:
        """A repository with a commit in it."""
        git(self._world, "init", "-q")
        git(self._world, "add", "a.txt")
        git(self._world, "commit", "-q", "-m", "first")
        self._first = git(self._world, "rev-parse", "HEAD^{tree}")

    def plant(self, kind: str, place: Path, outside: Path) -> bool:
        """Check it out; False where there is nothing to delete."""
        inside = os.path.relpath(place, self._world.work)
        if kind == "deletion":
            if not os.path.lexists(place) or (place.is_dir() and not place.is_symlink() and not any(place.rglob("*"))):
                return False
            self._track(inside)
        entries = self.kinds[kind](place, outside)
        tree = self._tree({f"{inside}{name}": entry for name, entry in entries.items()})
        commit = git(self._world, "commit-tree", "-m", "theirs", tree)
        git(self._world, "checkout", "-qf", commit)
        self._check(kind, place)
        return True

    def _check(self, kind: str, place: Path) -> None:
        """It lies there as git is said to make it, or the rest would show nothing."""
        if kind == "deletion":
            assert not place.is_file(), place
            return
        found = os.lstat(place)
        wanted = stat.S_ISLNK if "link" in kind else stat.S_ISDIR if kind in ("many", "submodule") else stat.S_ISREG
        assert wanted(found.st_mode), (kind, place)
        assert kind != "program" or found.st_mode & 0o100, place
        assert kind != "many" or len(os.listdir(place)) >= MANY, place
        assert kind != "rubbish" or place.read_bytes() == RUBBISH, place

    def _track(self, inside: str) -> None:
        """Be on a branch that has what wink has there."""
        index = str(self._world.files / "index")
        tree = git(self._world, "read-tree", self._first, GIT_INDEX_FILE=index)
        git(self._world, "add", "-f", "--", inside, GIT_INDEX_FILE=index)
        tree = git(self._world, "write-tree", GIT_INDEX_FILE=index)
        git(self._world, "update-ref", "HEAD", git(self._world, "commit-tree", "-m", "ours", tree))
        git(self._world, "read-tree", "HEAD")

    def _tree(self, entries: Mapping[str, tuple[str, str]]) -> str:
        index = str(self._world.files / "index")
        git(self._world, "read-tree", self._first, GIT_INDEX_FILE=index)
        lines = "".join(f"{mode} {blob}\t{path}\0" for path, (mode, blob) in entries.items())
        git(self._world, "update-index", "-z", "--index-info", given=lines.encode(), GIT_INDEX_FILE=index)
        return git(self._world, "write-tree", GIT_INDEX_FILE=index)

    def _link(self, target: Callable[[Path, Path], Path]) -> Callable[[Path, Path], Mapping[str, tuple[str, str]]]:
        return lambda place, outside: {"": (_LINK, self._blob(str(target(place, outside)).encode()))}

    def _many(self, place: Path, outside: Path) -> Mapping[str, tuple[str, str]]:
        del outside
        blob = self._blob(b"")
        return {f"/{number:05d}": (_PLAIN, blob) for number in range(MANY)}

    def _blob(self, content: bytes) -> str:
        return git(self._world, "hash-object", "-w", "--stdin", given=content)
