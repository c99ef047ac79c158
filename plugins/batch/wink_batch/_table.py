"""Read tables of tasks: JSON lines, CSV or Parquet, in a file or at any fsspec URL, with all that is wrong said at once."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, cast

from wink_batch._errors import TableError
from wink_batch._task import Task, task_of

_COMPRESSED: Final = (".gz", ".bz2", ".xz", ".zst")
_CELL: Final = 1 << 24
_MOST: Final = 1 << 30
"""Bytes of a table, unpacked; a table of more tasks than fit is two tables."""

Row = tuple[str, dict[str, Any] | str]
"""A place in a table and what is there: a row, or what is wrong with it."""


def read_tasks(address: str, *, base: str | None = None) -> tuple[Task, ...]:
    """The tasks of a table; `address` is a path or an fsspec URL that ends in .jsonl, .csv, .tsv or .parquet.

    Paths of workspaces are relative to `base`, by default the table's own directory where it is a local file. Raises
    `TableError` with everything that is wrong.
    """
    reader = _reader(address)
    if base is None:
        base = "" if "://" in address else os.path.dirname(os.path.abspath(address))
    data = _content(address)
    return checked_tasks(reader(data), address, base=base)


def checked_tasks(rows: Iterable[Row], address: str, *, base: str = "") -> tuple[Task, ...]:
    """Tasks of rows with their places; raises `TableError`."""
    tasks: list[Task] = []
    problems: list[tuple[str, str]] = []
    places: dict[str, str] = {}
    for place, row in rows:
        if isinstance(row, str):
            problems.append((place, row))
            continue
        task, wrong = task_of(row, base=base)
        problems += ((place, problem) for problem in wrong)
        if task is None:
            continue
        if task.id in places:
            problems.append((place, f"$.id: {task.id!r} is already the id of {places[task.id]}"))
        places.setdefault(task.id, place)
        tasks.append(task)
    if not tasks and not problems:
        problems.append(("", "it has no rows; give each task one, with at least 'id' and 'prompt'"))
    if problems:
        raise TableError(address, problems)
    return tuple(tasks)


def _reader(address: str) -> Callable[[bytes], Iterator[Row]]:
    name = address.lower().split("?", 1)[0]
    for ending in _COMPRESSED:
        name = name.removesuffix(ending)
    for ending, reader in _READERS.items():
        if name.endswith(ending):
            return reader
    raise TableError(address, [("", f"its name must end in {', '.join(_READERS)}, so that it is clear how to read it")])


def _content(address: str) -> bytes:
    try:
        if "://" not in address and not address.lower().endswith(_COMPRESSED):
            with open(address, "rb") as file:
                return _whole(file, os.fstat(file.fileno()).st_size)
        import fsspec  # pyright: ignore[reportMissingTypeStubs]

        opening = cast("Any", fsspec).open
        with opening(address, "rb", compression="infer") as stream:
            return _whole(stream)
    except Exception as error:  # foreign code: any filesystem
        reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
        raise TableError(address, [("", str(reason))]) from error


def _whole(file: Any, size: int = 0) -> bytes:
    data: bytes = b"" if size > _MOST else file.read(_MOST + 1)
    if max(size, len(data)) > _MOST:
        raise OSError(errno.EFBIG, f"it is longer than {_MOST >> 20} MiB; make several tables of it")
    return data


def _json_lines(data: bytes) -> Iterator[Row]:
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip():
            continue
        place = f"line {number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield place, f"is not JSON: {error}"
            continue
        yield place, row if isinstance(row, dict) else 'must be an object, as in {"id": "1", "prompt": "…"}'


def _separated(separator: str) -> Callable[[bytes], Iterator[Row]]:
    def read(data: bytes) -> Iterator[Row]:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            yield f"line {data.count(10, 0, error.start) + 1}", "is not UTF-8"
            return
        csv.field_size_limit(_CELL)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        try:
            header = next(reader, list[str]())
            names = [name.strip() for name in header]
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                yield "line 1", f"names a column twice: {', '.join(map(repr, twice))}"
                return
            line = reader.line_num + 1
            for cells in reader:
                place, line = f"line {line}", reader.line_num + 1
                if not any(cell.strip() for cell in cells):
                    continue
                if len(cells) > len(names):
                    yield (
                        place,
                        f"has {len(cells)} cells, but there are {len(names)} columns; quote cells that hold {separator!r}",
                    )
                    continue
                yield place, dict(zip(names, cells, strict=False))
        except csv.Error as error:
            yield f"line {reader.line_num}", f"is not CSV: {error}"

    return read


def _parquet(data: bytes) -> Iterator[Row]:
    try:
        from importlib import import_module

        parquet: Any = import_module("pyarrow.parquet")
    except ImportError:
        yield "", "Parquet needs pyarrow; pip install 'wink[ray]'"
        return
    try:
        table: Any = parquet.read_table(io.BytesIO(data))
        rows: list[dict[str, Any]] = table.to_pylist()
    except Exception as error:  # foreign code
        yield "", f"is not Parquet: {error}"
        return
    for number, row in enumerate(rows, 1):
        yield f"row {number}", {key: _without_none(value) for key, value in row.items()}


def _without_none(value: Any) -> Any:
    """A table gives every object all the fields that any of them has."""
    if isinstance(value, dict):
        return {key: _without_none(inner) for key, inner in value.items() if inner is not None}  # pyright: ignore[reportUnknownVariableType]
    return value


_READERS: Final[dict[str, Callable[[bytes], Iterator[Row]]]] = {
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".csv": _separated(","),
    ".tsv": _separated("\t"),
    ".parquet": _parquet,
}
