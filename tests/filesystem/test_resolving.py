"""Where paths end when the links in them are followed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from wink.errors import PathRefused
from wink.filesystem import Filesystem, HostFilesystem, InMemoryFilesystem
from wink_overlay import OverlayFilesystem

MAKERS: dict[str, Callable[[Path], Filesystem]] = {
    "disk": HostFilesystem,
    "overlay": lambda root: OverlayFilesystem(HostFilesystem(root)),
}


@pytest.fixture(params=MAKERS)
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Filesystem:
    """A tree with links of every kind."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "file").write_text("x")
    for name, target in {
        "to_b": "a/b",
        "again": "to_b",
        "a/up": "..",
        "dangling": "a/new/file",
        "round": "trip",
        "trip": "round",
        "out": "../x",
        "absolute": "/etc/passwd",
        "dots": "./a/./b/../file",
        "self": ".",
    }.items():
        os.symlink(target, tmp_path / name)
    return MAKERS[request.param](tmp_path)


@pytest.mark.parametrize(
    ("path", "real"),
    [
        ("", ""),
        ("a/file", "a/file"),
        ("./a/../a//file", "a/file"),
        ("to_b", "a/b"),
        ("again/new", "a/b/new"),
        ("a/up/a/up/to_b", "a/b"),
        ("dangling", "a/new/file"),
        ("dots", "a/file"),
        ("self/self/a", "a"),
        ("missing/to_b", "missing/to_b"),
        ("a/file/beneath", "a/file/beneath"),
        ("to_b/../file", "file"),
    ],
)
def test_links_are_followed_to_where_they_end(files: Filesystem, path: str, real: str) -> None:
    """Also where nothing is there yet: that is what would be made."""
    assert files.resolve(path) == real


@pytest.mark.parametrize(
    ("path", "real"), [("to_b/../file", "a/file"), ("again/../file", "a/file"), ("a/missing/../file", "a/file")]
)
def test_dots_go_up_from_where_links_led_as_programs_see_it(files: Filesystem, path: str, real: str) -> None:
    """Programs of the system do not take names back, they go up."""
    assert files.resolve(path, as_written=True) == real


@pytest.mark.parametrize("path", ["round", "trip/x", "out", "absolute", "../x", "/etc", ".wink/x", "a\\b"])
def test_what_leads_out_or_nowhere_is_refused(files: Filesystem, path: str) -> None:
    """As it is by every other operation."""
    with pytest.raises(PathRefused):
        files.resolve(path)


def test_memory_resolves_too() -> None:
    """There the model's own files may lie."""
    files = InMemoryFilesystem()
    files.write("a/b", "x")

    assert files.resolve("./a/x/../b") == "a/b"


NAMES = st.sampled_from(["a", "b", "c", "d"])
TARGETS = st.lists(st.sampled_from(["a", "b", "c", "d", "..", "."]), min_size=1, max_size=4).map("/".join)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    links=st.dictionaries(st.lists(NAMES, min_size=1, max_size=2).map("/".join), TARGETS, max_size=5),
    path=st.lists(NAMES | st.just(".."), min_size=1, max_size=4).map("/".join),
)
def test_it_is_what_the_system_says(tmp_path: Path, links: dict[str, str], path: str) -> None:
    """Held against `realpath`, for any links that stay inside."""
    root = tmp_path / f"{abs(hash((tuple(links.items()), path)))}"
    assume(not root.exists())
    (root / "a").mkdir(parents=True)
    (root / "b").mkdir()
    for link, target in links.items():
        try:
            os.symlink(target, root / link)
        except OSError:
            continue
    files = HostFilesystem(root)
    try:
        found = files.resolve(path, as_written=True)
    except PathRefused:
        return
    except OSError:
        return

    real = os.path.realpath(root / path)
    assert os.path.normpath(root / found) == real or not os.path.exists(real)
