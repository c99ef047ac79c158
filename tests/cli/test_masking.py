"""What settings say is a secret is in no log and on no screen."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Done

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
        assert part.encode() not in b"".join(path.read_bytes() for path in (place / ".wink").glob("record*"))
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

    done = cli("log")

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
    assert b"Zq3vT9x" not in b"".join(one.read_bytes() for one in (place / ".wink").glob("record*"))
    assert not list((place / ".wink" / "held").glob("*"))
