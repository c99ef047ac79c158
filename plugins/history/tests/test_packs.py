"""What wink writes into packs git reads, and what git writes into them wink reads."""

from __future__ import annotations

import io
import os
import random
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plugins.history.tests.conftest import fsck, git
from tests.states import state_of
from tests.workspace.working import call

from wink.errors import HistoryDamaged
from wink.workspace import Workspace
from wink_history import Store
from wink_history._objects import FILE, Malformed, Person, commit_content, object_id, parse_tree, tree_content
from wink_history._pack_reading import _MOST_KEPT, Pack
from wink_history._tidy import MOST_PACKS, merge_packs

NOBODY = Person("nobody", "nobody@example.invalid", 0)


def write(state: Path, *contents: bytes) -> list[bytes]:
    with Store(str(state), make=True) as store:
        writer = store.writer()
        oids = [writer.add("blob", content) for content in contents]
        tree = writer.add("tree", tree_content({b"%d" % n: (FILE, oid) for n, oid in enumerate(oids)}))
        head = writer.add("commit", commit_content(tree, None, NOBODY, NOBODY, b"m\n"))
        store.finish(writer)
        store.point("HEAD", head)
    return oids


@given(st.lists(st.binary(max_size=5000), max_size=20))
@settings(max_examples=25, deadline=None)
def test_git_reads_what_wink_writes(tmp_path_factory: pytest.TempPathFactory, contents: list[bytes]) -> None:
    """The pack is for people, who have git."""
    state = tmp_path_factory.mktemp("state")

    oids = write(state, *contents)

    fsck(state / "store.git")
    for oid, content in zip(oids, contents, strict=True):
        read = subprocess.run(
            ["git", f"--git-dir={state / 'store.git'}", "cat-file", "blob", oid.hex()], capture_output=True, check=True
        )
        assert read.stdout == content


def test_wink_reads_what_git_repacked(tmp_path: Path) -> None:
    """Anybody may run `git gc`, which makes deltas; nothing may be lost by that."""
    text = b"".join(b"line %d\n" % n for n in range(2000))
    contents = [text[:at] + b"changed\n" + text[at:] for at in range(0, 10_000, 500)]
    oids = write(tmp_path, *contents)

    git(tmp_path / "store.git", "-c", "pack.window=50", "gc", "--aggressive", "--quiet")

    (pack,) = (tmp_path / "store.git/objects/pack").glob("*.pack")
    assert pack.stat().st_size < len(text) * 2, "git made no deltas, so this proves nothing"
    with Store(str(tmp_path)) as store:
        assert [store.read(oid) for oid in oids] == [("blob", content) for content in contents]


def test_what_is_kept_of_deltas_is_bounded(tmp_path: Path) -> None:
    """Versions of files share what their deltas are applied to; only so much of it is remembered, and all are read right."""
    text = random.Random(1).randbytes(700_000)
    contents = [text[: 600_000 + at] for at in range(0, 100_000, 10_000)]
    oids = write(tmp_path, *contents)
    # With a window of one each is a delta of the next larger one.
    git(tmp_path / "store.git", "repack", "-adfq", "--depth=50", "--window=1")

    with Store(str(tmp_path)) as store:
        assert [store.read(oid)[1] for oid in (*oids, *oids[::-1])] == [*contents, *contents[::-1]]
        (pack,) = store.packs()
        kept = [content for _, content in pack._bases.values()]
        assert len(kept) > 1
        assert sum(map(len, kept)) == pack._kept <= _MOST_KEPT


def test_wink_reads_loose_objects(tmp_path: Path) -> None:
    """Git unpacks objects at times."""
    oids = write(tmp_path, b"one", b"two")
    (pack,) = (tmp_path / "store.git/objects/pack").glob("*.pack")
    moved = pack.rename(tmp_path / "moved.pack")
    pack.with_suffix(".idx").unlink()
    with moved.open("rb") as file:
        subprocess.run(["git", f"--git-dir={tmp_path / 'store.git'}", "unpack-objects", "-q"], stdin=file, check=True)

    with Store(str(tmp_path)) as store:
        assert [store.read(oid)[1] for oid in oids] == [b"one", b"two"]


