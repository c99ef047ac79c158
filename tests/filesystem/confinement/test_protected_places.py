"""`.git` is never written, wink's own state never even read, in any spelling, at any depth, and through any link."""

from __future__ import annotations

import site
import sys
from pathlib import Path
from typing import Any

import pytest

from wink.errors import PathRefused
from wink.filesystem import HostFilesystem

GIT = (
    ".git", ".GIT", ".Git", ".giT", "git~1", "GIT~1", "Git~2", ".git.", ".git ", ".git. . .", ".git...", ".git::$INDEX_ALLOCATION",
    ".git:stream", ".GIT::$DATA", ".g\u200cit", "\u200b.git", ".git\ufeff", ".g\u00adit", ".gi\u034ft", ".g\U000e0001it", ".\u3164git",
    ".g\u0131t", "\uff0egit", ".\uff47\uff49\uff54", ".\u24d6it", "\u2024git", ".g\u206dit", ".git\u2069", ".\u180bgit", ".gi\uffa0t",
)  # fmt: skip
STATE = tuple(
    name.replace("git", "wink").replace("GIT", "WINK") for name in (".git", ".GIT", "git~1", ".git ", ".git::$DATA")
)
READS = ("read", "read a page", "read_bytes", "open_read", "open_text", "stat", "list", "glob", "grep", "copy from")


@pytest.mark.parametrize("name", GIT, ids=ascii)
def test_git_is_not_written(world: Any, uses: Any, name: str) -> None:
    """A planted hook or setting is run by the next git command of a person."""
    for place in ("{}", "{}/hooks/pre-commit", "dir/{}/config", "a/b/c/d/{}/x/y", "dir/../{}/config"):
        for use in set(uses) - set(READS):
            may_miss = use in ("edit", "delete", "delete all", "move from")
            world.refuses(uses[use], place.format(name), (PathRefused, FileNotFoundError) if may_miss else PathRefused)
    assert [match.path for match in world.files.glob("**", include_git=True)] == ["dir", "dir/own.txt", "own.txt"]


@pytest.mark.parametrize("name", STATE)
def test_the_state_is_not_read_either(world: Any, watch: Any, uses: Any, name: str) -> None:
    """It has every file's past in it, secrets that were deleted too."""
    watch()

    for place in ("{}", "{}/record.db", "dir/{}/wal", "own.txt/../{}/lease"):
        for use in uses.values():
            world.refuses(use, place.format(name), PathRefused)
        with pytest.raises(PathRefused):
            world.files.exists(place.format(name))


@pytest.mark.parametrize(
    "path",
    ["github/x", ".gitignore", ".github/x", ".gitattributes", "git", "a.git/x", "dot.git", ".winkrc", "git~x", "..git"],
)
def test_names_that_only_look_like_it_are_free(world: Any, path: str) -> None:
    """Honest repositories are full of them."""
    world.files.write(path, "x")

    assert world.files.read(path).content == "x"


def test_links_to_git_protect_what_they_lead_to(disk: Any, watch: Any, uses: Any) -> None:
    """What counts is where a path really ends; also for a moved or deleted parent, and a link in a chain."""
    (disk.root / ".git/hooks").mkdir(parents=True)
    (disk.root / ".git/config").write_text("secret\n")
    (disk.root / "dir/sub/.git").mkdir(parents=True)
    for name, target in {
        "alias": ".git",
        "hop": "dir/link",
        "dir/link": "../.git/hooks",
        "conf": ".git/config",
    }.items():
        (disk.root / name).symlink_to(target)
    (disk.root / "state").symlink_to(".wink")
    watch()

    for path in ("alias/hooks/x", "hop/x", "dir/link/x", "conf", "alias/config"):
        for use in ("write", "append", "open_write", "copy to"):
            disk.refuses(uses[use], path, PathRefused)
    for path in ("alias/hooks", "hop/x", "alias/config"):
        for use in ("delete all", "mkdir", "create", "move to"):
            disk.refuses(uses[use], path, (PathRefused, FileExistsError))
    for use in uses:
        disk.refuses(uses[use], "state/lease", PathRefused)
    for path in ("dir/sub", "dir", ".git"):
        disk.refuses(uses["delete all"], path, PathRefused)
    disk.refuses(uses["edit"], "conf", PathRefused)
    assert disk.files.read("conf").content == "secret\n"
    assert [p.name for p in sorted((disk.root / ".git").rglob("*"))] == ["config", "hooks"]


