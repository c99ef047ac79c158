"""Copying files of the host into an agent's own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from wink.errors import PromptValidationError
from wink.filesystem import InMemoryFilesystem
from wink_files import HostMount
from wink_files._mounts import copy_in, find_source


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A small project on the host."""
    for path, text in {"src/app.py": "app", "src/app.pyc": "bytes", "docs/a.md": "a", "README.md": "readme"}.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def mounted(mount: HostMount) -> dict[str, str]:
    """Every file after the mount has been copied into an empty filesystem."""
    files = InMemoryFilesystem()
    copy_in(find_source(mount, ()), files)
    return {match.path: files.read(match.path).content for match in files.glob("**/*") if match.is_file}


def test_directory_is_copied_with_all_below_it(host: Path) -> None:
    """What the agent finds is what is on the host."""
    assert mounted(HostMount(host)) == {
        "README.md": "readme",
        "docs/a.md": "a",
        "src/app.py": "app",
        "src/app.pyc": "bytes",
    }


def test_mount_path_says_where_the_copy_goes(host: Path) -> None:
    """Several mounts find room beside each other."""
    assert mounted(HostMount(host / "docs", mount_path="/manual/")) == {"manual/a.md": "a"}


def test_single_file_keeps_its_name(host: Path) -> None:
    """A file is mounted into a directory, as `cp` does it."""
    assert mounted(HostMount(host / "README.md", mount_path="about")) == {"about/README.md": "readme"}


def test_globs_choose_what_is_copied(host: Path) -> None:
    """Included first, then excluded, at every depth."""
    assert mounted(HostMount(host, include_glob=("*.py", "*.md"), exclude_glob=("docs/",))) == {
        "README.md": "readme",
        "src/app.py": "app",
    }


def test_changes_never_come_back_to_the_host(host: Path) -> None:
    """A mount is a copy."""
    files = InMemoryFilesystem()
    copy_in(find_source(HostMount(host), ()), files)

    files.write("README.md", "changed")

    assert (host / "README.md").read_text() == "readme"


def test_links_are_left_out_unless_they_are_asked_for(host: Path) -> None:
    """A link could lead anywhere on the host."""
    (host / "link.md").symlink_to(host / "README.md")

    assert "link.md" not in mounted(HostMount(host))
    assert mounted(HostMount(host, follow_symlinks=True))["link.md"] == "readme"


def test_circle_of_links_ends(host: Path) -> None:
    """Each directory is copied once, however often links lead to it."""
    (host / "docs" / "up").symlink_to(host, target_is_directory=True)

    assert set(mounted(HostMount(host, follow_symlinks=True))) == {
        "README.md",
        "docs/a.md",
        "src/app.py",
        "src/app.pyc",
    }


def test_what_is_no_regular_file_is_left_out(host: Path) -> None:
    """Opening a FIFO would wait for a writer that never comes."""
    os.mkfifo(host / "pipe")

    assert "pipe" not in mounted(HostMount(host))


@pytest.mark.parametrize("bounds", [{"max_files": 3}, {"max_bytes": 10}])
def test_mount_that_exceeds_its_bounds_is_refused(host: Path, bounds: dict[str, int]) -> None:
    """A copy that was cut short would look like the whole."""
    with pytest.raises(PromptValidationError, match="narrow it with include_glob or exclude_glob"):
        mounted(HostMount(host, **bounds))


def test_mount_that_does_not_exist_is_refused(host: Path) -> None:
    """It is found out when the section is built, not when the agent looks for its files."""
    with pytest.raises(PromptValidationError, match="does not exist; give an existing file or directory"):
        find_source(HostMount(host / "missing"), ())


def test_mount_outside_the_allowed_roots_is_refused(host: Path) -> None:
    """Links are followed before this is judged."""
    (host / "docs" / "up").symlink_to(host, target_is_directory=True)

    with pytest.raises(PromptValidationError, match="add its directory to allowed_host_roots"):
        find_source(HostMount(host / "docs" / "up"), (host / "docs",))


def test_relative_mount_is_looked_up_in_the_allowed_roots(host: Path) -> None:
    """In the order in which they were given."""
    source = find_source(HostMount("a.md"), (host / "src", host / "docs"))

    assert source.host == host / "docs" / "a.md"
