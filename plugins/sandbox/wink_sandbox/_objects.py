"""Look whether what a program added to a repository is what its name says: git takes that for true when it needs such an object.

An object, a pack and a file of git-lfs are called by the hash of what is in them. Whoever plants another content under the name of
what somebody will commit later, has it committed unseen. See git's gitformat-pack(5) and git-lfs' specification.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import subprocess
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from wink.trust import inherited, program
from wink_sandbox._rules import git_directory_of

if TYPE_CHECKING:
    from wink_sandbox._merge import Differences

FALSE: Final = "is not what its name says, by which git will take it for something else"
_REPLACES: Final = "would have git show one object in the place of another"
_NO_GIT: Final = "is a pack of git's, and no git is installed that could look into it"
_LOOSE: Final = re.compile(r"objects/([0-9a-f]{2})/([0-9a-f]{38}|[0-9a-f]{62})")
_PACK: Final = re.compile(r"objects/pack/(pack-[0-9a-f]+)\.(?:pack|idx)")
_LFS: Final = re.compile(r"lfs/objects/[0-9a-f]{2}/[0-9a-f]{2}/([0-9a-f]{64})")
_HEADER: Final = re.compile(rb"(?:blob|tree|commit|tag) ([0-9]{1,12})\0")
_CHUNK: Final = 1 << 20
_LARGEST: Final = 1 << 32
"""Bytes of an object; what claims more is not looked into."""
_SECONDS: Final = 600.0
_MOST_KNOWN: Final = 10_000
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

_known: dict[tuple[object, ...], bool] = {}


def unsound(found: Differences) -> Iterator[tuple[str, str]]:
    """The paths of objects that are not what they are called, and of packed refs that replace objects, each with the reason."""
    packs: dict[str, list[str]] = {}
    for step in found.steps:
        if step.kind != "file" or step.made is None:
            continue
        place = git_directory_of(step.path, found.overlay.root)
        own = place[1] if place is not None else step.path if found.overlay.is_git else ""
        source = found.source(step.path)
        if (name := _LOOSE.fullmatch(own)) is not None:
            if not _is(partial(_is_object, source, name[1] + name[2]), source, step.made):
                yield step.path, FALSE
        elif (name := _LFS.fullmatch(own)) is not None:
            if not _is(partial(_has_hash, source, name[1]), source, step.made):
                yield step.path, FALSE
        elif (name := _PACK.fullmatch(own)) is not None:
            packs.setdefault(step.path.rpartition(".")[0], []).append(step.path)
        elif own == "packed-refs" and _replaces(source, f"{found.overlay.root}/{step.path}"):
            yield step.path, _REPLACES
    for stem, paths in packs.items():
        git = program("git")
        if git is None:
            yield paths[0], _NO_GIT
        elif not _is_pack(git, found, stem):
            yield from ((path, FALSE) for path in paths)


def git_environment(git_directory: str) -> dict[str, str]:
    """For git in a private directory: no other repository, no settings and no attributes of anybody have a say."""
    kept = {name: value for name, value in inherited(os.environ).items() if not name.startswith("GIT_")}
    return kept | {
        "GIT_DIR": git_directory,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "LC_ALL": "C",
    }


def _is(ask: Callable[[], bool], place: str, *made: os.stat_result) -> bool:
    """What was found out of files that nobody has touched since is not found out again."""
    facts = ((one.st_dev, one.st_ino, one.st_size, one.st_mtime_ns, one.st_ctime_ns) for one in made)
    key = (place, *facts)
    if key not in _known:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[key] = ask()
    return _known[key]


def _is_object(place: str, name: str) -> bool:
    digest = hashlib.sha1(usedforsecurity=False) if len(name) == 40 else hashlib.sha256()
    inflate, left, head = zlib.decompressobj(), -1, b""
    try:
        with open(os.open(place, _READ), "rb") as file:
            while not inflate.eof:
                part = inflate.unconsumed_tail or file.read(_CHUNK)
                content = inflate.decompress(part, _CHUNK)
                if not part and not content:
                    return False
                digest.update(content)
                if left < 0:
                    head += content
                    if (header := _HEADER.match(head)) is None:
                        if len(head) > 32:
                            return False
                        continue
                    left, content = int(header[1]), head[header.end() :]
                left -= len(content)
                if left < 0 or left > _LARGEST:
                    return False
            return left == 0 and not inflate.unused_data and not file.read(1) and digest.hexdigest() == name
    except (OSError, zlib.error):
        return False


def _has_hash(place: str, name: str) -> bool:
    try:
        with open(os.open(place, _READ), "rb") as file:
            return (
                stat.S_ISREG(os.fstat(file.fileno()).st_mode)
                and hashlib.file_digest(file, "sha256").hexdigest() == name
            )
    except OSError:
        return False


def _is_pack(git: str, found: Differences, stem: str) -> bool:
    """Whether git finds all that a pack's list names in it, by its hash."""
    made = {step.path: step.made for step in found.steps if step.made is not None}
    name = stem.rpartition("/")[2]
    files = {end: f"{stem}.{end}" for end in ("pack", "idx")}
    places = {
        end: found.source(path) if path in made else f"{found.overlay.root}/{path}" for end, path in files.items()
    }

    def ask() -> bool:
        with TemporaryDirectory(prefix="wink-pack-") as directory:
            for end, place in places.items():
                os.symlink(place, f"{directory}/{name}.{end}")
            long = ("--object-format=sha256",) if len(name) == len("pack-") + 64 else ()
            environment = git_environment(f"{directory}/none")
            words = [git, "verify-pack", *long, f"{directory}/{name}.idx"]
            try:
                done = subprocess.run(
                    words, cwd=directory, env=environment, capture_output=True, timeout=_SECONDS, check=False
                )
            except (OSError, subprocess.TimeoutExpired):
                return False
            return done.returncode == 0

    return _is(ask, places["idx"], *(made[path] for path in files.values() if path in made))


def _replaces(place: str, before: str) -> bool:
    """Whether packed refs replace objects that the workspace's do not."""
    now, then = (_replacing(one) for one in (place, before))
    return now is None or not now <= (then or frozenset())


def _replacing(place: str) -> frozenset[bytes] | None:
    try:
        with open(os.open(place, _READ), "rb") as file:
            if os.fstat(file.fileno()).st_size > _LARGEST >> 4:
                return None
            return frozenset(line for line in file if b" refs/replace/" in line)
    except OSError:
        return None
