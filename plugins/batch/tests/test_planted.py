"""Workers import nothing that an agent could have written."""

from __future__ import annotations

from pathlib import Path

import pytest

from wink_batch._nursery import Nursery


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with modules that leave a mark when they are imported, and that is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_nursery_imports_nothing_from_where_it_begins(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker may have been started in any directory."""
    monkeypatch.setenv("PLANTED", str(place / "planted"))
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    for name in ("sqlite3", "ctypes", "pydantic"):
        (place / f"{name}.py").write_text("import os; open(os.environ['PLANTED'], 'w').close()")

    nursery = Nursery()
    nursery.learn(())
    nursery.close()

    assert not (place / "planted").exists()
