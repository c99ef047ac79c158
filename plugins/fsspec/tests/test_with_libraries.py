"""pandas, pyarrow and duckdb read and write these files, and a call takes back what they wrote."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import fsspec
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

from wink.filesystem import Filesystem, FileTransaction
from wink_fsspec import FilesystemView

FRAME = pd.DataFrame({"name": ["a", "b", "c"], "count": [1, 2, 3]})


@pytest.fixture
def part(files: Filesystem) -> FileTransaction:
    """A call on files of each kind, which already hold a table."""
    with files.fs.open("table.csv", "w", newline="") as text:
        FRAME.to_csv(text, index=False)
    return files.begin()


@pytest.fixture
def view(part: FileTransaction) -> FilesystemView:
    """What the call's tools hand to libraries."""
    return part.handle.fs


@pytest.fixture
def database(view: FilesystemView) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database that can see the call's files."""
    with duckdb.connect() as connection:
        connection.register_filesystem(view)
        yield connection


def test_pandas_reads_and_writes(files: Filesystem, part: FileTransaction, view: FilesystemView) -> None:
    """CSV through streams, Parquet through the filesystem; when the call fails nothing of it was there."""
    with view.open("table.csv") as text:
        assert pd.read_csv(text).equals(FRAME)
    with view.open("deep/table.csv.gz", "wt", compression="infer", newline="") as text:
        FRAME.to_csv(text, index=False)
    with view.open("deep/table.csv.gz", "rb") as packed:
        assert pd.read_csv(packed, compression="gzip").equals(FRAME)
    FRAME.to_parquet("deep/table.parquet", filesystem=view)
    assert pd.read_parquet("deep/table.parquet", filesystem=view).equals(FRAME)
    FRAME.to_parquet("parts", partition_cols=["name"], filesystem=view)
    assert sorted(pd.read_parquet("parts", filesystem=view)["count"]) == [1, 2, 3]
    with view.open("table.csv", "w", newline="") as text:
        FRAME.head(1).to_csv(text, index=False)
    assert {"table.csv", "deep/table.parquet", "deep/table.csv.gz"} <= set(part.stamps())

    part.undo()

    assert files.fs.find("", withdirs=True) == ["table.csv"]
    with files.fs.open("table.csv") as text:
        assert pd.read_csv(text).equals(FRAME)


def test_pyarrow_reads_and_writes(files: Filesystem, part: FileTransaction, view: FilesystemView) -> None:
    """Single tables and partitioned data sets, which list, make, replace and delete directories."""
    table = pa.table({"key": ["x", "y", "x"], "value": [1, 2, 3]})
    pq.write_table(table, "one.parquet", filesystem=view)
    assert pq.read_table("one.parquet", columns=["value"], filesystem=view)["value"].to_pylist() == [1, 2, 3]
    for _ in range(2):
        pads.write_dataset(
            table,
            "set",
            format="parquet",
            partitioning=["key"],
            filesystem=view,
            existing_data_behavior="delete_matching",
        )
    found = pads.dataset("set", format="parquet", partitioning=["key"], filesystem=view)
    assert found.to_table(filter=pads.field("key") == "x").num_rows == 2
    arrow = pa.fs.PyFileSystem(pa.fs.FSSpecHandler(view))
    assert {info.path for info in arrow.get_file_info(pa.fs.FileSelector("set"))} == {"set/x", "set/y"}
    arrow.move("one.parquet", "two.parquet")
    arrow.copy_file("two.parquet", "three.parquet")
    arrow.delete_file("two.parquet")
    arrow.delete_dir("set")
    assert view.find("") == ["table.csv", "three.parquet"]

    part.undo()

    assert files.fs.find("") == ["table.csv"]


def test_duckdb_reads_and_writes(
    files: Filesystem, part: FileTransaction, view: FilesystemView, database: duckdb.DuckDBPyConnection
) -> None:
    """It reads from threads of its own, in pieces, and by patterns."""
    database.execute("copy (select * from 'wink://table.csv' where count > 1) to 'wink://out/big.parquet'")
    assert database.sql("select sum(count) from 'wink://out/*.parquet'").fetchall() == [(5,)]
    database.execute("copy (select range as n from range(100000)) to 'wink://out/many.csv'")
    assert database.sql("select sum(n) from 'wink://out/many.csv'").fetchall() == [(4999950000,)]
    assert view.find("out") == ["out/big.parquet", "out/many.csv"]

    part.undo()

    assert files.fs.find("", withdirs=True) == ["table.csv"]
    with pytest.raises(duckdb.Error):
        database.sql("select * from 'wink://table.csv'").fetchall()


def test_what_they_wrote_stays_when_the_call_succeeds(
    files: Filesystem, part: FileTransaction, view: FilesystemView
) -> None:
    """The other end of a transaction."""
    FRAME.to_parquet("table.parquet", filesystem=view)
    part.prepare()
    part.publish()

    assert pd.read_parquet("table.parquet", filesystem=files.fs).equals(FRAME)


def test_pandas_opens_them_by_url(tmp_path: Path) -> None:
    """With nothing of wink imported by whoever asks."""
    options = {"root": str(tmp_path)}
    FRAME.to_csv("wink://made/table.csv.gz", index=False, storage_options=options)
    FRAME.to_parquet("wink://made/table.parquet", storage_options=options)

    assert pd.read_csv("wink://made/table.csv.gz", storage_options=options).equals(FRAME)
    assert pd.read_parquet("wink://made/table.parquet", storage_options=options).equals(FRAME)
    assert fsspec.filesystem("wink", **options).find("") == ["made/table.csv.gz", "made/table.parquet"]
