"""What settings say is a secret is in no log and on no screen."""

from __future__ import annotations

import json
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Done
from tests.states import state_of

Cli = Callable[..., Done]


def test_settings_add_patterns_names_and_variables(cli: Cli, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The workspace's and the user's add up; the file itself has what was written."""
    monkeypatch.setenv("DEPLOY_WORD", "open sesame")
    monkeypatch.setenv("ACME_TOKEN", "q8ZtWv2Lw7")
    (place / "wink.toml").write_text('[mask]\npatterns = ["acme-[0-9]{4}"]\n')
    home = place.parent / "home" / ".config" / "wink"
    home.mkdir(parents=True)
    (home / "wink.toml").write_text('[mask]\nenvironment = ["DEPLOY_*"]\nnames = ["file_path"]\n')
    text = "acme-1234 open sesame q8ZtWv2Lw7 and more"

    assert cli("call", "write_file", "file_path=b.txt", f"content={text}").status == 0

    assert (place / "b.txt").read_text() == text
    (row,) = cli("log", "--json").rows
    assert row["arguments"] == {"file_path": "[masked]", "content": "[masked] [masked] [masked] and more"}
    assert "+" + text in cli("diff", "c1").out  # what is in a file is the user's own
    for part in ("acme-1234", "open sesame", "q8ZtWv2Lw7"):
        assert part.encode() not in b"".join(path.read_bytes() for path in state_of(place).glob("record*"))
        assert part not in cli("show", "c1").out.partition("changed:")[0]


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ('patterns = ["("]', "$.mask.patterns[0]"),
        ("patterns = 3", "must be a list"),
        ("pattern = []", "there is no such setting"),
        ('names = [""]', "must be a list"),
    ],
)
def test_settings_that_make_no_sense_stop_the_command(cli: Cli, place: Path, table: str, says: str) -> None:
    """Whoever misspells what is secret must not go on without it."""
    (place / "wink.toml").write_text(f"[mask]\n{table}\n")

    done = cli("call", "ls")

    assert (done.status, done.out) == (2, "")
    assert says in done.err


def test_approvals_are_shown_masked_and_run_as_they_were_asked(
    cli: Cli, place: Path, script: Callable[[str], str]
) -> None:
    """The person sees that there is a secret; the call gets it, whether it is approved as it is or changed."""
    (place / "wink.toml").write_text('[[rules]]\naction = "ask"\ntools = ["write_file"]\n')
    key = "sk-proj-Zq3vT9xLm2Rk8wYb"
    call = f'tool = "write_file"\narguments = {{ file_path = "k.txt", content = "{key}" }}'
    path = script(f'[[turn]]\n[[turn.call]]\n{call}\n\n[[turn]]\ntext = "done"\n')

    first = cli("run", f"Keep {key}", "--model", f"scripted:{path}", "--no-input", "--json")
    listed, machine = cli("approvals"), cli("approvals", "--json")
    approved = cli("approve", "a1", "file_path=l.txt")
    again = cli("run", "--resume", "--no-input", "--json")

    assert (first.status, approved.status, again.status) == (3, 0, 0), again.err
    assert (place / "l.txt").read_text() == key
    said = first.out + first.err + listed.out + machine.out + approved.out + again.out + again.err + cli("runs").out
    assert "Zq3vT9x" not in said.replace(json.dumps(path), "")
    assert "[masked]" in listed.out
    assert b"Zq3vT9x" not in b"".join(one.read_bytes() for one in state_of(place).glob("record*"))
    assert not list((state_of(place) / "held").glob("*"))


def test_what_is_read_from_files_is_in_nothing_that_is_kept_or_shown_of_calls(
    cli: Cli, place: Path, tmp_path: Path
) -> None:
    """A tool reads a file full of secrets, whole and in part; the model gets them, and nothing else does."""
    secrets = ("sk-proj-Zq3vT9xLm2Rk8wYb", "hunter2-hunter2", "ghp_16C7e42F292c6912E7710c")
    lines = [f"api_key = '{secrets[0]}'", f"DB_PASSWORD={secrets[1]}", f"url: https://{secrets[2]}@example.org/"]
    (place / "config.env").write_text("\n".join(lines) + "\n")
    (place / "large.txt").write_text("\n".join([*["filler " * 12] * 900, *lines, *["filler " * 12] * 300]))

    first = cli("call", "read_file", "file_path=config.env")
    cli("call", "read_file", "file_path=large.txt", "limit=7000")
    cli("call", "grep", "pattern=hunter2|sk-|ghp_", "path=.")
    cli("call", "write_file", "file_path=copy.env", "content=" + "\n".join(lines))
    cli("call", "write_file", "file_path=config.env", "content=" + lines[0])
    cli("undo", "c4")

    assert all(secret in first.out for secret in secrets)
    shown = [cli(*command).out for command in (("log",), ("log", "--json"), ("events",), ("runs",), ("tries",))]
    shown += [cli("show", f"c{number}").out.partition("changed:")[0] for number in range(1, 7)]
    assert cli("export", str(tmp_path / "s.wink")).status == 0
    assert cli("export", str(tmp_path / "s.html"), "--html").status == 0
    assert cli("import", str(tmp_path / "s.wink"), str(tmp_path / "there")).status == 0
    with zipfile.ZipFile(tmp_path / "s.wink") as archive:
        shown += [archive.read(name).decode("latin-1") for name in archive.namelist()]
    shown.append((tmp_path / "s.html").read_text())
    there = state_of(tmp_path / "there")
    subprocess.run(["git", "clone", "-q", str(there / "history.bundle"), "cloned"], cwd=tmp_path, check=True)
    shown.append(subprocess.run(["git", "log", "-p"], cwd=tmp_path / "cloned", capture_output=True, text=True).stdout)
    assert "+api_key = '[masked]'" in shown[-1]
    state = [*state_of(place).glob("record.db*"), *(state_of(place) / "results").glob("*")]
    assert any("results" in path.parts for path in state)
    kept = [path.read_bytes() for path in [*state, *there.glob("record.db*")]]
    for secret in secrets:
        assert not [text[:80] for text in shown if secret in text]
        assert not [data[:20] for data in kept if secret.encode() in data]
