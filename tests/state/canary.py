"""A tree outside of the workspace that nothing may change, and all that can be seen of a change."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

SECRET = "the-canary-sings-7c1f"
"""What must never turn up in any output, nor in the workspace."""

Looks = tuple[object, ...]


def make_canary(base: Path) -> None:
    """Everything around a workspace in `base` that an attacker would like to have."""
    for place in ("home/.ssh", "outside/inner", "outside/empty"):
        (base / place).mkdir(parents=True)
    for path, text in (
        ("home/.bashrc", "true\n"),
        ("home/.gitconfig", "[user]\n\tname = Me\n\temail = me@example.org\n"),
        ("home/.ssh/id", f"{SECRET}\n"),
        ("precious.txt", f"{SECRET}\n"),
        ("outside/secret.txt", f"{SECRET}\n"),
        ("outside/inner/more.txt", f"{SECRET}\n"),
        ("outside/run.sh", f"#!/bin/sh\ntouch {base}/executed\n"),
    ):
        (base / path).write_text(text)
    (base / "outside/run.sh").chmod(0o755)


def seen(base: Path, *, but: tuple[str, ...] = ()) -> Mapping[str, Looks]:
    """What `base` looks like, without what is named in `but`; every name, and of each what a change would change."""
    return dict(_seen(str(base), "", frozenset(but)))


def _seen(base: str, above: str, but: frozenset[str]) -> Iterator[tuple[str, Looks]]:
    place = f"{base}/{above}" if above else base
    for name in sorted(os.listdir(place)):
        path = f"{above}/{name}" if above else name
        if path in but:
            continue
        found = os.lstat(f"{base}/{path}")
        content: object = None
        if stat.S_ISLNK(found.st_mode):
            content = os.readlink(f"{base}/{path}")
        elif stat.S_ISREG(found.st_mode) and found.st_size < 1 << 24:
            content = hashlib.sha256(Path(f"{base}/{path}").read_bytes()).hexdigest()
        # That an attacker's second name of a file goes away harms nobody.
        names = 0 if name.startswith("double-") and not stat.S_ISDIR(found.st_mode) else found.st_nlink
        yield path, (found.st_mode, found.st_uid, found.st_gid, names, found.st_ino, found.st_size,
                     found.st_mtime_ns, content)  # fmt: skip
        if stat.S_ISDIR(found.st_mode):
            yield from _seen(base, path, but)


def changes(before: Mapping[str, Looks], after: Mapping[str, Looks]) -> list[str]:
    """What is different, for people."""
    gone = [f"{path} is gone" for path in before if path not in after]
    new = [f"{path} is new" for path in after if path not in before]
    return [*gone, *new, *(f"{path} was changed" for path in before if path in after and before[path] != after[path])]
