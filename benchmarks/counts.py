"""What a call in a workspace asks of the kernel, of SQLite and of Python: counted, so that it is the same on every machine.

    python -m benchmarks.counts

A call that does nothing, one that overwrites a file of 1.5 KB, and one that fails after it has. System calls are counted by
strace. Python's are those of functions, of wink's and of the libraries below it.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.conftest import Calls
from wink.workspace import Workspace

KINDS = ("noop", "write", "fail")
_MARK = "/wink-counts-"
_WARM, _EACH = 20, 5


def counts(*, system_calls: bool = True) -> dict[str, dict[str, int]]:
    """By kind of call: its system calls, where strace is there and may trace, its SQL statements and its Python calls."""
    found = json.loads(_run([sys.executable, "-m", "benchmarks.counts", "--in-process"]))
    if system_calls:
        for kind, number in _system_calls().items():
            found[kind]["system calls"] = number
    return found


def _run(command: list[str]) -> str:
    home = Path(__file__).parent.parent
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=home).stdout


def _system_calls() -> dict[str, int]:
    """Between two marks, which are files that are not there; raises `CalledProcessError` where nobody may trace."""
    with tempfile.TemporaryDirectory() as place:
        log = Path(place, "log")
        _run(["strace", "-qq", "-o", str(log), sys.executable, "-m", "benchmarks.counts", "--marked"])
        numbers: dict[str, list[int]] = {kind: [] for kind in KINDS}
        number = 0
        for line in log.read_text(errors="replace").splitlines():
            if _MARK in line:
                kind, _, edge = line.partition(_MARK)[2].partition('"')[0].partition("-")
                if edge == "end":
                    numbers[kind].append(number)
                number = 0
            else:
                number += 1
    return {kind: sorted(found)[len(found) // 2] for kind, found in numbers.items()}


def _counted(calls: Calls, kind: str, statements: list[str]) -> dict[str, int]:
    entered = 0

    def note(_: object, event: str, __: object) -> None:
        nonlocal entered
        entered += event in ("call", "c_call")

    found: list[tuple[int, int]] = []
    for _ in range(_EACH):
        statements.clear()
        entered = 0
        sys.setprofile(note)
        calls(kind)
        sys.setprofile(None)
        found.append((len(statements), entered))
    said, made = sorted(found)[_EACH // 2]
    return {"SQL statements": said, "Python calls": made}


def main(how: str = "") -> None:
    """Count in this process, or mark what strace is to count, or print all of it."""
    if not how:
        has_strace = shutil.which("strace") is not None
        for kind, numbers in counts(system_calls=has_strace).items():
            print(f"{kind:6}", ", ".join(f"{number} {name}" for name, number in numbers.items()))
        if not has_strace:
            print("system calls are not counted: strace is not installed", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as place:
        Path(place, "dir/sub").mkdir(parents=True)
        with Workspace.open(place) as workspace:
            calls = Calls(workspace.filesystem, workspace.session("s"))
            for kind in ("write", *KINDS) * _WARM:
                calls(kind)
            gc.disable()  # what it would end is not of these calls
            if how == "--marked":
                for kind in KINDS:
                    calls(kind)
                    for _ in range(_EACH):
                        os.path.exists(f"{_MARK}{kind}-begin")
                        calls(kind)
                        os.path.exists(f"{_MARK}{kind}-end")
                return
            statements: list[str] = []
            for one in gc.get_objects():
                if isinstance(one, sqlite3.Connection):
                    one.set_trace_callback(statements.append)
            print(json.dumps({kind: _counted(calls, kind, statements) for kind in KINDS}))


if __name__ == "__main__":
    main(*sys.argv[1:])
