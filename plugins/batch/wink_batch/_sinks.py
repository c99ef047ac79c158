"""Write the records of tasks somewhere else, too: to a file of JSON lines, or in parts to any fsspec URL.

A part is written once, under a name that says which it is, and which records are in it is kept before that. Whoever goes on
after a crash writes the last part again, with the same content, so that each record is there exactly once.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from wink_batch._errors import BatchError
from wink_batch._lines import Lines, read_lines
from wink_batch._results import Row

PART_ROWS: Final = 500
PART_SECONDS: Final = 30.0

_TEXTS: Final = (
    "id", "status", "verdict", "cause", "message", "text", "workspace", "base", "commit", "checkpoint", "patch", "record",
    "node", "started_at",
)  # fmt: skip
_WHOLE: Final = ("input_tokens", "output_tokens", "cached_tokens", "tokens", "calls", "attempt", "tries", "disk_bytes")
_PARTLY: Final = ("score", "cost", "seconds")


def sink(address: str, directory: str, rows: Mapping[str, Row]) -> LocalLines | Parts:
    """Where `address` leads: a local .jsonl file, or else a place for parts; `rows` are the records that there are.

    Raises `BatchError` for a name that ends in neither .jsonl nor .parquet.
    """
    name = address.rstrip("/").lower()
    if not name.endswith((".jsonl", ".parquet")):
        raise BatchError(f"results go to a name that ends in .jsonl or .parquet, and {address!r} does not")
    path = address.removeprefix("file://")
    if "://" not in path and name.endswith(".jsonl"):
        return LocalLines(path, rows)
    if name.endswith(".parquet"):
        _pyarrow()
    return Parts(address, directory, rows)


class LocalLines:
    """A local file of JSON lines; what it lacks of the records that there are, it is given first."""

    def __init__(self, path: str, rows: Mapping[str, Row]) -> None:
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        self._lines = Lines(path, shared=True)
        known = {row.get("id") for row in self._lines.rows}
        self._lines.add(row for name, row in rows.items() if name not in known)

    def add(self, row: Row) -> None:
        """A task is over."""
        self._lines.add([row])

    def turn(self) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Close the file."""
        self._lines.close()


class Parts:
    """Files of up to `PART_ROWS` records beneath a URL, a new one at least every `PART_SECONDS`."""

    def __init__(
        self, address: str, directory: str, rows: Mapping[str, Row], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.address = address.rstrip("/")
        self._encode, self._ending = (
            (_parquet, ".parquet") if self.address.lower().endswith(".parquet") else (_lines, ".jsonl")
        )
        self._clock, self._last = clock, clock()
        # Which records are in which part, in the order in which they were written.
        self._index = Lines(_index(directory, self.address))
        mine = self._index.rows
        self._number = len(mine)
        published = {name for row in mine for name in row["ids"]}
        if not mine:
            self._refuse_others()
        else:
            self._put(mine[-1]["part"], [rows[name] for name in mine[-1]["ids"] if name in rows])
        self._waiting: list[Row] = [row for name, row in rows.items() if name not in published]
        self._flush(all_of_it=False)

    def add(self, row: Row) -> None:
        """A task is over."""
        self._waiting.append(row)
        self._flush(all_of_it=False)

    def turn(self) -> None:
        """Write what has waited long enough."""
        if self._waiting and self._clock() - self._last >= PART_SECONDS:
            self._flush(all_of_it=True)

    def close(self) -> None:
        """Write what is left."""
        try:
            self._flush(all_of_it=True)
        finally:
            self._index.close()

    def _flush(self, *, all_of_it: bool) -> None:
        while len(self._waiting) >= (1 if all_of_it else PART_ROWS):
            rows, self._waiting = self._waiting[:PART_ROWS], self._waiting[PART_ROWS:]
            part = f"part-{self._number:05d}{self._ending}"
            self._index.add([{"address": self.address, "part": part, "ids": [row["id"] for row in rows]}])
            self._number += 1
            self._put(part, rows)
        self._last = self._clock()

    def _refuse_others(self) -> None:
        """Parts are numbered from nought on, and those of another batch would be written over."""
        import fsspec  # pyright: ignore[reportMissingTypeStubs]

        try:
            fs: Any
            fs, path = fsspec.core.url_to_fs(f"{self.address}/part-00000{self._ending}")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
            is_taken = fs.exists(path)
        except Exception as error:  # foreign code: any filesystem
            raise BatchError(f"{self.address} cannot be read: {type(error).__name__}: {error}"[:300]) from error
        if is_taken:
            self._index.close()
            raise BatchError(
                f"{self.address} has the records of another batch in it; name another place with --results"
            )

    def _put(self, part: str, rows: list[Row]) -> None:
        import fsspec  # pyright: ignore[reportMissingTypeStubs]

        content = self._encode(rows)
        place = f"{self.address}/{part}"
        try:
            fs: Any
            fs, path = fsspec.core.url_to_fs(place)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
            above = str(path).rpartition("/")[0]  # pyright: ignore[reportUnknownArgumentType]
            fs.makedirs(above, exist_ok=True)
            fs.pipe_file(path, content)
        except Exception as error:  # foreign code: any filesystem
            text = f"{type(error).__name__}: {error}"[:300]
            raise BatchError(
                f"{place} cannot be written: {text}; nothing is lost, --resume writes it when it can be"
            ) from error


def published(directory: str, address: str) -> tuple[str, ...]:
    """The ids that were written to an address, in their order."""
    return tuple(name for row in read_lines(_index(directory, address.rstrip("/"))) for name in row["ids"])


def _index(directory: str, address: str) -> str:
    return os.path.join(directory, f"published-{hashlib.sha256(address.encode()).hexdigest()[:12]}.jsonl")


def _lines(rows: list[Row]) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=True, default=str).encode() + b"\n" for row in rows)


def _pyarrow() -> Any:
    from importlib import import_module

    try:
        import_module("pyarrow.parquet")
        return import_module("pyarrow")
    except ImportError:
        from wink.errors import ExtraMissing

        raise ExtraMissing("writing Parquet", "ray", "pyarrow") from None


def _parquet(rows: list[Row]) -> bytes:
    """One file; what has no fixed shape, the output and the single attempts, is JSON text in it."""
    pyarrow = _pyarrow()
    fields = [(name, pyarrow.string()) for name in _TEXTS]
    fields += [(name, pyarrow.int64()) for name in _WHOLE]
    fields += [(name, pyarrow.float64()) for name in _PARTLY]
    fields += [("passed", pyarrow.bool_()), ("changed", pyarrow.list_(pyarrow.string()))]
    fields += [("output", pyarrow.string()), ("attempts", pyarrow.string())]
    shaped = [{**row, "output": _json(row.get("output")), "attempts": _json(row.get("attempts"))} for row in rows]
    cleaned = [{name: _plain(row.get(name)) for name, _ in fields} for row in shaped]
    table = pyarrow.Table.from_pylist(cleaned, schema=pyarrow.schema(fields))
    buffer = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(table, buffer)
    return buffer.getvalue().to_pybytes()


def _json(value: object) -> str | None:
    return None if value is None else json.dumps(value, default=str)


def _plain(value: Any) -> Any:
    """Text as Parquet takes it: a model may have said half a character."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list):
        return [_plain(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return value
