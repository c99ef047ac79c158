"""Ask git about commits of which a workspace has some and a try the others, in a repository of nobody's."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterable, Sequence
from tempfile import TemporaryDirectory
from typing import Final, Self, TypeVar, cast

from wink.trust import program
from wink_sandbox import git_environment
from wink_sandbox.tries.merging._git_files import UNREADABLE, NotMerged, read

T = TypeVar("T")

_SECONDS: Final = 60.0


class PrivateGit:
    """Git in a private repository that has the workspace's objects and some of the try's, and nothing else of either."""

    def __init__(
        self, here: str, there: str, objects: Sequence[str], known: dict[object, object], *, is_long: bool
    ) -> None:
        self._here, self._there, self._objects, self._known, self._is_long = here, there, objects, known, is_long
        self._made: TemporaryDirectory[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._made is not None:
            self._made.cleanup()

    def is_ancestor(self, one: str, other: str) -> bool:
        """Whether a commit is another one, or one of those that it was made from."""
        return self._asked(("ancestor", one, other), lambda: self._is_ancestor(one, other))

    def is_reached(self, one: str, others: Iterable[str]) -> bool:
        """Whether a commit is one of some others, or what they were made from."""
        return any(self.is_ancestor(one, other) for other in dict.fromkeys(others))

    def has_all(self, values: Iterable[str], known: Iterable[str]) -> bool:
        """Whether all objects are there that these need; not looked for are those that the `known` need, where these are there."""
        wanted, bounds = tuple(sorted(values)), tuple(dict.fromkeys(known))
        key = ("objects", wanted, bounds, tuple(self._objects))
        return not wanted or self._asked(key, lambda: self._has_all(wanted, bounds))

    def read_tree(self, index: bytes, one: str, other: str) -> bytes | None:
        """An index that follows from one commit to another; None where it has changed what has changed between them."""
        return self._asked(("index", index, one, other), lambda: self._read_tree(index, one, other))

    def _asked(self, key: object, ask: Callable[[], T]) -> T:
        """What was asked before, of the same, is not asked again: ids name what never changes."""
        if key not in self._known:
            self._known[key] = ask()
        return cast("T", self._known[key])

    def _is_ancestor(self, one: str, other: str) -> bool:
        return self._run("merge-base", "--is-ancestor", one, other).returncode == 0

    def _has_all(self, values: Sequence[str], known: Sequence[str]) -> bool:
        asked = "".join(f"{one}\n" for one in known)
        said = self._run("cat-file", "--batch-check=%(objectname) %(objecttype)", said=asked).stdout.decode()
        there = [line.split()[0] for line in said.splitlines() if line.endswith((" commit", " tag"))]
        wanted = "".join(f"{one}\n" for one in (*values, *(f"^{one}" for one in there)))
        return self._run("rev-list", "--objects", "--quiet", "--stdin", said=wanted).returncode == 0

    def _read_tree(self, index: bytes, one: str, other: str) -> bytes | None:
        place = f"{self._place()}/index"
        with open(place, "wb") as file:
            file.write(index)
        if self._run("read-tree", "-i", "-m", one, other).returncode != 0:
            return None
        with open(place, "rb") as file:
            return file.read()

    def _place(self) -> str:
        if self._made is not None:
            return self._made.name
        self._made = TemporaryDirectory(prefix="wink-refs-")
        place = self._made.name
        for name in ("refs", "objects/info", "work"):
            os.makedirs(f"{place}/{name}")
        os.symlink(f"{self._here}/objects", f"{place}/theirs")
        files = {
            "HEAD": b"ref: refs/heads/none\n",
            "config": b"[core]\n\trepositoryformatversion = 1\n",
            "objects/info/alternates": f"{place}/theirs\n".encode(),
        }
        if self._is_long:
            files["config"] += b"[extensions]\n\tobjectformat = sha256\n"
        shallow = read(self._here, "shallow")
        for name, content in (files if shallow is None else {**files, "shallow": shallow}).items():
            with open(f"{place}/{name}", "xb") as file:
                file.write(content)
        for name in self._objects:
            os.makedirs(os.path.dirname(f"{place}/{name}"), exist_ok=True)
            os.symlink(f"{self._there}/{name}", f"{place}/{name}")
        return place

    def _run(self, *words: str, said: str = "") -> subprocess.CompletedProcess[bytes]:
        git, place = program("git"), self._place()
        assert git is not None, "looked for before"
        environment = git_environment(place) | {
            "GIT_WORK_TREE": f"{place}/work",
            "GIT_INDEX_FILE": f"{place}/index",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_NO_LAZY_FETCH": "1",
        }
        try:
            return subprocess.run(
                [git, *words],
                cwd=f"{place}/work",
                env=environment,
                input=said.encode(),
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NotMerged(UNREADABLE.format(f"git {words[0]}: {type(error).__name__}")) from None
