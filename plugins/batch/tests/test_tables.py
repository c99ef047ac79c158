"""Tables of tasks: three formats that say the same, and everything that is wrong said at once."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import fsspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wink_batch import Source, TableError, Task, read_tasks, source
from wink_batch._task import is_task_id, task_of

ROWS: list[dict[str, Any]] = [
    {"id": "one", "prompt": "Tidy, please\nall of it", "workspace": "repo", "params.style": "short"},
    {
        "id": "two",
        "prompt": "\u00dcbung",
        "workspace": "https://example.org/p.git",
        "revision": "v1",
        "model": "openai:x",
    },
]


def as_jsonl(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def as_csv(rows: list[dict[str, Any]]) -> bytes:
    import csv

    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, names)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def as_parquet(rows: list[dict[str, Any]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet

    names = list(dict.fromkeys(name for row in rows for name in row))
    table = pa.Table.from_pylist([{name: row.get(name) for name in names} for row in rows])
    buffer = pa.BufferOutputStream()
    pyarrow.parquet.write_table(table, buffer)
    return buffer.getvalue().to_pybytes()


EXPECTED = (
    Task("one", "Tidy, please\nall of it", Source("directory", "/base/repo"), {"style": "short"}),
    Task("two", "\u00dcbung", Source("git", "https://example.org/p.git", "v1"), {}, "openai:x"),
)


@pytest.mark.parametrize(("ending", "write"), [(".jsonl", as_jsonl), (".csv", as_csv), (".parquet", as_parquet)])
def test_every_format_says_the_same(tmp_path: Path, ending: str, write: Any) -> None:
    """From a file, packed or not, and from any filesystem."""
    content = write(ROWS)
    place = tmp_path / f"tasks{ending}"
    place.write_bytes(content)
    assert read_tasks(str(place), base="/base") == EXPECTED
    (tmp_path / f"tasks{ending}.gz").write_bytes(gzip.compress(content))
    assert read_tasks(f"{place}.gz", base="/base") == EXPECTED
    with fsspec.open(f"memory://tables/tasks{ending}", "wb") as stream:
        stream.write(content)
    assert read_tasks(f"memory://tables/tasks{ending}", base="/base") == EXPECTED


def test_everything_that_is_wrong_is_said_at_once_with_its_line(tmp_path: Path) -> None:
    """A person fixes a table once, not once for each mistake."""
    lines = [
        '{"id": "a", "prompt": "x"}',
        "",
        '{"id": "a", "prompt": "x"}',
        "[1]",
        "{bad",
        '{"id": "../x", "prompt": 3, "colour": "red", "params": []}',
        '{"id": "b"}',
        '{"id": "c", "prompt": "x", "revision": "main"}',
        '{"id": "d", "prompt": "x", "workspace": "~/x"}',
        '{"id": "e", "prompt": "x", "workspace": "r.git", "revision": "--upload-pack=x"}',
    ]
    place = tmp_path / "tasks.jsonl"
    place.write_text("\n".join(lines) + "\n")
    with pytest.raises(TableError) as caught:
        read_tasks(str(place))
    places = [at for at, _ in caught.value.problems]
    assert places == ["line 3", "line 4", "line 5", *["line 6"] * 4, "line 7", "line 8", "line 9", "line 10"]
    assert "line 3: $.id: 'a' is already the id of line 1" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.txt", b"", "its name must end in .jsonl"),
        ("t.jsonl", b"", "it has no rows"),
        ("t.csv", b"id,id\n1,2\n", "names a column twice: 'id'"),
        ("t.csv", b"id,prompt\n1,a,b\n", "line 2: has 3 cells, but there are 2 columns"),
        ("t.csv", b'id,prompt\n1,"a\n', "is not CSV"),
        ("t.csv", b"id,prompt\n1,\xff\n", "line 2: is not UTF-8"),
        ("t.parquet", b"no", "is not Parquet"),
    ],
)
def test_a_table_that_is_none_gives_one_clear_error(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    """It says what to do, or where to look."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError) as caught:
        read_tasks(str(tmp_path / name))
    assert said in str(caught.value)


def test_lines_of_csv_are_counted_as_an_editor_counts_them(tmp_path: Path) -> None:
    """A cell can have several."""
    (tmp_path / "t.csv").write_text('id,prompt\na,"1\n2\n3"\n,x\n')
    with pytest.raises(TableError) as caught:
        read_tasks(str(tmp_path / "t.csv"))
    assert [at for at, _ in caught.value.problems] == ["line 5"]


names = st.text(st.sampled_from("abcXYZ019_-+."), min_size=1, max_size=12).filter(is_task_id)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
places = st.sampled_from(["", "repo", "/abs/dir", "r.git", "s3://b/p", "zip://x::file:///y.zip", "git@host:a/b.git"])


@given(
    names,
    st.text(min_size=1, max_size=20).filter(str.strip),
    places,
    st.dictionaries(st.text("ab", min_size=1, max_size=3), values),
)
def test_a_task_is_read_back_as_it_was_written(name: str, prompt: str, place: str, params: dict[str, Any]) -> None:
    """What a batch keeps of its table means the same to whoever goes on with it, wherever they are."""
    task, problems = task_of({"id": name, "prompt": prompt, "workspace": place, "params": params}, base="/somewhere")
    assert task is not None, problems
    again, problems = task_of(json.loads(json.dumps(task.to_row())), base="/elsewhere")
    assert again == task, problems


@given(st.dictionaries(st.sampled_from(["id", "prompt", "workspace", "revision", "params", "model", "x"]), values))
def test_no_row_makes_reading_fail(row: dict[str, Any]) -> None:
    """Whatever is in it, there is a task or a list of problems."""
    task, problems = task_of(row)
    assert (task is None) == bool(problems)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("https://example.org/p.git", "git"),
        ("git+ssh://host/p", "git"),
        ("git@host:p/q.git", "git"),
        ("p.git", "git"),
        ("https://example.org/files", "url"),
        ("s3://bucket/p", "url"),
        ("p.zip", "url"),
        ("file:///p", "directory"),
        ("p", "directory"),
    ],
)
def test_addresses_are_known_by_their_looks(text: str, kind: str) -> None:
    """And an object says it outright."""
    assert source(text, base="/b").kind == kind
    assert source({"directory": "p.git"}, base="/b") == Source("directory", "/b/p.git")


def test_passwords_in_addresses_are_not_shown() -> None:
    """Records and messages name workspaces."""
    assert str(source("https://me:secret@example.org/p.git", "main")) == "https://***@example.org/p.git@main"


def test_a_table_without_end_is_refused(tmp_path: Path) -> None:
    """A table may have come with a repository, and a sparse file costs whoever made it nothing."""
    with (tmp_path / "tasks.jsonl").open("wb") as file:
        file.truncate(8 << 30)

    with pytest.raises(TableError, match="longer than 1024 MiB"):
        read_tasks(str(tmp_path / "tasks.jsonl"))
