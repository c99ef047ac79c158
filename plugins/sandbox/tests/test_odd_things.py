"""What programs do that a workspace cannot or must not take over, and what they find that an overlay cannot show."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from plugins.sandbox.tests.conftest import Place

from wink.errors import MergeConflict, SandboxUnavailable
from wink.filesystem import program_state
from wink_sandbox import (
    PROGRAMS,
    Command,
    Overlay,
    check_mounts,
    differences,
    forget,
    fresh_name,
    merge,
    words_of,
)

NAMES = {
    "control characters": ("printf x > \"$(printf 'a\\001b')\"", b"a\x01b"),
    "a name that is no text": ("printf x > \"$(printf 'a\\377b')\"", b"a\xffb"),
    "a name that no Windows has": ("printf x > aux.txt", b"aux.txt"),
    "a backslash": ("printf x > 'a\\b'", b"a\\b"),
}


@pytest.mark.parametrize("name", NAMES)
def test_names_that_file_tools_refuse_are_carried_over(place: Place, name: str) -> None:
    """Models confuse such names, programs make them on purpose; one of them refused everything that a program had done."""
    script, path = NAMES[name]

    ran = place.run(f"echo x > fine; {script}")

    assert (place.root / os.fsdecode(path)).read_text() == "x"
    assert ran.paths == {"fine": "created", os.fsdecode(path): "created"}


def test_special_files_are_left_out_and_named(place: Place) -> None:
    """Nobody could read them, and some programs would wait for them forever."""
    ran = place.run("mkfifo pipe; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'; echo x > a")

    assert dict(ran.found.notes) == {"pipe": "is a FIFO, which is not kept", "sock": "is a socket, which is not kept"}
    assert ran.paths == {"a": "created"}


def test_special_bits_are_taken_off(place: Place) -> None:
    """A program must not leave a file behind that gives others its rights; a directory's group bit does no harm."""
    ran = place.run(
        "cp /bin/true mine; chmod 6755 mine; mkdir -m 2775 shared; touch a; chmod 4644 a; mkdir -m 1777 tmp"
    )

    modes = {name: (place.root / name).stat().st_mode & 0o7777 for name in ("mine", "shared", "a", "tmp")}
    assert modes == {"mine": 0o755, "shared": 0o2775, "a": 0o644, "tmp": 0o1777}
    assert ran.ended.status == 0


def test_marks_of_an_overlay_cannot_be_forged(place: Place) -> None:
    """An attribute that hides a directory's content from the next overlay does not get into the workspace."""
    (place.root / "d").mkdir()
    (place.root / "d/a").write_text("a")

    place.run(["/usr/bin/python3", "-c", "import os; os.setxattr('d', 'user.overlay.opaque', b'y'); open('d/b', 'w')"])

    assert os.listxattr(place.root / "d") == []
    assert place.run("ls d").stdout == "a\nb\n"


def test_own_attributes_are_carried(place: Place) -> None:
    """Also when nothing else of the file changed."""
    (place.root / "a").write_text("a")

    place.run(["/usr/bin/python3", "-c", "import os; os.setxattr('a', 'user.mine', b'1')"])

    assert os.getxattr(place.root / "a", "user.mine") == b"1"


def test_attributes_of_directories(place: Place) -> None:
    """New ones have theirs; of those that were there already they stay, which is said."""
    (place.root / "old").mkdir()
    code = "import os; os.mkdir('new'); [os.setxattr(name, 'user.mine', b'1') for name in ('new', 'old')]"

    ran = place.run(["/usr/bin/python3", "-c", code])

    assert os.getxattr(place.root / "new", "user.mine") == b"1"
    assert os.listxattr(place.root / "old") == []
    assert "extended attributes" in dict(ran.found.notes)["old"]


def test_file_can_be_moved_while_others_work_beside_it(place: Place) -> None:
    """It is not missed at its new name; but one that somebody deleted is."""
    (place.root / "a").write_text("a")
    (place.root / "c").write_text("c")
    overlay, part = place.overlay(), place.files.begin()
    overlay.open()
    try:
        place.sandbox.run(Command(words_of("mv a b"), env={"PATH": "/usr/bin:/bin"}), overlay)
        (place.root / "other").write_text("somebody else's")
        merge(differences(overlay), part)
        assert (place.root / "b").read_text() == "a"
        part.undo()
        place.sandbox.run(Command(words_of("echo more >> c"), env={"PATH": "/usr/bin:/bin"}), overlay)
        (place.root / "c").unlink()
        with pytest.raises(MergeConflict) as caught:
            merge(differences(overlay).only(["c"]), place.files.begin())
        assert caught.value.paths == ("c",)
    finally:
        overlay.drop()


