"""Patterns that only an engine can search which may try for hours, and the process in which it does."""

import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wink.errors import PatternError
from wink.filesystem import InMemoryFilesystem
from wink.filesystem.search import _backtracking
from wink.filesystem.search._backtracking import Backtracking
from wink.filesystem.search._regex import Search, compiled

CATASTROPHIC = r"(a+)+$(?!b)"


def pid_of_worker() -> int:
    """The process that searches now."""
    assert _backtracking._worker is not None
    return _backtracking._worker._process.pid


def spans_of(search: Search, content: bytes) -> list[tuple[int, int]]:
    """The first match of each line, as grep asks for them."""
    spans: list[tuple[int, int]] = []
    at = 0
    while at < len(content) and (span := search(content, at)) is not None and span[0] < len(content):
        spans.append(span)
        at = content.find(b"\n", span[1]) + 1 or len(content)
    return spans


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        (r"(b)\1", [2]),
        (r"b(?=c)", [3]),
        (r"(?<!b)c", [1, 5]),
        (r"^(?!.*b)", [1, 4, 5]),
        (r"(?P<x>b)(?P=x)$", [2]),
        (r"(?>b+)b", []),
        (r"b++", [2, 3]),
        (r"\Ab(?=c)", [3]),
        (r"b\Z", [2]),
        (r"a{1001}", []),
        (r"(?=é)", [5]),
        ("(?i)(?=É)", [5]),
        (r"(?=\n)", []),
        (r"(?<=a)\W", [5]),
    ],
)
def test_what_re2_cannot_express_is_found(memory: InMemoryFilesystem, pattern: str, lines: list[int]) -> None:
    """Line by line as everything else, in files with either newline."""
    memory.write("a.txt", "ac\nabb\r\nbc\n\ncaé")

    assert [match.line_number for match in memory.grep(pattern)] == lines


def test_results_have_the_same_shape(memory: InMemoryFilesystem) -> None:
    """Characters, not bytes, and clipped around the match in a long line."""
    memory.write("a.txt", "été\nx été word\n" + "é" * 5000 + "needle" + "y" * 5000 + "\n")

    found = memory.grep("(?<= )word|ne(?=edle)edle")

    assert [(match.line_number, match.line_content[match.match_start : match.match_end]) for match in found] == [
        (2, "word"), (3, "needle"),
    ]  # fmt: skip
    assert (found[0].match_start, found[0].clipped) == (6, False)
    assert found[1].clipped
    assert memory.grep("(?=WORD)w", ignore_case=True)[0].match_start == 6
    assert memory.grep("(?=WORD)w") == ()


letters = st.sampled_from(["a", "b", "B", "é", " ", ".", "\n", "\r\n", "_", "9"])
texts = st.lists(letters, max_size=40).map("".join)
atoms = st.sampled_from(["a", "b", "é", ".", "[ab]", "[^a]", r"\w", r"\s", r"\b", "^", "$", "(a|b)", "(?:ab)", r"\d"])
patterns = st.lists(
    st.builds(lambda atom, times: atom + times, atoms, st.sampled_from(["", "", "?", "+", "*", "{1,2}", "+?"])),
    min_size=1,
    max_size=4,
).map("".join)


@given(pattern=patterns, text=texts, ignore_case=st.booleans(), pieces=st.integers(min_value=1, max_value=60))
def test_both_engines_agree(pattern: str, text: str, ignore_case: bool, pieces: int) -> None:
    """A pattern that both understand matches the same, whatever pieces the lines are sent in."""
    content = text.replace("\r\n", "\n").encode()
    try:
        theirs = compiled("(?:" + pattern + ")", ignore_case=ignore_case)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_backtracking, "_PIECE", pieces)
            patch.setattr(_backtracking, "_MOST", 1 + pieces % 3)
            ours = Backtracking("(?:" + pattern + ")", ignore_case=ignore_case)
            found = spans_of(ours, content)
    except PatternError:
        return  # what only one of them takes, such as `^*`
    assert found == spans_of(theirs, content)


