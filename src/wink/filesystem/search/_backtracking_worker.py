"""The program that searches lines with Python's own engine; `_backtracking` runs it, and nothing imports it.

It runs alone (`-I -S`), reads requests and writes answers until its input ends. Whoever asks kills it when an answer takes
too long; should they be dead by then, a timer of its own does.
"""

import re
import signal
import struct
import sys
import time

REQUEST = struct.Struct("<IIII")  # bytes of the pattern, bytes of the lines, whether case is ignored, how many spans
ANSWER = struct.Struct("<BQI")  # what it is, microseconds of processor time, bytes that follow
SPANS, PART, REFUSED, TOO_LARGE = range(4)

_MEMORY = 512 << 20
_LONGEST = 3.0


def main() -> None:
    """Answer until nobody asks any more."""
    _bound_memory()
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    sink.write(b"!")
    sink.flush()
    while len(head := source.read(REQUEST.size)) == REQUEST.size:
        pattern_size, size, ignores_case, most = REQUEST.unpack(head)
        pattern, content = source.read(pattern_size), source.read(size)
        signal.setitimer(signal.ITIMER_PROF, _LONGEST)
        began = time.process_time()
        kind, answer = _answer(pattern.decode(), content, bool(ignores_case), most)
        took = time.process_time() - began
        signal.setitimer(signal.ITIMER_PROF, 0)
        sink.write(ANSWER.pack(kind, int(took * 1e6), len(answer)) + answer)
        sink.flush()


def _bound_memory() -> None:
    import resource

    try:
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    except (OSError, ValueError):
        pass  # it is less already, or the system does not know this limit


def _answer(pattern: str, content: bytes, ignores_case: bool, most: int) -> tuple[int, bytes]:
    # What RE2 means by \w, \d and \b is ASCII; where the pattern itself goes beyond that, case should, too.
    flags = re.ASCII if pattern.isascii() else re.NOFLAG
    try:
        expression = re.compile(pattern, flags | (re.IGNORECASE if ignores_case else re.NOFLAG))
        found = spans(expression, content, most)
    except (re.error, OverflowError, RecursionError, ValueError) as error:
        return REFUSED, str(error).encode(errors="replace")
    except MemoryError:
        return TOO_LARGE, b""
    return PART if len(found) == 2 * most else SPANS, struct.pack(f"<{len(found)}I", *found)


def spans(expression: re.Pattern[str], content: bytes, most: int) -> list[int]:
    """Where the first match of each line begins and ends, for the first `most` lines that have one."""
    found: list[int] = []
    start = 0
    is_plain = content.isascii()
    while start < len(content) and len(found) < 2 * most:
        stop = content.find(b"\n", start)
        stop = len(content) if stop < 0 else stop
        line = content[start:stop].decode(errors="surrogateescape")
        match = expression.search(line)
        if match is not None:
            first, last = match.span()
            if not is_plain:
                first, last = (len(line[:at].encode(errors="surrogateescape")) for at in (first, last))
            found += start + first, start + last
        start = stop + 1
    return found


if __name__ == "__main__":
    main()
