"""What programs add to a repository is what its name says, or is not taken: git would use it for what the person commits later."""

from __future__ import annotations

import hashlib
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from plugins.sandbox.tests.tries.test_git import NEUTRAL, git

from wink.errors import MergeRefused
from wink.workspace import Workspace
from wink_sandbox import Command, Sandbox
from wink_sandbox.tries import Try

SAFE, EVIL = b"safe\n", b"evil\n"


def loose(content: bytes) -> bytes:
    return b"blob %d\0%s" % (len(content), content)


def named(content: bytes, how: str = "sha1") -> str:
    """Where an object of this content lies."""
    name = hashlib.new(how, loose(content)).hexdigest()
    return f".git/objects/{name[:2]}/{name[2:]}"


PLANTED = {
    "an object with other content": (named(SAFE), zlib.compress(loose(EVIL))),
    "an object with more behind it": (named(SAFE), zlib.compress(loose(SAFE)) + b"x"),
    "an object that says another size": (named(SAFE), zlib.compress(b"blob 4\0" + SAFE)),
    "half an object": (named(SAFE), zlib.compress(loose(SAFE))[:-3]),
    "no object": (named(SAFE), b"x"),
    "nothing": (named(SAFE), b""),
    "a header without end": (named(SAFE), zlib.compress(b"9" * 1_000_000)),
    "of git-lfs with other content": (f".git/lfs/objects/ab/cd/abcd{'e' * 60}", EVIL),
    "a pack that is none": (f".git/objects/pack/pack-{'a' * 40}.pack", b"PACK"),
    "a list of no pack": (f".git/objects/pack/pack-{'a' * 40}.idx", b"\xfftOc"),
    "a ref that replaces an object": (f".git/refs/replace/{'a' * 40}", b"b" * 40),
    "packed refs that replace one": (".git/packed-refs", b"b" * 40 + b" refs/replace/" + b"a" * 40 + b"\n"),
}


@pytest.fixture
def workspace(place: Path) -> Iterator[Workspace]:
    git(place, "init", "-q", "-b", "main")
    git(place, "add", ".")
    git(place, "commit", "-q", "-m", "one")
    with Workspace.open(place) as opened:
        yield opened


def planted(workspace: Workspace, path: str, content: bytes) -> Try:
    """A try in which a program has written that."""
    one = Try(workspace, "t")
    script = f"mkdir -p $(dirname {path}); cp given {path}; echo two > a.txt"
    source = Path(workspace.root, "given")
    source.write_bytes(content)
    with one.use() as overlay:
        ended = Sandbox().run(Command(("/bin/sh", "-ec", script), env=NEUTRAL), overlay)
    assert ended.status == 0, ended.stderr.text()
    source.unlink()
    return one


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_not_what_it_is_called_is_refused(workspace: Workspace, place: Path, name: str) -> None:
    """And everything else can be accepted."""
    path, content = PLANTED[name]
    one = planted(workspace, path, content)

    with pytest.raises(MergeRefused) as refused:
        one.accept()

    (at,) = refused.value.paths
    assert f"{path}/".startswith(f"{at}/")
    assert one.accept(rest=True).left[0][0] == at
    assert (place / "a.txt").read_text() == "two\n"
    assert not (place / path).exists()


TAKEN = {
    "a commit": "git commit -qam two",
    "a large file": "head -c 3000000 /dev/zero > zeros; head -c 3000000 /dev/urandom > noise; git add .; git commit -qm two",
    "a pack": "git commit -qam two; git gc -q",
    "a pack of deltas": "seq 5000 > n; git add n; git commit -qm n; seq 5001 > n; git commit -qam two; git repack -qad",
}


@pytest.mark.parametrize("name", TAKEN)
@pytest.mark.parametrize("how", ["sha1", "sha256"])
def test_what_git_makes_is_taken(place: Path, name: str, how: str) -> None:
    """Whatever its hash is."""
    git(place, "init", "-q", "-b", "main", f"--object-format={how}")
    git(place, "add", ".")
    git(place, "commit", "-q", "-m", "one")
    with Workspace.open(place) as workspace:
        one = Try(workspace, "t")
        with one.use() as overlay:
            script = f"echo two > a.txt; {TAKEN[name]}"
            assert Sandbox().run(Command(("/bin/sh", "-ec", script), env=NEUTRAL), overlay).status == 0
        if name == "a commit":  # merged as refs
            subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "person"], cwd=place, env=NEUTRAL, check=True)
        one.accept()

    branch = "try/t/main" if name == "a commit" else "main"
    assert git(place, "log", "-1", "--format=%s", branch) == "two\n"
    git(place, "fsck", "--strict", "--full")