def test_many_matches_come_in_several_answers(memory: InMemoryFilesystem) -> None:
    """An answer holds a thousand; a file in which every line matches is asked for again."""
    memory.write("a.txt", "ab\n" * 2500)

    found = memory.grep("a(?=b)", max_matches=10_000)

    assert [match.line_number for match in found] == list(range(1, 2501))
    assert memory.grep("a(?=b)", max_matches=2500).truncated is False
    assert memory.grep("a(?=b)", max_matches=2499).truncated


def test_large_files_and_lines_are_searched(memory: InMemoryFilesystem) -> None:
    """In pieces of whole lines, and a line of megabytes at once."""
    memory.write("lines.txt", "".join(f"{number:07d}\n" for number in range(300_000)))
    memory.write("line.txt", "x" * 3_000_000 + "end")

    assert [match.line_number for match in memory.grep("(?<=02)99999", glob="lines.txt")] == [300_000]
    assert [match.match_end for match in memory.grep("(?<=x)end")] == [128]


def test_a_catastrophic_pattern_is_given_up(memory: InMemoryFilesystem) -> None:
    """It would need 2**5000 steps; what is said tells a model what to do, and the next search goes on."""
    memory.write("a.txt", "a" * 5000 + "!\n")

    with pytest.raises(PatternError, match="takes too long; write it with fewer"):
        memory.grep(CATASTROPHIC)
    assert len(memory.grep("a(?=!)")) == 1


def test_many_slow_files_are_given_up_together(memory: InMemoryFilesystem) -> None:
    """A pattern that takes a tenth of a second for each of a thousand files must not take minutes."""
    for number in range(1000):
        memory.write(f"{number}.txt", "a" * 21 + "!\n")

    with pytest.raises(PatternError, match="takes too long"):
        memory.grep(r"(a|a)*$(?!b)")


def test_memory_is_bounded(memory: InMemoryFilesystem) -> None:
    """Each way back that the engine keeps costs memory; the machine's must not be the limit."""
    memory.write("a.txt", "ab" * 4_000_000)

    with pytest.raises(PatternError, match=r"too much memory|takes too long"):
        memory.grep(r"(?:(a)|b)*\1c")


def test_the_process_is_reused_and_nothing_leaks(memory: InMemoryFilesystem) -> None:
    """One process, two pipes, however often it is asked and killed."""
    memory.write("a.txt", "a" * 40 + "!\n")
    memory.grep("(?=a)")
    gc.collect()
    first, open_before = pid_of_worker(), len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        memory.grep("(?=a)")
    assert pid_of_worker() == first

    for _ in range(2):
        with pytest.raises(PatternError):
            memory.grep(CATASTROPHIC)
        memory.grep("(?=a)")

    assert pid_of_worker() != first
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == open_before


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP])
def test_a_process_that_somebody_killed_is_started_again(memory: InMemoryFilesystem, how: int) -> None:
    """The kernel, for one, when memory is short; one that was only stopped is given up in time, once."""
    memory.write("a.txt", "a\n")
    memory.grep("(?=a)")
    os.kill(pid_of_worker(), how)
    if how == signal.SIGSTOP:
        with pytest.raises(PatternError, match="takes too long"):
            memory.grep("(?=a)")

    assert len(memory.grep("(?=a)")) == 1


