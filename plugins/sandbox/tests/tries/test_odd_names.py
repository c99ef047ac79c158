"""Names that programs give to files, and that no file tool would take: bytes that are no UTF-8, controls, backslashes."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from plugins.sandbox.tests.tries.conftest import Wink

NAMES = {
    b"a\xffb": '"a\\377b"',
    b"new\nline": '"new\\nline"',
    b"back\\slash": '"back\\\\slash"',
    b"tab\t\x1b[2J": '"tab\\t\\033[2J"',
    b"~": "~",
    b"c:d": "c:d",
    b"d\xfe": '"d\\376"',
    b"d\xfe/\xf0\x28.txt": '"d\\376/\\360(.txt"',
}
"""Each name, and how it is shown."""
_LINK = b"li\xfdnk"
_MAKE = f"""
import os
os.mkdir({b"d" + bytes([0xFE])!r})
for name in {[name for name in NAMES if name != b"d" + bytes([0xFE])]!r}:
    open(name, "w").write("x\\n")
os.symlink({b"a" + bytes([0xFF]) + b"b"!r}, {_LINK!r})
"""


def _found(root: Path) -> dict[bytes, bytes]:
    """Every path with what is in it, wink's own state and what the project had left out."""
    found: dict[bytes, bytes] = {}
    for above, directories, files in os.walk(os.fsencode(root)):
        for name in (*directories, *files):
            path = os.path.join(above, name)
            short = os.path.relpath(path, os.fsencode(root))
            if not short.startswith((b".wink", b"src", b"a.txt", b"run.sh")):
                is_file = os.path.isfile(path) and not os.path.islink(path)
                found[short] = Path(os.fsdecode(path)).read_bytes() if is_file else b""
    return found


@pytest.fixture
def tried(wink: Wink) -> Wink:
    """A try that has made all of them."""
    done = wink("try", "--", "/usr/bin/python3", "-c", _MAKE)
    assert done.returncode == 0, done.stderr
    for shown in NAMES.values():
        assert f"  + {shown}" in done.stderr.splitlines()
    return wink


def test_odd_names_are_accepted_shown_undone_and_redone(tried: Wink, place: Path) -> None:
    """One of them refused all that a program had done."""
    expected = {**dict.fromkeys(NAMES, b"x\n"), b"d\xfe": b"", _LINK: b""}

    accepted = tried("accept")

    assert (accepted.returncode, accepted.stderr) == (0, "")
    assert _found(place) == expected
    assert os.readlink(os.fsencode(place) + b"/" + _LINK) == b"a\xffb"
    for shown in NAMES.values():
        assert f"  + {shown}" in accepted.stdout.splitlines()
        assert shown.rstrip('"') in tried("show", "c1").stdout
    assert tried("undo").returncode == 0
    assert _found(place) == {}
    assert tried("redo").returncode == 0
    assert _found(place) == expected
    assert tried("checkpoint", "all", "--full").returncode == 0
    tried("try", "--", "/usr/bin/python3", "-c", "import os; os.unlink(b'a\\xffb'); os.unlink(b'new\\nline')")
    assert tried("accept").returncode == 0
    assert set(expected) - set(_found(place)) == {b"a\xffb", b"new\nline"}
    (place / os.fsdecode(b"d\xfe/\xf0\x28.txt")).unlink()
    assert tried("restore", "all").returncode == 0
    assert _found(place) == expected


def test_one_of_them_is_accepted_by_its_name(tried: Wink, place: Path) -> None:
    """As a shell gives it; what lies in a directory likewise."""
    assert tried("accept", os.fsdecode(b"a\xffb")).returncode == 0
    assert tried("accept", "new\nline").returncode == 0
    assert tried("drop", os.fsdecode(b"d\xfe")).returncode == 0

    assert set(_found(place)) == {b"a\xffb", b"new\nline"}
    assert "d\\376" not in tried("diff", "--name-only").stdout


def test_json_has_them_in_a_form_that_every_reader_takes(tried: Wink) -> None:
    """A lone half of a surrogate pair, as Python keeps such a byte, is an error to many."""
    tried("accept", "new\nline")
    outputs = [tried(*words).stdout for words in (("diff", "--json"), ("tries", "--json"))]
    tried("accept")
    outputs += [tried(*words).stdout for words in (("log", "--json"), ("show", "c2", "--json"), ("events",))]

    for text in outputs:
        assert not re.search(r"\\u[dD][89a-fA-F]", text), text
    shown = json.loads(outputs[3])["changes"]
    assert {change["path"] for change in shown} >= {'"a\\377b"', "back\\slash", '"d\\376/\\360(.txt"'}


def test_a_diff_of_them_is_one_that_git_applies(tried: Wink, place: Path) -> None:
    """It is git's own way to write such names."""
    tried("drop", os.fsdecode(_LINK))
    diff = "".join(line for line in tried("diff").stdout.splitlines(keepends=True) if "created a" not in line)
    other = place.parent / "other"
    other.mkdir()

    subprocess.run(["git", "apply"], input=diff, cwd=other, text=True, check=True)

    assert _found(other) == {**dict.fromkeys(NAMES, b"x\n"), b"d\xfe": b""}