def test_the_running_interpreters_packages_are_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever writes there has its code run by the next Python that starts, this one's children first."""
    root = tmp_path / "root"
    packages = root / ".venv/lib/python3/site-packages"
    user = root / "home/.local/lib/python3/site-packages"
    packages.mkdir(parents=True)
    (packages / "module.py").write_text("secret\n")
    (root / ".venv/lib64").symlink_to("lib")
    monkeypatch.setattr(sys, "path", [*sys.path, str(root / ".venv/lib64/python3/site-packages")])
    monkeypatch.setattr(site, "USER_SITE", str(user))
    with HostFilesystem(root) as files:
        for base in (".venv/lib", ".venv/lib64", ".VENV/Lib"):
            for name in ("module.py", "planted.pth", "sitecustomize.py", "pkg/__init__.py"):
                with pytest.raises(PathRefused):
                    files.write(f"{base}/python3/site-packages/{name}", "import os")
        with pytest.raises(PathRefused):
            files.write("home/.local/lib/python3/site-packages/usercustomize.py", "import os")
        for path in (".venv", ".venv/lib", ".venv/lib/python3"):
            with pytest.raises(PathRefused):
                files.delete(path, recursive=True)
            with pytest.raises(PathRefused):
                files.move(path, "taken")
        assert files.read(".venv/lib64/python3/site-packages/module.py").content == "secret\n"
        files.write(".venv/notes.txt", "fine")
        files.write("site-packages/fine.py", "not the running interpreter's")


@pytest.fixture
def importable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace whose `src` an editable install has put on the path, beside directories that it has not."""
    root = tmp_path / "root"
    for name in ("src/evil-1.0", "lib/evil-1.0.dist-info", "deep/evil.egg-info"):
        (root / name).mkdir(parents=True)
    (root / "own.txt").write_text("[pydantic]\nevil = evil:plugin\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(root / "src"), str(root / "later")])
    return root


@pytest.mark.parametrize(
    "path",
    ["src/evil-1.0.dist-info", "src/Evil.EGG-INFO", "src/evil.egg-link", "src/evil.pth"],
)
def test_no_tool_makes_a_distribution_that_python_would_find(importable: Path, path: str) -> None:
    """The libraries of the next program that starts would import what its entry points name."""
    with HostFilesystem(importable) as files:
        for attempt in (
            lambda: files.write(path, "x"),
            lambda: files.write(f"{path}/entry_points.txt", "x"),
            lambda: files.mkdir(path),
            lambda: files.move("own.txt", path),
            lambda: files.move("src/evil-1.0", path),
            lambda: files.copy("own.txt", f"{path}/entry_points.txt"),
        ):
            with pytest.raises(PathRefused, match="only an installer makes that"):
                attempt()
        with pytest.raises(PathRefused, match="move files into it"):
            files.move("lib", "later")
        files.write("lib/evil-1.0.dist-info/entry_points.txt", "nobody looks here")
        files.write("src/evil/entry_points.txt", "nor here")


def test_distributions_in_a_root_that_is_importable_are_refused_too(
    importable: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`PYTHONPATH=.`, or a project that is laid out flat."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(importable)])

    with HostFilesystem(importable) as files, pytest.raises(PathRefused, match="only an installer makes that"):
        files.write("evil-1.0.dist-info/entry_points.txt", "x")


@pytest.mark.parametrize("name", ["wink.toml", "pyproject.toml", "Wink.toml"])
def test_settings_stay_files(importable: Path, name: str) -> None:
    """A link or a directory there has every command of wink refuse to work."""
    (importable / "link").symlink_to("own.txt")

    with HostFilesystem(importable) as files:
        for attempt in (
            lambda: files.mkdir(name),
            lambda: files.write(f"{name}/x", "x"),
            lambda: files.move("link", name),
            lambda: files.move("lib", name),
        ):
            with pytest.raises(PathRefused, match="has to be a regular file"):
                attempt()
        files.write(name, "[plugins]\n")
        files.mkdir(f"lib/{name}")