def test_threads_share_it(memory: InMemoryFilesystem) -> None:
    """Each gets its own answers, also beside one whose pattern kills the process."""
    for number in range(20):
        memory.write(f"{number}.txt", f"a{number}\n" + "a" * 30 + "!\n")
    outcomes: dict[int, object] = {}

    def search(number: int) -> None:
        try:
            outcomes[number] = [match.path for match in memory.grep(CATASTROPHIC if number == 0 else f"a(?={number}$)")]
        except PatternError as error:
            outcomes[number] = error

    threads = [threading.Thread(target=search, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert isinstance(outcomes.pop(0), PatternError)
    assert outcomes == {number: [f"{number}.txt"] for number in range(1, 20)}


def test_an_interrupted_search_leaves_no_answer_behind(
    memory: InMemoryFilesystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer that nobody waited for would be taken for that to the next question."""
    memory.write("a.txt", "ab\n")
    memory.grep("a(?=b)")
    read = _backtracking._Worker._read

    def interrupted(self: object, size: int, until: float) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(_backtracking._Worker, "_read", interrupted)
    with pytest.raises(KeyboardInterrupt):
        memory.grep("a(?=b)")
    monkeypatch.setattr(_backtracking._Worker, "_read", read)

    assert memory.grep("(?=q)") == ()
    assert len(memory.grep("a(?=b)")) == 1


@pytest.mark.parametrize("executable", ["", None, "/nowhere/python", "/bin/true", "/etc/passwd"])
def test_without_a_process_only_such_patterns_fail(
    memory: InMemoryFilesystem, monkeypatch: pytest.MonkeyPatch, executable: str | None
) -> None:
    """Where none can be started, or what is started is no Python: everything else can be searched."""
    memory.write("a.txt", "a\n")
    _backtracking._end()
    monkeypatch.setattr(sys, "executable", executable)

    with pytest.raises(PatternError, match="none can be started or kept here; write it without look-around"):
        memory.grep("(?=a)")
    assert len(memory.grep("[a]")) == 1


PROGRAM = """
import os, sys
from wink.filesystem import InMemoryFilesystem
from wink.filesystem.search import _backtracking
files = InMemoryFilesystem()
files.write("a.txt", "a\\n")
files.grep("(?=a)")
print(_backtracking._worker._process.pid, flush=True)
{then}
"""


def is_gone(pid: int) -> bool:
    """Whether a process has ended; a parent that died left it to somebody who may not have looked yet."""
    try:
        with open(f"/proc/{pid}/stat") as text:
            return text.read().rpartition(") ")[2].startswith("Z")
    except FileNotFoundError:
        return True


def wait_until(is_so: Callable[[], bool]) -> None:
    """Yield until something holds; the suite's timeout is the limit."""
    while not is_so():
        os.sched_yield()


@pytest.mark.parametrize("then", ["", "os._exit(0)", "os.kill(os.getpid(), 9)", "sys.exit(3)"])
def test_it_ends_with_its_parent(then: str) -> None:
    """However that ends, and with nothing said at the end."""
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM.format(then=then)], capture_output=True, check=False
    )

    wait_until(lambda: is_gone(int(run.stdout)))
    assert run.stderr == b""


def test_it_ends_with_its_parent_in_the_middle_of_a_search() -> None:
    """Nobody is left to kill it, so it has a timer of its own."""
    then = f'files.write("a.txt", "a" * 5000 + "!")\nos.register_at_fork\nfiles.grep({CATASTROPHIC!r})'
    with subprocess.Popen([sys.executable, "-c", PROGRAM.format(then=then)], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        wait_until(lambda: is_busy(worker))
        parent.kill()

    wait_until(lambda: is_gone(worker))


def is_busy(pid: int) -> bool:
    """Whether a process has used the processor for some time: what it does at its start takes less."""
    with open(f"/proc/{pid}/stat") as text:
        return int(text.read().rpartition(") ")[2].split()[11]) >= 20


def test_a_forked_child_starts_its_own(memory: InMemoryFilesystem) -> None:
    """Parent and child would read each other's answers."""
    memory.write("a.txt", "a\n")
    memory.grep("(?=a)")
    mine = pid_of_worker()
    child = os.fork()
    if not child:
        code = 1
        try:
            if _backtracking._worker is None and len(memory.grep("(?=a)")) == 1 and pid_of_worker() != mine:
                code = 0
            _backtracking._end()
        finally:
            os._exit(code)

    assert os.waitpid(child, 0)[1] == 0
    assert len(memory.grep("(?=a)")) == 1
    assert pid_of_worker() == mine
