"""The releases of a real package, oldest first, each as a tree: what its source distribution unpacks to.

The archives come from the package index, with the hash that the index tells, and are kept. Nothing of them is executed: pip
would build a source distribution to download it.
"""

from __future__ import annotations

import hashlib
import os
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from .trees import DIRECTORY_MODE, Entry, Tree, with_parents

MOST_BYTES: Final = 256 * 2**20
MOST_MEMBERS: Final = 20_000


class Release(NamedTuple):
    """One version, and the archive that it is in."""

    version: str
    archive: Path


def releases(name: str, cache: Path) -> list[Release]:
    """All releases of a package, early ones too, that have a source distribution; downloaded where they were not."""
    from unearth import PackageFinder

    index = os.environ.get("PIP_INDEX_URL")
    finder = PackageFinder(index_urls=[index] if index else [], no_binary=[name], ignore_compatibility=True)
    kept = cache / name
    kept.mkdir(parents=True, exist_ok=True)
    found: dict[str, Release] = {}
    for package in finder.find_matches(name, allow_prereleases=True):
        link, version = package.link, str(package.version)
        if version in found or not link.filename.endswith((".tar.gz", ".tgz", ".tar.bz2")):
            continue
        archive = kept / link.filename
        sums = (link.hash_option or {}).get("sha256", [])
        if not sums:
            raise SystemExit(f"the index tells no SHA-256 of {link.filename}; use one that does")
        if not archive.exists():
            # It is unpacked too, which nobody asked for.
            with tempfile.TemporaryDirectory(dir=kept) as scratch:
                finder.download_and_unpack(link, os.path.join(scratch, "tree"), scratch)
                os.replace(os.path.join(scratch, link.filename), archive)
        if hashlib.sha256(archive.read_bytes()).hexdigest() not in sums:
            raise SystemExit(f"{archive} is not what the index tells of; delete it")
        found[version] = Release(version, archive)
    return list(found.values())[::-1]


def unpacked(archive: Path) -> Tree:
    """What is in an archive, as `tarfile`'s filter `data` would unpack it, without the directory that everything is in."""
    tree: Tree = {}
    with tarfile.open(archive) as opened:
        for path, member in _members(opened):
            if member.isdir():
                tree[path] = Entry("directory", DIRECTORY_MODE)
            elif member.issym():
                tree[path] = Entry("link", 0, os.fsencode(member.linkname))
            elif member.isfile() or member.islnk():
                content = opened.extractfile(member)
                assert content is not None, f"{path} has no content"
                tree[path] = Entry("file", member.mode or 0o644, content.read())
    tree.pop("", None)
    return with_parents(tree)


def _members(opened: tarfile.TarFile) -> Iterator[tuple[str, tarfile.TarInfo]]:
    total = 0
    for number, member in enumerate(opened):
        total += member.size
        if number >= MOST_MEMBERS or total > MOST_BYTES:
            raise SystemExit(f"{opened.name} holds more than {MOST_MEMBERS} members or {MOST_BYTES} bytes")
        safe = tarfile.data_filter(member, "/nowhere")
        _, _, path = safe.name.removeprefix("./").rstrip("/").partition("/")
        if path or safe.isdir():
            yield path, safe
