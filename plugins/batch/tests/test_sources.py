"""Where tasks' files come from: a repository, an object store, archives, a directory; fetched once, and whole."""

from __future__ import annotations

import os
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from plugins.batch.tests.helping import git, repository

from wink_batch import SourceUnavailable, source
from wink_batch._git import resolve
from wink_batch.content._cache import Cache, safe_path


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    """What a node has fetched: nothing yet."""
    return Cache(str(tmp_path / "cache"))


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of an object store on this machine, which fsspec finds by the environment."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    yield f"http://{host}:{port}"
    server.stop()
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()


def files(tree: str) -> dict[str, str]:
    """All files of a tree, and what is in them."""
    found: dict[str, str] = {}
    for above, _, names in os.walk(tree):
        for name in names:
            place = os.path.join(above, name)
            path = os.path.relpath(place, tree)
            found[path] = f"-> {os.readlink(place)}" if os.path.islink(place) else Path(place).read_text()
    return found


def test_a_commit_is_had_as_it_is(tmp_path: Path, cache: Cache) -> None:
    """Bytes, modes and links, without what attributes would make of them; by branch, tag and id."""
    place, first = repository(
        tmp_path / "r.git", {"a.txt": "a\r\n", "d/b.sh": "b\n", ".gitattributes": "* text eol=lf\n"}
    )
    work = tmp_path / "r.git-work"
    (work / "d/b.sh").chmod(0o755)
    (work / "link").symlink_to("a.txt")
    git("add", ".", cwd=work)
    git("commit", "-q", "-m", "two", cwd=work)
    git("tag", "-a", "v2", "-m", "x", cwd=work)
    git("push", "-q", str(place), "main", "v2", cwd=work)
    second = git("rev-parse", "HEAD", cwd=work).strip()

    for revision in ("main", "v2", second, ""):
        base = cache.base(source(str(place), revision))
        assert base.commit == second
    assert files(base.tree)["link"] == "-> a.txt"
    assert os.access(f"{base.tree}/d/b.sh", os.X_OK)
    before = cache.base(source(str(place), first))
    assert sorted(files(before.tree)) == [".gitattributes", "a.txt", "d/b.sh"]
    assert resolve(str(place), "v2") == second
    with pytest.raises(SourceUnavailable, match="no branch or tag 'nix'"):
        cache.base(source(str(place), "nix"))
    with pytest.raises(SourceUnavailable, match="does not"):
        cache.base(source(str(tmp_path / "none.git")))


def test_an_object_store_is_fetched_once_and_again_when_it_has_changed(s3: str, cache: Cache) -> None:
    """What another batch sees is what is there then; one batch sees the same all the time."""
    import s3fs

    store = s3fs.S3FileSystem()
    store.mkdir("bucket")
    store.pipe({"bucket/p/a.txt": b"a\n", "bucket/p/d/b.txt": b"b\n"})
    first = cache.base(source("s3://bucket/p"), "one")
    assert files(first.tree) == {"a.txt": "a\n", "d/b.txt": "b\n"}
    store.pipe("bucket/p/a.txt", b"A\n")
    assert cache.base(source("s3://bucket/p"), "one") == first
    second = cache.base(source("s3://bucket/p"), "two")
    assert files(second.tree)["a.txt"] == "A\n"
    assert files(first.tree)["a.txt"] == "a\n"


def test_archives_and_directories(tmp_path: Path, cache: Cache) -> None:
    """An archive is unpacked once; a directory is used where it is, and not copied."""
    with zipfile.ZipFile(tmp_path / "p.zip", "w") as archive:
        archive.writestr("d/a.txt", "a")
        archive.writestr("b.txt", "b")
    assert files(cache.base(source(str(tmp_path / "p.zip"))).tree) == {"d/a.txt": "a", "b.txt": "b"}
    inner = f"zip://d::file://{tmp_path}/p.zip"
    assert files(cache.base(source(inner)).tree) == {"a.txt": "a"}
    (tmp_path / "w").mkdir()
    assert cache.base(source(str(tmp_path / "w"))).tree == str(tmp_path / "w")
    for wrong in ("none", "p.zip/x"):
        with pytest.raises(SourceUnavailable, match=r"does not exist|cannot be had"):
            cache.base(source(str(tmp_path / wrong)))
    with pytest.raises(SourceUnavailable, match="there are no files"):
        cache.base(source("memory://nothing/here"))


def test_what_somebody_spoilt_is_fetched_again(tmp_path: Path, cache: Cache) -> None:
    """A cache is only as good as what is in it; whoever worked on the spoilt one keeps what it has open."""
    place, commit = repository(tmp_path / "r.git", {"a.txt": "a\n", "b.txt": "b\n"})
    base = cache.base(source(str(place), commit))
    Path(base.tree, "a.txt").write_text("spoilt\n")
    again = Cache(cache.directory).base(source(str(place), commit))
    assert files(again.tree) == {"a.txt": "a\n", "b.txt": "b\n"}


def test_many_at_once_fetch_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node begins many attempts in the same moment."""
    from wink_batch.content import _cache

    made: list[str] = []
    original = _cache.Cache._entry

    def counted(self: Cache, key: str, address: str, fill: Any) -> str:
        def filling(tree: str) -> None:
            made.append(key)
            fill(tree)

        return original(self, key, address, filling)

    monkeypatch.setattr(_cache.Cache, "_entry", counted)
    place, _ = repository(tmp_path / "r.git", {f"f{one}.txt": "x" for one in range(50)})
    found: list[str] = []
    threads = [
        threading.Thread(
            target=lambda: found.append(Cache(str(tmp_path / "cache")).base(source(str(place), "main")).tree)
        )
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    assert len(set(found)) == 1
    assert len(found) == 6
    assert len(made) == 1


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/x", "a//b", ".git/hooks/x", "d/.GIT/config", "a\0b"])
def test_no_name_from_elsewhere_leads_out(path: str) -> None:
    """Archives and repositories are strangers' work."""
    with pytest.raises(SourceUnavailable):
        safe_path(path)


def test_a_cache_that_others_can_write_to_is_refused(tmp_path: Path) -> None:
    """In a temporary directory anybody can make one with the expected name first."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    with pytest.raises(SourceUnavailable, match="--cache"):
        Cache(str(tmp_path / "cache")).base(source(""))
