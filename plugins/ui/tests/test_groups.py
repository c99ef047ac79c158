"""What programs make is told in a line a directory, as `wink diff` tells it, and one tick takes exactly what a line stands for."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugins.ui.tests.conftest import Visitor, text_of
from plugins.ui.tests.scene import OWN, Agent, tried

from wink.filesystem import FileChange, FileVersion
from wink.filesystem.diffs import grouped
from wink.workspace import Workspace
from wink_ui._asked import path_of
from wink_ui._groups import sort_out

Visit = Callable[[], Visitor]
MADE = {
    **{f".venv/lib/{number}.py": "x = 1\n" for number in range(90)},
    **{f"build/{number}.bin": "x\n" for number in range(3)},
    "build/node_modules/a.js": "a\n",
    "README.md": "new\n",
}


@pytest.fixture
def visitor(workspace: Workspace, visit: Visit, place: Path) -> Visitor:
    """Looks at a try in which a program has edited one file, and made many."""
    (place / ".gitignore").write_text("build/\n")
    tried(workspace, "odd", **MADE)
    return visit()


def test_what_programs_make_is_a_line_a_directory(visitor: Visitor) -> None:
    """The one edited file stands first, with its diff; the lines are those of `wink diff`."""
    page = visitor.get("/tries/odd")
    told = text_of(page)

    assert page.count('class="pick"') == 1
    assert page.count('class="pick group"') == 3
    assert page.index("Tick README.md") < page.index("Tick all of .venv")
    for line in (
        ".venv 90 files added, 540 bytes (generated)",
        "build 3 files added, 6 bytes (ignored)",
        "build/node_modules 1 file added, 2 bytes (generated)",
    ):
        assert line in told
    assert page.count("/changes?try=odd&amp;group=") == 3


def test_a_tick_takes_what_its_line_stands_for_and_nothing_else(visitor: Visitor, place: Path) -> None:
    """Though another line stands for what is beneath it."""
    page = visitor.get("/tries/odd")
    assert 'name="places" value="build/0.bin build/1.bin build/2.bin"' in page

    preview = visitor.post("/do/accept", **{"try": "odd", "scope": "chosen", "places": "build/0.bin build/1.bin"})
    assert "Accept what is ticked of the try odd?" in text_of(preview.text)
    assert "build 2 files added" in text_of(preview.text)
    wanted: dict[str, str | list[str]] = {
        "try": "odd",
        "scope": "chosen",
        "path": ["README.md"],
        "places": [".venv", "build/0.bin build/1.bin build/2.bin"],
    }
    assert visitor.confirm("/do/accept", **wanted).status_code == 303

    assert len(list((place / ".venv/lib").iterdir())) == 90
    assert sorted(one.name for one in (place / "build").iterdir()) == ["0.bin", "1.bin", "2.bin"]
    assert (place / "README.md").read_text() == "new\n"
    assert "build/node_modules" in text_of(visitor.get("/tries/odd"))
    dropped = visitor.confirm("/do/drop", **{"try": "odd", "scope": "chosen", "places": "build/node_modules"})
    assert dropped.status_code == 303
    assert "no path of the try" in visitor.post("/do/accept", **{"try": "odd", "scope": "chosen", "places": ""}).text


def test_what_is_taken_is_shown_in_the_same_way_before_it_is(visitor: Visitor) -> None:
    """With the first names of each directory, and nothing that nobody would read."""
    page = visitor.post("/do/accept", **{"try": "odd", "scope": "all"}).text

    assert page.index("README.md") < page.index(".venv/lib/0.py")
    assert page.count('class="diff"') == 1
    assert page.count('class="file heap"') == 3


def test_all_changes_fold_them_and_show_one_directory_alone(visitor: Visitor) -> None:
    """Found by a filter they stay folded."""
    page = visitor.get("/changes?try=odd")
    assert "95 paths" in text_of(page)
    assert page.count('class="file reading"') == 1

    alone = visitor.get("/changes?try=odd&group=.venv")
    assert "90 paths" in text_of(alone)
    assert alone.count('class="file reading"') == 50
    assert "from=50" in alone
    assert "group=.venv" in alone
    assert visitor.get("/changes?try=odd&group=.venv&from=50", part=True).count('class="file reading"') == 40
    found = visitor.get("/changes?try=odd&path=lib/1")
    assert found.count('class="file reading"') == 0
    assert ".venv 90 files added" in text_of(found)
    assert "Nothing is changed" in text_of(visitor.get("/changes?try=odd&group=none"))
    assert "+1" in text_of(visitor.get("/changes/file?try=odd&file=.venv/lib/1.py"))


def test_a_gitignore_that_a_program_brings_hides_nothing(workspace: Workspace, visit: Visit) -> None:
    """Whatever one looks for."""
    tried(workspace, "odd", **{".gitignore": "evil.py\n", "evil.py": "x\n"})
    visitor = visit()

    assert "Tick evil.py" in visitor.get("/tries/odd")
    assert 'class="file reading"' in visitor.get("/changes?try=odd&path=evil")


def test_names_and_what_git_says_are_text(workspace: Workspace, visit: Visit) -> None:
    """A program chose them."""
    said = "0" * 40 + " " + "1" * 40 + " A <a@b.c> 1700000000 +0000\tcommit: <img src=x onerror=alert(1)>\u202e\n"
    tried(
        workspace,
        "odd",
        **{'"><script>alert(1)</script>\u202e/node_modules/a b\n.js': "x\n", ".git/logs/refs/heads/main": said},
        **{".git/index": "x"},
    )
    visitor = visit()
    for path in ("/tries/odd", "/changes?try=odd"):
        page = visitor.get(path)
        for hostile in ("<script>alert", "<img src=x", "\u202e"):
            assert hostile not in page
        assert "of git's own (1 commit on main: <img src=x onerror=alert(1)>" in text_of(page)
    page = visitor.post("/do/accept", **{"try": "odd", "scope": "all"}).text
    assert "<script>alert" not in page
    assert "\u202e" not in page


def test_a_call_that_changed_many_files_tells_them_so_too(workspace: Workspace, visit: Visit) -> None:
    """The number of a file is that among all of its changes."""
    Agent(workspace).call(OWN, files={"zz.txt": "last\n", **{f"node_modules/{n}.js": "x\n" for n in range(5)}})
    visitor = visit()
    page = visitor.get("/calls/1")

    assert page.count('class="file heap"') == 1
    assert page.count('class="diff"') == 1
    assert "node_modules 5 files added" in text_of(page)


def test_files_keep_their_numbers_though_others_are_folded(workspace: Workspace, visit: Visit, place: Path) -> None:
    """By these their diffs and images are asked for."""
    png = b"\x89PNG\r\n\x1a\n\0"
    one = tried(workspace, "odd", **{f"node_modules/{n}.js": "x\n" for n in range(3)}, **{"z.txt": "last\n"})
    (Path(one.overlay.upper) / "y.png").write_bytes(png)
    visitor = visit()
    page = visitor.get("/tries/odd")

    (image,) = re.findall(r'<img src="([^"]+)"', page)
    assert visitor.client.get(html.unescape(image)).content == png
    (tick,) = re.findall(r'value="z.txt" id="p(\d+)"', page)
    assert "last" in visitor.get(f"/tries/odd/files/{tick}")


def test_places_are_exactly_what_a_line_stands_for(workspace: Workspace) -> None:
    """However directories of different lines lie in each other."""
    (Path(workspace.root) / ".gitignore").write_text("build\n*.log\n")
    names = st.sampled_from(["a", "build", "node_modules", ".venv", "x.log", ".git", "objects", "hooks"])
    paths = st.lists(st.lists(names, min_size=1, max_size=4).map("/".join), min_size=1, max_size=20, unique=True)

    @given(paths=paths, closed=st.booleans())
    def check(paths: list[str], closed: bool) -> None:
        if closed:  # as trees are, with the directories above
            paths = sorted(
                {path[:at] for path in paths for at in range(1, len(path) + 1) if path[at : at + 1] in ("", "/")}
            )
        changes = [FileChange(path, None, FileVersion("file", 1, 0o644)) for path in paths]
        found = sort_out(workspace, changes)
        heaps = grouped(changes, workspace.filesystem.ignored())
        lines = (*heaps.folded, *heaps.repositories)
        assert [one.directory for one in found.groups] == [line.directory for line in lines]
        for one, line in zip(found.groups, lines, strict=True):
            mine = {change.path for change in line.changes}
            assert {change.path for change in one.changes} <= mine
            places = [path_of(place) for place in one.places.split()]
            taken = {path for path in paths for place in places if f"{path}/".startswith(f"{place}/")}
            left = mine - taken
            assert taken <= mine
            # Only directories stay in which there is something of others, and which that needs as well.
            assert all(any(path.startswith(f"{one}/") for path in set(paths) - mine) for one in left)

    check()
