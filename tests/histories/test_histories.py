"""A slice of the replays; `nox -s histories` does those of whole real packages."""

from __future__ import annotations

import shutil
import sys
import tarfile
from collections.abc import Iterator
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import pytest

from .added import with_more
from .changes import Plan
from .generated import generated
from .process import Wrong
from .releases import unpacked
from .replay import Replay
from .steps import Step
from .trees import Chmod, Edit, Entry, Move, Tree, after_all, difference, lay_out, tree_of
from .workplace import Workplace

SEED, VERSIONS = 3, 8


def versions(seed: int, count: int) -> Iterator[Tree]:
    """Versions like those of a package, with modes, links and bytes."""
    return (with_more(tree, number, seed) for number, tree in enumerate(generated(seed, count)))


@pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("bwrap") is None,
    reason="NO HISTORY WAS REPLAYED: programs are confined by bubblewrap on Linux",
)
@pytest.mark.timeout(300)
def test_a_history_is_replayed_through_failures_kills_and_undos(tmp_path: Path) -> None:
    """Each version is there to the last bit; everything can be undone to the first; the log has every call."""
    root = tmp_path / "work" / "tree"
    root.mkdir(parents=True)

    tally = Replay(str(root), SEED).run(versions(SEED, VERSIONS))

    assert tally.counts["versions"] == VERSIONS
    # None of them is empty: else it would have proved nothing.
    assert tally.counts["changes"] > 100
    assert tally.counts["kills"] >= 3
    assert tally.counts["undos"] >= 3
    assert tally.counts["turns of two processes at once"] >= 1
    assert len(tally.failures) >= 5


def test_every_plan_leads_from_one_version_to_the_next() -> None:
    """The replay makes these changes, so they must be made of all kinds, and lead there."""
    kinds: set[type] = set()
    trees = [*versions(5, 30)]
    for before, expected in pairwise(trees):
        plan = Plan(before, expected)
        changes = [*plan.first, *(change for group in plan.contents for change in group), *plan.last]

        assert after_all(before, changes) == expected
        kinds |= {type(change) for change in changes}
    assert {kind.__name__ for kind in kinds} == {"Put", "Edit", "Move", "Remove", "Chmod", "Link", "Mkdir"}


def test_a_directory_that_is_renamed_is_moved() -> None:
    """Else a rename would be tried as so many files that come and go."""
    before: Tree = {"old": Entry("directory", 0o755)}
    expected: Tree = {"src": Entry("directory", 0o755), "src/new": Entry("directory", 0o755)}
    for name in ("a.py", "b.py", "c.py"):
        before[f"old/{name}"] = Entry("file", 0o644, f"{name}\n".encode())
        expected[f"src/new/{name}"] = before[f"old/{name}"]
    expected["src/new/a.py"] = Entry("file", 0o755, b"other\n")

    plan = Plan(before, expected)

    assert plan.first == [Move("old", "src/new")]
    assert plan.contents == [(Edit("src/new/a.py", "a.py\n", "other\n"),)]
    assert plan.last == [Chmod("src/new/a.py", 0o755)]


@pytest.mark.parametrize(
    ("path", "entry"),
    [
        ("docs/index.rst", Entry("file", 0o644, b"another byte\n")),
        ("docs/index.rst", Entry("file", 0o755, b"a byte\n")),
        ("docs/index.rst", Entry("link", 0, b"a byte\n")),
        ("docs", None),
        ("docs/more", Entry("directory", 0o755)),
        ("docs/link", Entry("link", 0, b"nowhere")),
    ],
)
def test_a_tree_that_differs_is_seen(path: str, entry: Entry | None, tmp_path: Path) -> None:
    """A comparison that could not fail would prove nothing."""
    tree: Tree = {
        "docs": Entry("directory", 0o755),
        "docs/index.rst": Entry("file", 0o644, b"a byte\n"),
        "docs/link": Entry("link", 0, b"index.rst"),
    }
    lay_out(tree, str(tmp_path))
    (tmp_path / ".wink").mkdir()
    assert difference(tree, tree_of(str(tmp_path))) == ""

    expected = {name: old for name, old in tree.items() if entry or not name.startswith(path)}
    if entry is not None:
        expected[path] = entry

    assert difference(expected, tree_of(str(tmp_path))).startswith(path)


def test_a_reply_that_is_not_expected_ends_the_replay() -> None:
    """A call that must fail and succeeds is as wrong as one that must succeed and fails."""
    place = Workplace("/nowhere")

    with pytest.raises(Wrong, match="write_file failed"):
        place.judge([Step("write_file", "{}")], [(False, "no")], "mine")
    with pytest.raises(Wrong, match="rm succeeded a directory"):
        place.judge([Step("rm", "{}", kind="a directory that is not empty")], [(True, "gone")], "mine")
    with pytest.raises(Wrong, match="got 0 replies"):
        place.judge([Step("rm", "{}")], [], "mine")


def test_an_archive_unpacks_as_its_filter_says(tmp_path: Path) -> None:
    """Bits of the group and of others to write, and what leads out, come from nobody who is trusted."""
    members = [("p-1/run.sh", 0o775, b"#!\n"), ("p-1/docs/a", 0o666, b"a")]
    archive = tmp_path / "p-1.tar.gz"
    with tarfile.open(archive, "w:gz") as opened:
        for name, mode, content in members:
            member = tarfile.TarInfo(name)
            member.mode, member.size = mode, len(content)
            opened.addfile(member, BytesIO(content))
        link = tarfile.TarInfo("p-1/docs/link")
        link.type, link.linkname = tarfile.SYMTYPE, "../run.sh"
        opened.addfile(link)

    assert unpacked(archive) == {
        "docs": Entry("directory", 0o755),
        "docs/a": Entry("file", 0o644, b"a"),
        "docs/link": Entry("link", 0, b"../run.sh"),
        "run.sh": Entry("file", 0o755, b"#!\n"),
    }
