"""A merge leaves the workspace exactly as the program would have left a plain copy of it."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plugins.sandbox.tests.conftest import Place

PYTHON = "/usr/bin/python3"

SCRIPT = r"""
import errno, json, os, shutil, sys

def remove(path):
    shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)

def rename(source, target):
    try:
        os.rename(source, target)
    except OSError as error:
        # An overlay does not rename directories of the workspace; programs copy then, as mv does.
        if error.errno != errno.EXDEV:
            raise
        if os.path.isdir(target):
            os.rmdir(target)
        shutil.copytree(source, target, symlinks=True)
        shutil.rmtree(source)

def put(path, data, mode):
    with open(path, mode) as file:
        file.write(bytes(data))

def replace(path, data):
    put(path + "~", data, "wb")
    os.replace(path + "~", path)

steps = {
    "write": lambda path, data: put(path, data, "wb"),
    "append": lambda path, data: put(path, data, "ab"),
    "replace": replace,
    "touch": lambda path, seconds: os.utime(path, (seconds, seconds), follow_symlinks=False),
    "truncate": os.truncate,
    "remove": remove,
    "mkdir": os.mkdir,
    "rename": rename,
    "link": os.link,
    "symlink": os.symlink,
    "chmod": lambda path, mode: os.chmod(path, mode | (0o700 if os.path.isdir(path) else 0o600)),
    "xattr": lambda path, value: os.path.isfile(path) and os.setxattr(path, "user.test", value.encode()),
    "open": lambda path: open(path, "r+b").close(),
}
for name, *arguments in json.load(sys.stdin):
    try:
        steps[name](*arguments)
    except (OSError, shutil.Error):
        pass
"""

names = st.sampled_from(["a", "b", "c d", "é", "-n"])
paths = st.lists(names, min_size=1, max_size=3).map("/".join)
contents = st.one_of(st.just([]), st.lists(st.integers(0, 255), max_size=8))
# Programs are run outside of any sandbox too, to compare, and by root: what is written through a link must lead to nothing.
LEADS_OUT = "/nowhere/at/all"
targets = st.one_of(paths, st.sampled_from(["../a", LEADS_OUT, "nowhere", "."]))
steps = st.one_of(
    st.tuples(st.sampled_from(["write", "append", "replace"]), paths, contents),
    st.tuples(st.just("touch"), paths, st.integers(1, 10**9)),
    st.tuples(st.just("truncate"), paths, st.integers(0, 5)),
    st.tuples(st.sampled_from(["remove", "mkdir", "mkdir", "open"]), paths),
    st.tuples(st.sampled_from(["rename", "link"]), paths, paths),
    st.tuples(st.just("symlink"), targets, paths),
    st.tuples(st.just("chmod"), paths, st.integers(0, 0o777)),
    st.tuples(st.just("xattr"), paths, st.sampled_from(["", "1", "long " * 9])),
)
programs = st.lists(steps, max_size=12)


def described(root: Path) -> dict[str, Any]:
    """All that anybody can tell of a tree; a time only where a program chose it."""
    found: dict[str, Any] = {}
    names_of: dict[int, list[str]] = {}
    for above, directories, files in os.walk(root):
        if ".wink" in directories:
            directories.remove(".wink")
        for name in [*directories, *files]:
            place = os.path.join(above, name)
            path, status = os.path.relpath(place, root), os.lstat(place)
            kind = stat.S_IFMT(status.st_mode)
            what: list[object] = [kind, stat.S_IMODE(status.st_mode)]
            if kind == stat.S_IFLNK:
                what.append(os.readlink(place))
            else:
                what.append({key: os.getxattr(place, key) for key in os.listxattr(place)})
            if kind == stat.S_IFREG:
                what.append(Path(place).read_bytes())
                names_of.setdefault(status.st_ino, []).append(path)
                if status.st_mtime_ns <= 10**18:
                    what.append(status.st_mtime_ns)
            found[path] = what
    found["links"] = sorted(sorted(group) for group in names_of.values() if len(group) > 1)
    return found


def changed_by(program: list[Any], root: Path) -> None:
    subprocess.run([PYTHON, "-c", SCRIPT], input=json.dumps(program).encode(), cwd=root, check=True)


def test_what_a_plain_run_writes_through_a_link_is_nowhere(tmp_path: Path) -> None:
    """It was `/etc/passwd` that the links led to, of the machine on which root runs these tests."""
    assert not os.path.lexists(os.path.dirname(LEADS_OUT))
    through = [["write", "a", []], ["append", "a", [1]], ["truncate", "a", 0], ["chmod", "a", 0], ["mkdir", "a/b"]]

    changed_by([["symlink", LEADS_OUT, "a"], *through], tmp_path)

    assert os.readlink(tmp_path / "a") == LEADS_OUT
    assert not os.path.lexists(os.path.dirname(LEADS_OUT))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs, programs)
def test_merge_is_what_a_plain_run_would_have_left(before: list[Any], program: list[Any]) -> None:
    """For any tree and any program; and taking the merge back leaves it exactly as it was."""
    # A hard link that was there before is shown apart as soon as it is changed: see the documentation of the kernel.
    before = [step for step in before if step[0] != "link"]
    with tempfile.TemporaryDirectory() as directory:
        root, plain = Path(directory, "workspace"), Path(directory, "plain")
        root.mkdir()
        changed_by(before, root)
        shutil.copytree(root, plain, symlinks=True)
        place, original = Place(root), described(root)
        changed_by(program, plain)
        options: dict[str, Any] = {"stdin": json.dumps(program).encode()}

        undone = place.run([PYTHON, "-c", SCRIPT], commit=False, **options)
        assert described(root) == original
        ran = place.run([PYTHON, "-c", SCRIPT], **options)

        assert described(root) == described(plain)
        assert undone.ended.status == ran.ended.status == 0, ran.ended.stderr.text()
        # What is shown of an overlay before it is merged is what the record has afterwards.
        assert {change.path: change.kind for change in ran.shown} == ran.paths
        place.files.close()
