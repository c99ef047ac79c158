"""Give a program what comes from files, and take what goes to files, without giving it the files."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Final

_CHUNK: Final = 65536


@contextmanager
def passed(fds: tuple[int, int, int]) -> Generator[tuple[int, int, int]]:
    """Three streams of this process as a program may have them: pipes in the place of files.

    Whoever has a file's descriptor can open it again through /proc, to write what was only to be read, or all of what was
    only to be added to. When the block ends, all that was written has arrived. Of an input that is a file more
    may have been read than the program asked for.
    """
    theirs = list(fds)
    made: list[int] = []
    writers: list[threading.Thread] = []
    try:
        if _is_file(fds[0]):
            theirs[0], feed = os.pipe2(os.O_CLOEXEC)
            made.append(theirs[0])
            threading.Thread(target=_copy, args=(fds[0], feed, (feed,)), daemon=True).start()
        for number in (1, 2):
            if not _is_file(fds[number]):
                continue
            if number == 2 and theirs[1] != fds[1] and os.path.samestat(os.fstat(fds[1]), os.fstat(fds[2])):
                theirs[2] = theirs[1]  # one file, one order
                continue
            shown, theirs[number] = os.pipe2(os.O_CLOEXEC)
            made.append(theirs[number])
            writers.append(threading.Thread(target=_copy, args=(shown, fds[number], (shown,)), daemon=True))
            writers[-1].start()
        yield theirs[0], theirs[1], theirs[2]
    finally:
        for fd in made:
            os.close(fd)
        for writer in writers:
            writer.join()


def _is_file(fd: int) -> bool:
    mode = os.fstat(fd).st_mode
    return not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode))


def _copy(source: int, to: int, closed: tuple[int, ...]) -> None:
    # A pipe that nobody reads any more, a full disk: the program meets the same as without us, a closed pipe.
    try:
        with suppress(OSError):
            while data := os.read(source, _CHUNK):
                while data:
                    data = data[os.write(to, data) :]
    finally:
        for fd in closed:
            os.close(fd)
