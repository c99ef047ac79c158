"""What files may be like, as settings say: how large, and with which names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Done

from wink.cli.settings._file_settings import max_file_bytes_for, network_settings, portable_names_for
from wink.errors import SettingsError


@pytest.fixture
def homes(tmp_path: Path) -> Path:
    """A workspace beside a home directory."""
    (tmp_path / "work").mkdir()
    (tmp_path / "home/.config/wink").mkdir(parents=True)
    return tmp_path


def bound(homes: Path, *, workspace: str = "", own: str = "") -> int:
    """What is in force with these settings, where 100 would be without."""
    (homes / "work/wink.toml").write_text(workspace)
    (homes / "home/.config/wink/wink.toml").write_text(own)
    return max_file_bytes_for(homes / "work", 100, {"HOME": str(homes / "home")})


@pytest.mark.parametrize(
    ("workspace", "own", "expected"),
    [
        ("", "", 100),
        ("max_file_bytes = 50", "", 50),
        ("[tool.wink]\nmax_file_bytes = 50", "", 50),
        ("max_file_bytes = 500", "", 100),
        ("", "max_file_bytes = 500", 500),
        ("max_file_bytes = 300", "max_file_bytes = 500", 300),
        ("max_file_bytes = 300", "max_file_bytes = 50", 50),
    ],
)
def test_a_workspace_can_only_lower_the_bound(homes: Path, workspace: str, own: str, expected: int) -> None:
    """Its files may be an agent's; the user's own settings may raise it."""
    assert bound(homes, workspace=workspace, own=own) == expected


@pytest.mark.parametrize("value", ["0", "-1", "true", '"1 GiB"', "1.5", "[]"])
def test_what_is_no_number_of_bytes_is_refused(homes: Path, value: str) -> None:
    """A bound that nobody understands must not pass for none."""
    with pytest.raises(SettingsError, match=r"\$\.max_file_bytes: must be a number of bytes from 1 on"):
        bound(homes, workspace=f"max_file_bytes = {value}")


@pytest.mark.parametrize(
    ("workspace", "own", "expected"),
    [
        ("", "", False),
        ("portable_names = true", "", True),
        ("[tool.wink]\nportable_names = true", "portable_names = false", True),
        ("portable_names = false", "portable_names = true", True),
        ("portable_names = false", "", False),
    ],
)
def test_a_workspace_can_ask_for_portable_names_and_not_do_without(
    homes: Path, workspace: str, own: str, expected: bool
) -> None:
    """Whoever works for Windows, too, is not undone by a file that an agent may have written."""
    (homes / "work/wink.toml").write_text(workspace)
    (homes / "home/.config/wink/wink.toml").write_text(own)

    assert portable_names_for(homes / "work", {"HOME": str(homes / "home")}) is expected


@pytest.mark.parametrize("value", ["0", "1", '"true"', "[]"])
def test_what_is_neither_true_nor_false_is_refused(homes: Path, value: str) -> None:
    """As any setting that nobody understands."""
    (homes / "work/wink.toml").write_text(f"portable_names = {value}")

    with pytest.raises(SettingsError, match=r"\$\.portable_names: must be true or false"):
        portable_names_for(homes / "work", {"HOME": str(homes / "home")})


def test_commands_keep_to_the_bound(cli: Callable[..., Done], place: Path) -> None:
    """The tools of `wink call` write through the workspace that it opens."""
    (place / "wink.toml").write_text("max_file_bytes = 10")

    refused = cli("call", "write_file", "file_path=new.txt", f"content={'x' * 11}")
    written = cli("call", "write_file", "file_path=new.txt", f"content={'x' * 10}")

    assert "'new.txt' would have 11 bytes, more than the 10 that a file may have" in refused.out + refused.err
    assert (refused.status, written.status) == (1, 0)


@pytest.mark.parametrize(
    ("workspace", "own", "expected"),
    [
        ("", "", None),
        ("", "network = true", True),
        ("network = true", "", None),
        ("network = false", "", False),
        ("network = false", 'network = ["a.org"]', False),
        ("network = true", 'network = ["a.org"]', ("a.org",)),
        ('network = ["a.org"]', "", ("a.org",)),
        ('network = ["a.org"]', "network = true", ("a.org",)),
        ('network = ["a.org"]', "network = false", False),
        ('network = ["a.org"]', 'network = ["a.org", "b.org"]', ("a.org",)),
        ('network = ["c.org"]', 'network = ["a.org", "b.org"]', ("a.org", "b.org")),
        ("[tool.wink]\nnetwork = []", 'network = ["a.org"]', ()),
    ],
)
def test_a_workspace_can_only_take_hosts_away(
    homes: Path, workspace: str, own: str, expected: bool | tuple[str, ...] | None
) -> None:
    """An agent could have written its file."""
    (homes / "work/wink.toml").write_text(workspace)
    (homes / "home/.config/wink/wink.toml").write_text(own)

    found = network_settings(homes / "work", {"HOME": str(homes / "home")})

    assert found.network == expected


@pytest.mark.parametrize("value", ['"a.org"', "1", '["a.org", 1]', "{ a = 1 }"])
def test_what_is_no_list_of_hosts_is_refused(homes: Path, value: str) -> None:
    (homes / "work/wink.toml").write_text(f"network = {value}")

    with pytest.raises(SettingsError, match=r"\$\.network: must be true, false or a list of at most 1000 hosts"):
        network_settings(homes / "work", {"HOME": str(homes / "home")})
