"""Read a table of what rules are expected to do, which lies in the workspace and is anybody's until it is proved otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from wink.bounded import SETTINGS, content, toml
from wink.cli import nearest, table_lines, wrong

SUBJECTS: Final = ("tool", "read", "write", "host", "command")
"""What can be asked about; a table has one of these."""
ANSWERS: Final = ("allow", "deny", "ask")
_KEYS: Final = (*SUBJECTS, "arguments", "expect", "by", "reason", "rule")
_TABLE: Final = "test"
_MOST: Final = 10_000
_LONGEST: Final = 10_000
_PROBLEMS: Final = 20


class Expectation(NamedTuple):
    """What is expected of one subject: `about` a tool, or what reads, writes, reaches or runs it; `by` of one of those alone."""

    place: str
    about: str
    subject: str
    arguments: Mapping[str, Any]
    expect: str
    by: str
    reason: str
    rule: str


def read_table(path: str) -> tuple[Expectation, ...]:
    """The expectations in a file; wrong input, with the lines, for one that has none or says something else."""
    try:
        data = content(path, most=SETTINGS)
    except (OSError, ValueError) as error:  # a path may have a null in it
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise wrong(f"cannot read {path!r}: {reason}") from error
    try:
        document, text = toml(data), data.decode()
    except ValueError as error:
        raise wrong(f"{path}: is not TOML: {error}") from error
    tables: Any = document.pop(_TABLE, [])
    if document:
        key = next(iter(document))
        raise wrong(f"{path}: there is no key {key[:80]!r}; write tables that begin with [[{_TABLE}]]")
    if not isinstance(tables, list) or not tables:
        raise wrong(f"{path}: nothing is expected, so nothing could fail; write tables that begin with [[{_TABLE}]]")
    given = cast("list[Any]", tables)
    lines = table_lines(text, _TABLE)
    places = [f"{path}:{line}" for line in lines] if len(lines) == len(given) else [path] * len(given)
    return _expectations(path, list(zip(places, given, strict=True)))


def _expectations(path: str, tables: Sequence[tuple[str, Any]]) -> tuple[Expectation, ...]:
    found, problems = list[Expectation](), list[str]()
    for place, table in tables:
        wrongs = [f"{place}: {problem}" for problem in _problems(table)]
        problems += wrongs
        found += () if wrongs else _read(place, table)
        if len(found) > _MOST:
            raise wrong(f"{path}: more than {_MOST} are expected; make several files of it")
        if len(problems) > _PROBLEMS:
            break
    if problems:
        more = "; and more" if len(problems) > _PROBLEMS else ""
        raise wrong("; ".join(problems[:_PROBLEMS]) + more)
    return tuple(found)


def _read(place: str, table: Mapping[str, Any]) -> Iterator[Expectation]:
    about = next(key for key in SUBJECTS if key in table)
    subjects: Any = table[about]
    more = (table["expect"], *(table.get(key, "") for key in ("by", "reason", "rule")))
    for subject in [subjects] if isinstance(subjects, str) else cast("list[str]", subjects):
        yield Expectation(place, about, subject, table.get("arguments", {}), *more)


def _problems(table: Any) -> Iterator[str]:
    if not isinstance(table, Mapping):
        yield f"a test must be a table, not {type(cast('object', table)).__name__}"
        return
    said = cast("Mapping[str, Any]", table)
    for key in said:
        if key not in _KEYS:
            yield f"a test has no key {key[:80]!r}; {nearest(key, _KEYS, otherwise=f'it has {_or(_KEYS)}')}"
    given = [key for key in SUBJECTS if key in said]
    if len(given) != 1:
        yield f"a test is about one of {_or(SUBJECTS)}, and this {'is about ' + ' and '.join(given) if given else 'says none'}"
    for key in given:
        yield from (f"{key} {problem}" for problem in _subject_problems(said[key], key))
    if said.get("expect") not in ANSWERS:
        yield f"expect must be {_or(map(repr, ANSWERS))}"
    for key in ("by", "reason", "rule"):
        if key in said and (not isinstance(said[key], str) or not said[key]):
            yield f"{key} must be a text"
    if "arguments" in said and ("tool" not in said or not isinstance(said["arguments"], Mapping)):
        yield "arguments must be a table, of a tool"


def _subject_problems(value: Any, key: str) -> Iterator[str]:
    is_list = isinstance(value, list) and key != "tool"
    subjects: list[Any] = cast("list[Any]", value) if is_list else [value]
    if not subjects:
        yield "is an empty list, of which nothing could fail"
    for one in subjects:
        if not isinstance(one, str) or not one or "\0" in one or len(one) > _LONGEST:
            several = "" if key == "tool" else ", or a list of them"
            yield f"must be a text of 1 to {_LONGEST} characters{several}"
            return


def _or(words: Any) -> str:
    known = list(words)
    return f"{', '.join(known[:-1])} or {known[-1]}"
