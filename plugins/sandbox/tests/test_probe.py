"""What a host lacks is said with the way to get it, and nothing is run without what is needed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from plugins.sandbox.tests.conftest import Place

from wink.errors import SandboxUnavailable
from wink_sandbox import Feature, Report, bubblewrap, foreign, probe
from wink_sandbox.programs import _ids as ids


def test_this_host_can_do_what_the_tests_need() -> None:
    """Everything that the overlay guard needs, each with a name."""
    report = probe()

    assert report.lacks("overlay") == ()
    assert report["bubblewrap"].detail >= "0.8"
    assert report.guard == "overlay"
    assert probe() is report


def test_what_is_missing_comes_with_a_remedy() -> None:
    """In the words of the person who has to do something about it."""
    report = Report(
        (
            Feature("linux", True, "6.1"),
            Feature("bubblewrap", False, "not in /usr/bin", "apt-get install bubblewrap"),
            Feature("user namespaces", True),
            Feature("overlayfs", True),
        )
    )

    assert report.lacks("overlay") == ("bubblewrap: missing (not in /usr/bin); apt-get install bubblewrap",)


def test_missing_bubblewrap_is_an_error_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch, place: Place) -> None:
    """And no program is run without."""
    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).endswith("bwrap"))

    with pytest.raises(SandboxUnavailable, match="apt-get install bubblewrap"):
        bubblewrap()
    with pytest.raises(SandboxUnavailable):
        place.run("echo x > a")
    assert not (place.root / "a").exists()


def test_files_of_others_are_named_before_a_program_starts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Only those of users whose ids are mapped can be copied into the overlay."""
    (tmp_path / "mine").touch()
    (tmp_path / "given").touch()
    (tmp_path / "theirs").touch()
    own, group = os.geteuid(), os.getegid()
    os.chown(tmp_path / "given", own, group)
    monkeypatch.setattr(os, "getuid", lambda: 4242)
    monkeypatch.setattr(
        "wink_sandbox._lay.mapped", lambda kind: (range(4242, 4243), range(own, own + 1), range(group, group + 1))
    )
    assert foreign(str(tmp_path)) == ()

    monkeypatch.setattr("wink_sandbox._lay.mapped", lambda kind: (range(4242, 4243),))
    assert [name for name, _ in foreign(str(tmp_path))] == ["given", "mine", "theirs"]


def test_ids_of_a_user_are_read_by_name_and_number(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As /etc/subuid has them; other lines are other users'."""
    import pwd

    name = pwd.getpwuid(os.getuid()).pw_name
    (tmp_path / "subuid").write_text(f"other:1:2\n{name}:100000:65536\n\n{os.getuid()}:300000:10\n")
    (tmp_path / "subgid").write_text("")

    monkeypatch.setattr(ids, "_helper", lambda tool: f"/usr/bin/{tool}")
    real = ids._subordinate
    monkeypatch.setattr(ids, "_subordinate", lambda names: real(f"{tmp_path}/{os.path.basename(names)}"))
    ids.mapped.cache_clear()
    try:
        assert ids.mapped("uid")[1:] == (range(100000, 165536), range(300000, 300010))
        assert ids.mapped("gid")[1:] == ()
        assert ids.commands() == []  # both or none: files have an owner and a group
    finally:
        ids.mapped.cache_clear()