def test_large_content_is_streamed_and_read_back(tmp_path: Path) -> None:
    """A file of many megabytes must not be held several times."""
    text, noise = b"the same line\n" * 300_000, random.Random(1).randbytes(3_000_000)
    with Store(str(tmp_path), make=True) as store:
        writer = store.writer()
        added = [writer.add_stream(io.BytesIO(content), len(content)) for content in (text, noise)]
        again = writer.add_stream(io.BytesIO(text), len(text))
        short = writer.add_stream(io.BytesIO(noise[:-1]), len(noise))
        long = writer.add_stream(io.BytesIO(noise + b"x"), len(noise))
        last = writer.add("blob", b"after all of that")
        store.finish(writer)

        assert again == added[0]
        assert short is long is None
        for found, content in zip(added, (text, noise), strict=True):
            assert found is not None
            assert found[0] == object_id("blob", content)
            assert store.read(found[0]) == ("blob", content)
        assert store.read(last) == ("blob", b"after all of that")
    git(tmp_path / "store.git", "verify-pack", *map(str, (tmp_path / "store.git/objects/pack").glob("*.idx")))
    (pack,) = (tmp_path / "store.git/objects/pack").glob("*.pack")
    assert len(noise) < pack.stat().st_size < len(noise) + 100_000


def test_pack_that_is_not_finished_leaves_nothing(tmp_path: Path) -> None:
    """An error in the middle of a fold must not fill the disk."""
    with Store(str(tmp_path), make=True) as store:
        writer = store.writer()
        noise = random.Random(2).randbytes(2_000_000)
        writer.add_stream(io.BytesIO(noise), len(noise))
        writer.abandon()

    assert os.listdir(tmp_path / "store.git/objects/pack") == []


