"""Replay every release of real packages through wink's tools: `python -m tests.histories.run [PACKAGE]...`.

The releases come from the package index and are kept below `--cache`. `--seed` draws everything that comes in between
again, except for what the machine does in between; `--user` replays as somebody else, which takes root.
"""

from __future__ import annotations

import argparse
import os
import pwd
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from .added import with_more
from .process import Wrong
from .releases import Release, releases, unpacked
from .replay import Replay
from .trees import Tree
from .workplace import Tally

PACKAGES = ("click", "docutils")
LEAST = 40
"""Versions that a whole history has."""


def become(name: str) -> None:
    """Go on as another user."""
    user = pwd.getpwnam(name)
    os.initgroups(name, user.pw_gid)
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)
    os.environ["HOME"] = user.pw_dir
    if not os.access(sys.executable, os.X_OK):
        raise SystemExit(f"{name} cannot run {sys.executable}; use an interpreter that is in nobody's home")


def remove(directory: str) -> None:
    """Remove a directory, with those in it that nobody may look into, as overlays leave them."""
    for above, names, _ in os.walk(directory):
        for name in names:
            if not os.path.islink(os.path.join(above, name)):
                os.chmod(os.path.join(above, name), 0o700)
    shutil.rmtree(directory)


def histories(names: Sequence[str], cache: Path, most: int) -> dict[str, list[Release]]:
    """The releases of each package, the first `most` of them."""
    found = {name: releases(name, cache)[: most or None] for name in names}
    for name, some in found.items():
        if len(some) < min(LEAST, most or LEAST):
            raise SystemExit(f"{name} has {len(some)} releases with a source distribution, not {LEAST}; name another")
    return found


def versions(some: Sequence[Release], seed: int, seen: Counter[str]) -> Iterator[Tree]:
    """The trees to replay; `seen` counts what they hold themselves, and what was added."""
    for number, release in enumerate(some):
        print(f"  {release.version}", end="", file=sys.stderr, flush=True)
        tree = unpacked(release.archive)
        more = with_more(tree, number, seed)
        for entry in tree.values():
            seen["links of their own"] += entry.kind == "link"
            seen["modes of their own"] += entry.kind == "file" and entry.mode != 0o644
        for path, entry in more.items():
            if tree.get(path) != entry:
                seen["links added"] += entry.kind == "link"
                seen["modes added"] += entry.kind != "link" and path in tree
        yield more
    print(file=sys.stderr)


def rows(tally: Tally, seen: Counter[str]) -> Iterator[tuple[str, str]]:
    """What to print of a replay."""
    counts = tally.counts
    for name in ("versions", "trees compared"):
        yield name, f"{counts[name]:,}"
    yield "wrong trees", "0"
    for name in ("calls", "changes", "turns of two processes at once", "undos", "redos"):
        yield name, f"{counts[name]:,}"
    yield "undos after which the same is done again", f"{counts['undos after which the same is done again']:,}"
    yield "calls that had to fail, and failed", f"{sum(tally.failures.values()):,}"
    for name in ("kills", "kills before the answer", "calls taken back after a kill", "kills in undo or redo"):
        yield name, f"{counts[name]:,}"
    for name in ("links of their own", "links added", "modes of their own", "modes added"):
        yield name, f"{seen[name]:,}"
    yield "bytes of all versions", f"{tally.version_bytes:,}"
    yield "bytes of the last version", f"{tally.last_bytes:,}"
    yield "bytes of `.wink` on the disk, when it is closed", f"{tally.state_bytes:,}"
    yield "seconds", f"{tally.seconds:.0f}"


def main() -> int:
    """Replay, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", default=PACKAGES, metavar="PACKAGE")
    parser.add_argument("--versions", type=int, default=0, metavar="N", help="only the first N releases of each")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--user", metavar="NAME", help="as whom")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir(), "wink-histories"))
    parser.add_argument("--where", help="a directory of the filesystem to replay on")
    given = parser.parse_args()
    found = histories(given.packages, given.cache, given.versions)
    if given.user:
        become(given.user)
    os.umask(0o022)
    wrong = 0
    for name, some in found.items():
        scratch = tempfile.mkdtemp(prefix="histories-", dir=given.where)
        os.environ["XDG_STATE_HOME"] = os.path.join(scratch, "home")
        root, seen = os.path.join(scratch, "work", "tree"), Counter[str]()
        os.makedirs(root)
        replay = Replay(root, given.seed)
        print(f"{name}:", end="", file=sys.stderr, flush=True)
        try:
            tally = replay.run(versions(some, given.seed, seen))
        except Wrong as error:
            wrong += 1
            print(f"\n{name}, seed {given.seed}, in {scratch}: {error}\n{replay.tally}", file=sys.stderr)
            continue
        print(f"| {name}, as {pwd.getpwuid(os.geteuid()).pw_name} | |\n|---|---:|")
        for row in rows(tally, seen):
            print(f"| {' | '.join(row)} |")
        for title, counted in (("calls of", tally.tools), ("failures by", tally.failures)):
            print(f"\n{title} " + ", ".join(f"{what} {count:,}" for what, count in sorted(counted.items())))
        print(flush=True)
        if tally.state_bytes > tally.version_bytes:
            wrong += 1
            print(f"{name}: .wink is larger than all versions together", file=sys.stderr)
        remove(scratch)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
