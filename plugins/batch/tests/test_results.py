"""Records that go elsewhere: each once, whatever is killed in the middle, to a file or to an object store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fsspec
import pytest

from wink_batch import BatchBusy, BatchError, sink
from wink_batch import _sinks as sinks


def row(name: str) -> dict[str, Any]:
    """A record."""
    return {"id": name, "status": "done", "passed": True, "score": 1.0, "output": {"x": [1]}, "attempts": [], "tokens": 3, "changed": ["a"], "text": "\ud800"}  # fmt: skip


def stored(address: str) -> list[str]:
    """The ids in all parts, in their order."""
    fs, path = fsspec.core.url_to_fs(address)
    fs.invalidate_cache()
    found: list[str] = []
    for name in sorted(fs.find(path)):
        if name.endswith(".parquet"):
            import pyarrow.parquet

            found += pyarrow.parquet.read_table(fs.open(name, "rb")).to_pydict()["id"]
        else:
            found += [json.loads(line)["id"] for line in fs.cat_file(name).splitlines()]
    return found


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
@pytest.mark.parametrize("lost", ["nothing", "the last part", "half of it"])
def test_each_record_is_there_once_after_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, lost: str
) -> None:
    """A driver may be killed between writing down what a part will hold and writing it."""
    monkeypatch.setattr(sinks, "PART_ROWS", 3)
    address = f"memory://{tmp_path.name}/{ending}-{lost.replace(' ', '-')}.{ending}"
    rows: dict[str, dict[str, Any]] = {}
    first = sink(address, str(tmp_path), rows)
    for number in range(7):
        rows[f"t{number}"] = row(f"t{number}")
        first.add(rows[f"t{number}"])
    fs, path = fsspec.core.url_to_fs(address)
    last = max(fs.find(path))
    if lost == "the last part":
        fs.rm(last)
    elif lost == "half of it":
        fs.pipe_file(last, fs.cat_file(last)[:10])
    again = sink(address, str(tmp_path), rows)
    again.close()
    assert stored(address) == [f"t{number}" for number in range(7)]


def test_a_file_of_lines_is_completed(tmp_path: Path) -> None:
    """It lacks what was cut off, and gets what came meanwhile."""
    place = tmp_path / "all.jsonl"
    rows = {f"t{number}": {"id": f"t{number}"} for number in range(3)}
    place.write_text('{"id": "t0"}\n{"id": "t1')
    again = sink(str(place), str(tmp_path), rows)
    again.add({"id": "t3"})
    again.close()
    assert [json.loads(line)["id"] for line in place.read_text().splitlines()] == ["t0", "t1", "t2", "t3"]


def test_records_go_to_an_object_store_as_they_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real one, behind a server on this machine."""
    import s3fs
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    try:
        host, port = server.get_host_and_port()
        for name, value in {"ACCESS_KEY_ID": "x", "SECRET_ACCESS_KEY": "x", "ENDPOINT_URL": f"http://{host}:{port}", "DEFAULT_REGION": "us-east-1"}.items():  # fmt: skip
            monkeypatch.setenv(f"AWS_{name}", value)
        s3fs.S3FileSystem().mkdir("results")
        monkeypatch.setattr(sinks, "PART_ROWS", 2)
        to = sink("s3://results/run.parquet", str(tmp_path), {})
        for number in range(5):
            to.add(row(f"t{number}"))
        assert stored("s3://results/run.parquet") == ["t0", "t1", "t2", "t3"]
        to.close()
        assert stored("s3://results/run.parquet") == [f"t{number}" for number in range(5)]
    finally:
        s3fs.S3FileSystem.clear_instance_cache()
        server.stop()


def test_a_place_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    """And that nothing is lost."""
    with pytest.raises(BatchError, match=r"ends in \.jsonl or \.parquet"):
        sink("s3://x/y", str(tmp_path), {})
    (tmp_path / "file").write_text("x")
    to = sink(f"file://{tmp_path}/file/run.parquet", str(tmp_path), {})
    to.add(row("a"))
    with pytest.raises(BatchError, match="--resume"):
        to.close()


def test_a_file_that_was_somebodys_keeps_its_last_line_and_is_written_to_by_one_batch_at_a_time(tmp_path: Path) -> None:
    """Two writers would overwrite one another's records; and a file need not end with a newline."""
    place = tmp_path / "all.jsonl"
    place.write_text('{"id": "theirs"}')
    first = sink(str(place), str(tmp_path), {"a": {"id": "a"}})
    with pytest.raises(BatchBusy):
        sink(str(place), str(tmp_path), {"b": {"id": "b"}})
    first.close()
    sink(str(place), str(tmp_path), {"b": {"id": "b"}}).close()

    assert [json.loads(line)["id"] for line in place.read_text().splitlines()] == ["theirs", "a", "b"]


def test_the_parts_of_another_batch_are_not_written_over(tmp_path: Path) -> None:
    """Both would number theirs from nought on."""
    address = f"file://{tmp_path}/table/run.parquet"
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    first = sink(address, str(tmp_path / "one"), {"a": {"id": "a", "status": "done"}})
    first.close()

    with pytest.raises(BatchError, match="another batch"):
        sink(address, str(tmp_path / "two"), {})

    sink(address, str(tmp_path / "one"), {"a": {"id": "a", "status": "done"}}).close()
