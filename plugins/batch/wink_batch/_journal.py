"""What a batch keeps in its directory, so that any process can go on with it, or look at it, at any time.

    batch.json      the plan                      patches/   what each attempt changed
    tasks.jsonl     the tasks, as they were read  bundles/   its final state, for git
    attempts.jsonl  every attempt that came back  records/   its calls, and what it printed
    results.jsonl   one record a task             logs/      of the engine

Lines are only added. A task is over when its record is in `results.jsonl`; the files that it names were there before.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Final, Self, cast

from wink.errors import ParseError
from wink_batch._attempt import Key
from wink_batch._errors import BatchBusy, BatchDamaged, BatchError, UnknownTask
from wink_batch._lines import Lines, read_lines
from wink_batch._outcome import PASSING, Outcome, Usage
from wink_batch._plan import Plan
from wink_batch._results import Row, attempt_row, result_row
from wink_batch._task import Task, task_of

PLAN: Final = "batch.json"
RESULTS: Final = "results.jsonl"
_TASKS: Final = "tasks.jsonl"
_ATTEMPTS: Final = "attempts.jsonl"
_FORMAT: Final = 1
_FILES: Final = (("patch", "patches", ".patch"), ("bundle", "bundles", ".bundle"), ("record", "records", ".zip"))


class Journal:
    """A batch's directory, held by the one process that works on it; close it, or use it in a `with` block."""

    def __init__(self, directory: str) -> None:
        """Open what `begin` has made; raises `BatchBusy` and `BatchDamaged`."""
        self.directory = os.path.abspath(directory)
        self.plan = read_plan(self.directory)
        self._lock = os.open(os.path.join(self.directory, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BatchBusy(self.directory) from None
            self.tasks = {task.id: task for task in read_task_rows(self.directory)}
            self._attempts = Lines(os.path.join(self.directory, _ATTEMPTS))
            self._results = Lines(os.path.join(self.directory, RESULTS))
        except BaseException:
            os.close(self._lock)
            raise
        self.results: dict[str, Row] = {row["id"]: row for row in self._results.rows}
        """The records of the tasks that are over."""
        self._rows: dict[str, list[Row]] = {}
        for row in self._attempts.rows:
            self._rows.setdefault(row["task"], []).append(row)
        self.spent = sum((Outcome.from_row(row).usage for row in self._attempts.rows), Usage())
        """What all attempts that came back have used."""

    @classmethod
    def begin(cls, directory: str, plan: Plan, tasks: Sequence[Task]) -> Self:
        """Make the directory of a new batch; raises `BatchError` where there is one already."""
        path = os.path.abspath(directory)
        if os.path.exists(os.path.join(path, PLAN)):
            raise BatchError(
                f"{directory} has a batch in it; go on with it with --resume {directory}, or name another --out"
            )
        if os.path.isdir(path) and os.listdir(path):
            raise BatchError(f"{directory} has other files in it; name a new directory with --out")
        os.makedirs(path, exist_ok=True)
        try:
            os.close(os.open(os.path.join(path, "lock"), os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            raise BatchBusy(path) from None  # somebody else has begun one here just now
        rows = "".join(json.dumps(task.to_row()) + "\n" for task in tasks)
        _write(os.path.join(path, _TASKS), rows.encode())
        # The plan comes last: where it is, there is a batch.
        _write(os.path.join(path, PLAN), json.dumps({"format": _FORMAT, **plan.to_json()}, indent=2).encode())
        return cls(path)

    def replan(self, plan: Plan) -> None:
        """Go on with other limits."""
        self.plan = plan
        _write(os.path.join(self.directory, PLAN), json.dumps({"format": _FORMAT, **plan.to_json()}, indent=2).encode())

    # -- what there was

    def failures(self) -> dict[tuple[str, int], int]:
        """How many tries each attempt has used up."""
        found: dict[tuple[str, int], int] = {}
        for row in self._all():
            if row["status"] == "failed" and PASSING.get(row["cause"], True):
                one = row["task"], row["attempt"]
                found[one] = found.get(one, 0) + 1
        return found

    def over(self) -> set[tuple[str, int]]:
        """The attempts that are not to be begun again."""
        failures, found = self.failures(), set[tuple[str, int]]()
        for row in self._all():
            one = row["task"], row["attempt"]
            passing = row["status"] == "failed" and PASSING.get(row["cause"], True)
            is_final = row["status"] == "done" or (row["status"] == "failed" and not passing)
            if is_final or failures.get(one, 0) > self.plan.retries:
                found.add(one)
        return found

    def _all(self) -> Iterable[Row]:
        return (row for rows in self._rows.values() for row in rows)

    # -- what comes

    def came_back(self, key: Key, outcome: Outcome) -> None:
        """Keep an attempt that came back, with its files."""
        files = self._keep_files(key, outcome)
        row = attempt_row(key.task, key.number, key.trial, outcome, files)
        self._attempts.add([row])
        self._rows.setdefault(key.task, []).append(row)
        self.spent += outcome.usage

    def finish(self, task: str) -> Row:
        """Write the record of a task whose attempts are all over; once, however often this is called."""
        if task in self.results:
            return self.results[task]
        row = result_row(self.tasks[task], [one for one in self._rows[task] if one["status"] != "stopped"])
        self._results.add([row])
        self.results[task] = row
        return row

    def _keep_files(self, key: Key, outcome: Outcome) -> dict[str, str]:
        files: dict[str, str] = {}
        for name, folder, ending in _FILES:
            content: bytes = getattr(outcome, name)
            if content:
                place = os.path.join(folder, f"{key.name(self.plan.attempts)}{ending}")
                os.makedirs(os.path.join(self.directory, folder), exist_ok=True)
                _write(os.path.join(self.directory, place), content)
                files[name] = place
        return files

    def close(self) -> None:
        """Let others have the batch."""
        self._attempts.close()
        self._results.close()
        os.close(self._lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Batch:
    """A batch to look at, whoever may be working on it."""

    def __init__(self, directory: str) -> None:
        """Read what is there now; raises `BatchDamaged`."""
        self.directory = os.path.abspath(directory)
        self.plan = read_plan(self.directory)
        self.tasks = {task.id: task for task in read_task_rows(self.directory)}
        self.results: dict[str, Row] = {
            row["id"]: row for row in read_lines(os.path.join(self.directory, RESULTS)) if row["id"] in self.tasks
        }
        self._attempts: list[Row] | None = None

    @property
    def attempts(self) -> list[Row]:
        """Every attempt that came back, oldest first."""
        if self._attempts is None:
            self._attempts = read_lines(os.path.join(self.directory, _ATTEMPTS))
        return self._attempts

    def result(self, task: str) -> Row | None:
        """The record of a task, None while it has none; raises `UnknownTask`."""
        if task not in self.tasks:
            raise UnknownTask(task, self.directory)
        return self.results.get(task)

    def file(self, row: Row, name: str) -> bytes:
        """The content of a file that a record names (`patch`, `checkpoint`, `record`); empty where there is none."""
        place = row.get(name) or ""
        if not place or " " in place:
            return b""
        path = os.path.join(self.directory, place)
        if os.path.commonpath([self.directory, os.path.realpath(path)]) != os.path.realpath(self.directory):
            return b""
        with suppress(FileNotFoundError), open(path, "rb") as file:
            return file.read()
        return b""

    @property
    def is_running(self) -> bool:
        """Whether a process works on it now."""
        try:
            fd = os.open(os.path.join(self.directory, "lock"), os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
        except BlockingIOError:
            return True
        finally:
            os.close(fd)


def read_plan(directory: str) -> Plan:
    """The plan of a batch; raises `BatchDamaged`."""
    path = os.path.join(directory, PLAN)
    try:
        with open(path, encoding="utf-8") as file:
            values: object = json.load(file)
    except FileNotFoundError:
        raise BatchDamaged(directory, f"there is no {PLAN} in it; name the directory that --out named") from None
    except (OSError, ValueError) as error:
        raise BatchDamaged(path, str(error)) from None
    if not isinstance(values, dict):
        raise BatchDamaged(path, "it is no object")
    table = cast("dict[str, Any]", values)
    if table.get("format") != _FORMAT:
        raise BatchDamaged(
            path, f"it has the format {table.get('format')!r}, and this wink knows {_FORMAT}; use a newer one"
        )
    try:
        return Plan.from_json({key: value for key, value in table.items() if key != "format"})
    except (ParseError, ValueError) as error:
        raise BatchDamaged(path, str(error)) from None


def read_task_rows(directory: str) -> list[Task]:
    """The tasks of a batch; raises `BatchDamaged`."""
    path = os.path.join(directory, _TASKS)
    tasks: list[Task] = []
    for number, row in enumerate(read_lines(path), 1):
        task, problems = task_of(row, base="/")
        if task is None:
            raise BatchDamaged(path, f"line {number}: {'; '.join(problems)}")
        tasks.append(task)
    return tasks


def _write(path: str, content: bytes) -> None:
    """Write a file that is there as a whole or not at all."""
    with open(f"{path}.new", "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(f"{path}.new", path)
