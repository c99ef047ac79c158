"""`wink accept -p` at a terminal, as a person uses it."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from plugins.sandbox.tests.tries.conftest import Wink, tree

LINES = "".join(f"{number}\n" for number in range(40))
CHANGED = r"""
sed -i -e 's/^3$/three/' -e 's/^5$/five/' -e 's/^30$/thirty/' src/long.txt
echo made > new.txt; rm a.txt; printf 'x\0y' > src/b.txt; chmod 755 run.sh
"""


class Person:
    """Somebody who reads what is on the screen before they type."""

    def __init__(self, place: Path, environment: dict[str, str], *words: str) -> None:
        self.screen, theirs = os.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "wink", *words],
            cwd=place,
            env={**environment, "NO_COLOR": "1"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.shown = ""
        self._seen = 0

    def until(self, text: str) -> str:
        """Read until something is there that was not yet read; what came until then."""
        while text not in self.shown[self._seen :]:
            assert select.select([self.screen], [], [], 60)[0], f"nothing more comes: {self.shown}"
            try:
                data = os.read(self.screen, 4096)
            except OSError:
                data = b""
            assert data, f"it ended: {self.shown}"
            self.shown += data.decode()
        begin, self._seen = self._seen, self.shown.index(text, self._seen) + len(text)
        return self.shown[begin : self._seen]

    def answer(self, question: str, key: str) -> str:
        """Wait for a question and type a line; what was shown before."""
        shown = self.until(f"{question} [")
        self.until("]? ")
        os.write(self.screen, f"{key}\n".encode())
        return shown

    def end(self) -> tuple[int, str]:
        """The exit status, and all that was shown after what was read."""
        while True:
            try:
                data = os.read(self.screen, 4096)
            except OSError:
                break
            if not data:
                break
            self.shown += data.decode()
        return self.process.wait(60), self.shown[self._seen :]


Sits = Callable[..., Person]


@pytest.fixture
def sits(place: Path, environment: dict[str, str]) -> Iterator[Sits]:
    """A person in front of a command."""
    people: list[Person] = []

    def sit(*words: str) -> Person:
        people.append(Person(place, environment, *words))
        return people[-1]

    yield sit
    for one in people:
        one.process.kill()
        one.process.wait()
        os.close(one.screen)


@pytest.fixture
def tried(wink: Wink, place: Path) -> Wink:
    """A try with hunks and with changes that have none."""
    (place / "src/long.txt").write_text(LINES)
    done = wink("try", "--", "sh", "-c", CHANGED)
    assert done.returncode == 0, done.stderr
    return wink


def _left(wink: Wink) -> list[str]:
    return [
        change["path"] for line in wink("tries", "--json").stdout.splitlines() for change in json.loads(line)["changes"]
    ]


def test_hunks_are_chosen_and_the_rest_stays(tried: Wink, place: Path, sits: Sits) -> None:
    """The diff shows the rest afterwards, undo takes back all that was chosen, and a second accept takes the rest."""
    before = tree(place)
    person = sits("accept", "-p")

    assert "deleted a file of 4 bytes" in person.until("(1/1) ") or "-one" in person.shown
    person.answer("Accept this change of a.txt", "n")
    assert "made" in person.answer("Accept this change of new.txt", "x")
    assert "q - leave this and all that follow" in person.answer("Accept this change of new.txt", "y")
    person.answer("Accept this change of run.sh", "y")
    person.answer("Accept this change of src/b.txt", "n")
    shown = person.answer("(1/2) Accept this hunk of src/long.txt", "s")
    assert "+three" in shown
    assert "+five" in shown
    shown = person.answer("(1/3) Accept this hunk of src/long.txt", "y")
    assert "+three" in shown
    assert "+five" not in shown
    assert "@@ -1,5 +1,5 @@" in shown
    person.answer("(2/3) Accept this hunk of src/long.txt", "n")
    person.answer("(3/3) Accept this hunk of src/long.txt", "y")
    status, rest = person.end()

    assert (status, "accepted (c1): 3 paths" in rest) == (0, True), person.shown
    assert (place / "src/long.txt").read_text() == LINES.replace("3\n", "three\n", 1).replace("30\n", "thirty\n")
    assert (place / "new.txt").read_text() == "made\n"
    assert (place / "run.sh").stat().st_mode & 0o777 == 0o755
    assert _left(tried) == ["a.txt", "src/b.txt", "src/long.txt"]
    diff = tried("diff").stdout
    assert "+five" in diff
    assert "three" not in [line.lstrip("+-") for line in diff.splitlines() if line[:1] in "+-"]
    assert "thirty" not in diff

    assert tried("undo").returncode == 0
    assert tree(place) == before
    assert tried("accept", "--dry-run", "src/long.txt").returncode == 0
    (place / "src/long.txt").chmod(0o600)
    assert tried("accept", "--dry-run", "src/long.txt").returncode == 0  # a mode that one side changed is merged
    (place / "src/long.txt").chmod(0o644)
    assert tried("redo").returncode == 0
    assert tried("accept").returncode == 0
    assert (place / "src/long.txt").read_text() == LINES.replace("3\n", "three\n", 1).replace(
        "5\n", "five\n", 1
    ).replace("30\n", "thirty\n")
    assert not (place / "a.txt").exists()
    assert _left(tried) == []


def test_all_the_rest_of_a_file_and_none_of_it(tried: Wink, place: Path, sits: Sits) -> None:
    """And to quit keeps what was chosen before; what is asked about can be named."""
    person = sits("accept", "--patch", "src/long.txt", "new.txt", "run.sh")
    person.answer("Accept this change of new.txt", "d")
    person.answer("Accept this change of run.sh", "a")
    person.answer("Accept this hunk of src/long.txt", "a")
    assert person.end()[0] == 0, person.shown
    assert "thirty" in (place / "src/long.txt").read_text()
    assert _left(tried) == ["a.txt", "new.txt", "src/b.txt"]

    person = sits("accept", "-p")
    person.answer("Accept this change of a.txt", "y")
    person.answer("Accept this change of new.txt", "q")
    assert person.end()[0] == 0, person.shown
    assert _left(tried) == ["new.txt", "src/b.txt"]

    person = sits("accept", "-p")
    person.answer("Accept this change of new.txt", "q")
    assert "nothing was chosen" in person.end()[1]
    assert _left(tried) == ["new.txt", "src/b.txt"]


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.parametrize("key", ["\x03", "\x04"])
def test_an_interruption_accepts_nothing(tried: Wink, place: Path, sits: Sits, key: str) -> None:
    """Ctrl-C in the middle, and the end of input: what is in doubt was not chosen."""
    before = tree(place)
    person = sits("accept", "-p")
    person.answer("Accept this change of a.txt", "y")
    person.until("Accept this change of new.txt [")
    person.until("]? ")
    if key == "\x03":
        # What comes between the question and the wait for its answer ends only the next wait.
        while _state(person.process.pid) != "S":
            time.sleep(0.001)
        person.process.send_signal(2)
    else:
        os.write(person.screen, key.encode())

    assert person.end()[0] == 130, person.shown
    assert tree(place) == before
    assert len(_left(tried)) == 5


def test_what_was_saved_while_a_person_thought_is_in_the_way(tried: Wink, place: Path, sits: Sits) -> None:
    """Nothing is accepted then, as without questions."""
    person = sits("accept", "-p", "src/long.txt", "run.sh")
    person.answer("Accept this change of run.sh", "y")
    person.answer("Accept this hunk of src/long.txt", "y")
    person.until("Accept this hunk of src/long.txt [")
    (place / "src/long.txt").write_text("mine\n")
    os.write(person.screen, b"n\n")
    status, rest = person.end()

    assert (status, "somebody outside of wink" in rest) == (2, True), person.shown
    assert (place / "src/long.txt").read_text() == "mine\n"
    assert (place / "run.sh").stat().st_mode & 0o777 != 0o755
    assert "src/long.txt" in _left(tried)


def test_what_was_deleted_while_a_person_thought_is_in_the_way(tried: Wink, place: Path, sits: Sits) -> None:
    """It cannot even be read any more, and nothing is made of the hunks alone."""
    person = sits("accept", "-p", "src/long.txt")
    person.answer("Accept this hunk of src/long.txt", "y")
    person.until("Accept this hunk of src/long.txt [")
    (place / "src/long.txt").unlink()
    os.write(person.screen, b"n\n")
    status, rest = person.end()

    assert (status, "src/long.txt" in rest, "Error" in rest) == (2, True, False), person.shown
    assert not (place / "src/long.txt").exists()
    assert "src/long.txt" in _left(tried)


def test_without_a_terminal_it_says_how_to_go_on(tried: Wink, place: Path) -> None:
    """Whoever answers in a script would answer to what they have not seen."""
    done = tried("accept", "-p", stdin="y\ny\ny\n")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        "wink: --patch asks at a terminal, and there is none; name PATHs instead, as in `wink accept 'src/*.py'`"
    ]
    assert tried("accept", "src/*.txt").returncode == 0
    assert "--patch" in tried("accept", "-p", "--dry-run").stderr