def test_many_packs_become_one(tmp_path: Path) -> None:
    """Each fold leaves a pack, and each is looked into."""
    oids = [write(tmp_path, b"%d" % n)[0] for n in range(MOST_PACKS + 1)]

    with Store(str(tmp_path)) as store:
        merge_packs(store)

        assert len(store.packs()) == 1
        assert [store.read(oid)[1] for oid in oids] == [b"%d" % n for n in range(MOST_PACKS + 1)]
    fsck(tmp_path / "store.git")


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_altered_pack_gives_the_right_content_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Whoever can write to a workspace can write to its history; they get nothing past the reader, and no crash."""
    state = tmp_path_factory.mktemp("state")
    contents = [b"a" * 3000, bytes(range(256)) * 4, b"short"]
    oids = write(state, *contents)
    if data.draw(st.booleans()):
        git(state / "store.git", "gc", "--quiet")
    (path,) = (state / "store.git/objects/pack").glob(data.draw(st.sampled_from(("*.pack", "*.idx"))))
    old = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(old) - 1))
        old[at] = data.draw(st.integers(0, 255))
    del old[data.draw(st.integers(0, len(old)) | st.just(len(old))) :]
    path.chmod(0o600)
    path.write_bytes(old)

    with Store(str(state)) as store:
        for oid, content in zip(oids, contents, strict=True):
            try:
                assert store.read(oid) == ("blob", content)
            except HistoryDamaged:
                pass


def test_pack_that_claims_a_huge_object_is_refused(tmp_path: Path) -> None:
    """A few bytes must not make us reserve a gigabyte."""
    (oid,) = write(tmp_path, b"x")
    (path,) = (tmp_path / "store.git/objects/pack").glob("*.pack")
    data = bytearray(path.read_bytes())
    data[12:18] = b"\xbf\xff\xff\xff\xff\x7f"
    path.chmod(0o600)
    path.write_bytes(data)

    with Store(str(tmp_path)) as store, pytest.raises(HistoryDamaged, match="claims"):
        store.read(oid)


def test_links_in_the_store_are_not_followed(tmp_path: Path) -> None:
    """A workspace that came from somewhere must not lead us to write or read elsewhere."""
    outside = tmp_path / "outside"
    outside.mkdir()
    state = tmp_path / "state"
    state.mkdir()
    (state / "store.git").symlink_to(outside)
    with pytest.raises(HistoryDamaged):
        Store(str(state), make=True)
    (state / "store.git").unlink()
    (state / "store.git").mkdir()
    (state / "store.git/objects").symlink_to(outside)

    with pytest.raises(HistoryDamaged):
        Store(str(state), make=True)

    assert os.listdir(outside) == []


def test_fifo_for_a_pack_does_not_block(tmp_path: Path) -> None:
    """Opening a FIFO waits for a writer, who may never come."""
    write(tmp_path, b"x")
    os.mkfifo(tmp_path / "store.git/objects/pack/pack-planted.idx")

    with Store(str(tmp_path)) as store:
        assert len(store.packs()) == 1


def test_index_that_counts_wrong_is_refused(tmp_path: Path) -> None:
    """Lengths come from a file that anybody may have written."""
    write(tmp_path, b"x")
    (path,) = (tmp_path / "store.git/objects/pack").glob("*.idx")
    data = bytearray(path.read_bytes())
    data[8 + 255 * 4 : 12 + 255 * 4] = b"\xff\xff\xff\xff"
    path.chmod(0o600)
    path.write_bytes(data)
    fd = os.open(path.parent, os.O_RDONLY)

    with pytest.raises(Malformed, match="counts"):
        Pack(fd, path.stem)
    os.close(fd)


def test_packs_of_versions_take_little_more_than_one_version(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The history of a file had each version whole: 31 MB where git's has 5."""
    monkeypatch.setattr("wink_history._tidy.WORTH", 0)
    lines = [os.urandom(30).hex() for _ in range(500)]
    with Workspace.open(root) as workspace:
        for number in range(40):
            lines[number] = "changed"
            text = "\n".join(lines)
            call(workspace, lambda files, _, text=text: files.write("b.txt", text))
            if number % 10 == 9:
                workspace.fold()
        store = state_of(root) / "store.git"
        (pack,) = (store / "objects/pack").glob("*.pack")
        assert pack.stat().st_size < 100_000  # one version is 16 KB, and there are forty
        fsck(store)
        workspace.undo(n=39)
        assert (root / "b.txt").read_text().count("changed") == 1


def test_without_git_packs_stay_as_they_are(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It makes them smaller, and nothing else needs it."""
    monkeypatch.setattr("wink_history._tidy.WORTH", 0)
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    (root / "a.txt").write_text("before\n")
    with Workspace.open(root) as workspace:
        for _ in range(3):
            for number in range(3):
                call(workspace, lambda files, _, number=number: files.write("a.txt", f"{number}\n"))
            workspace.fold()
        assert len(list((state_of(root) / "store.git/objects/pack").glob("*.pack"))) == 3
        workspace.undo(n=9)
    assert (root / "a.txt").read_text() == "before\n"


@given(
    st.dictionaries(
        st.binary(min_size=1).filter(lambda n: b"\0" not in n and b"/" not in n), st.just((FILE, bytes(20)))
    )
)
def test_tree_read_back_is_the_same(entries: dict[bytes, tuple[bytes, bytes]]) -> None:
    """Trees are read to be changed, so nothing may get lost between."""
    assert parse_tree(tree_content(entries)) == entries


@given(st.binary(max_size=200))
def test_any_bytes_are_a_tree_or_malformed(content: bytes) -> None:
    """A tree may have been written by anybody."""
    try:
        parse_tree(content)
    except Malformed:
        pass