def test_opening_a_file_for_writing_is_no_change(place: Place) -> None:
    """The kernel copies it then, but nothing is different."""
    (place.root / "a").write_text("a")

    ran = place.run("exec 3>>a; touch -r a a")

    assert ran.paths == {}
    assert not ran.found


def test_a_deep_tree_and_a_large_file(place: Place) -> None:
    """Neither depth nor size is special."""
    deep = "/".join(["d" * 20] * 60)

    place.run(f"mkdir -p {deep}; echo x > {deep}/a; head -c 50000000 /dev/zero > big")

    assert (place.root / deep / "a").read_text() == "x\n"
    assert (place.root / "big").stat().st_size == 50_000_000


def test_odd_root(tmp_path: Path) -> None:
    """The workspace's own path may have letters in it that mount options have a meaning for."""
    root = tmp_path / "a:b,c\\d é"
    root.mkdir()
    place = Place(root)

    assert place.run("pwd; echo x > a").stdout == f"{root}\n"
    assert (root / "a").read_text() == "x\n"
    place.files.close()


def test_workspace_with_another_mount_in_it_is_refused(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """An overlay would show an empty directory there."""
    import builtins

    lines = f"1 2 0:1 / {place.root}/data rw - ext4 /dev/x rw\n"
    (place.root / "mountinfo").write_text(lines)
    real = open
    monkeypatch.setattr(
        builtins,
        "open",
        lambda path, *a, **k: real(place.root / "mountinfo" if path == "/proc/self/mountinfo" else path, *a, **k),
    )

    with pytest.raises(SandboxUnavailable, match="'data'"):
        check_mounts(str(place.root))


def test_two_processes_run_programs_at_the_same_time(place: Place) -> None:
    """Each has an overlay of its own, and both merge."""
    code = (
        "import sys; from pathlib import Path; from plugins.sandbox.tests.conftest import Place\n"
        f"place = Place(Path({str(place.root)!r}))\n"
        "overlay = place.overlay(); overlay.open()\n"
        "from wink_sandbox import Command, words_of, differences, merge\n"
        "place.sandbox.run(Command(words_of(sys.argv[1]), env={'PATH': '/usr/bin:/bin'}), overlay,"
        " on_output=lambda *said: (print('started', flush=True), sys.stdin.readline()))\n"
        "part = place.files.begin(); place.files.turns.acquire(30)\n"
        "merge(differences(overlay), part); part.prepare(); part.publish(); place.files.turns.release(); overlay.drop()\n"
    )
    scripts = [f"echo {name} > {name}; echo ready; mkdir -p shared; echo {name} > shared/{name}" for name in "ab"]
    both = [
        subprocess.Popen(
            [sys.executable, "-c", code, script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[3],
        )
        for script in scripts
    ]
    for one in both:
        assert one.stdout is not None
        assert one.stdout.readline() == b"started\n"
    for one in both:
        one.communicate(b"go\n", timeout=60)
        assert one.returncode == 0

    assert sorted(path.name for path in (place.root / "shared").iterdir()) == ["a", "b"]
    assert (place.root / "a").read_text() == "a\n"


def test_part_of_an_overlay_can_be_merged_and_the_rest_later(place: Place) -> None:
    """What is merged is gone from the overlay, what is not can still be run on, looked at and merged."""
    (place.root / "old").mkdir()
    (place.root / "old/file").write_text("x")
    overlay = Overlay(str(place.root), f"{program_state(place.files)}/{PROGRAMS}/{fresh_name()}")
    overlay.open()
    try:
        script = "rm -r old; mkdir -p new/deep; echo 1 > new/deep/one; echo 2 > new/two; ln -s two new/link"
        place.sandbox.run(Command(words_of(script), env={"PATH": "/usr/bin:/bin"}), overlay)
        first = differences(overlay).only(["new/deep"])
        part = place.files.begin()
        place.files.turns.acquire(10)
        merge(first, part, keep=True)
        part.prepare()
        part.publish()
        forget(first)
        assert (place.root / "new/deep/one").read_text() == "1\n"
        assert not (place.root / "new/two").exists()
        assert (place.root / "old/file").exists()

        rest = differences(overlay)
        assert [change.path for change in rest.changes()] == ["new/link", "new/two", "old", "old/file"]
        part = place.files.begin()
        merge(rest, part)
        part.prepare()
        part.publish()
        place.files.turns.release()
    finally:
        overlay.drop()
    assert not (place.root / "old").exists()
    assert os.readlink(place.root / "new/link") == "two"
