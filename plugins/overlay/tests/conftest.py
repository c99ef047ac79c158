"""Lower layers of every kind, real ones: an archive, a directory, a bucket behind a server on this machine."""

from __future__ import annotations

import io
import itertools
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.implementations.zip import ZipFileSystem

from wink.filesystem import HostFilesystem, InMemoryFilesystem

Contents = Mapping[str, bytes]
Lower = tuple[Any, str]
"""A filesystem, and the directory in it that the overlay is over."""

_buckets = itertools.count()


@pytest.fixture(scope="session")
def s3_options() -> Iterator[dict[str, Any]]:
    """How to reach an S3 server that keeps everything in this process."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    # Nothing of this machine's own settings may be asked: a region, a profile, an address that only clouds have.
    patch = pytest.MonkeyPatch()
    for name in ("AWS_PROFILE", "AWS_REGION"):
        patch.delenv(name, raising=False)
    patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    host, port = server.get_host_and_port()
    yield {
        "key": "test",
        "secret": "test",
        "endpoint_url": f"http://{host}:{port}",
    }
    server.stop()
    patch.undo()


@pytest.fixture
def s3(s3_options: dict[str, Any]) -> Any:
    """A client that knows nothing yet of what is on the server."""
    from s3fs import S3FileSystem

    return S3FileSystem(**s3_options, skip_instance_cache=True)


@pytest.fixture
def memory() -> MemoryFileSystem:
    """fsspec's files in memory that nobody else has."""
    return MemoryFileSystem(global_store=False, skip_instance_cache=True)


def zipped(contents: Contents) -> ZipFileSystem:
    """An archive of these entries, with names exactly as they are given."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(zipfile.ZipInfo(name, (2024, 5, 6, 7, 8, 10)), content)
    packed.seek(0)
    return ZipFileSystem(packed)


@pytest.fixture
def make_zip() -> Callable[[Contents], ZipFileSystem]:
    """Makes archives."""
    return zipped


@pytest.fixture(params=["zip", "memory", "file", "s3", "wink-memory", "wink-disk"])
def make_lower(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[Contents], Lower]]:
    """Makes lower layers of every kind with these files in them."""
    opened: list[HostFilesystem] = []

    def make(contents: Contents) -> Lower:
        kind: str = request.param
        if kind == "zip":
            return zipped(contents), ""
        place = tmp_path / f"lower{next(_buckets)}"
        if kind in ("file", "wink-disk"):
            for path, content in contents.items():
                (place / path).parent.mkdir(parents=True, exist_ok=True)
                (place / path).write_bytes(content)
            if kind == "file":
                return LocalFileSystem(skip_instance_cache=True), str(place)
            opened.append(HostFilesystem(place))
            return opened[-1], ""
        if kind == "wink-memory":
            ours = InMemoryFilesystem()
            for path, content in contents.items():
                ours.write_bytes(path, content)
            return ours, ""
        if kind == "memory":
            fs: Any = MemoryFileSystem(global_store=False, skip_instance_cache=True)
            base = "/some/where"
        else:
            fs = request.getfixturevalue("s3")
            base = f"bucket{next(_buckets)}/some/where"
            fs.mkdir(base.split("/", 1)[0])
        for path, content in contents.items():
            fs.pipe_file(f"{base}/{path}", content)
        return fs, base

    yield make
    for files in opened:
        files.close()
