"""A session goes into one file and comes out elsewhere, whole and harmless; nothing else comes out of any file."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import random
import subprocess
import zipfile
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Done

from wink.filesystem import path_in_json
from wink_bundles import BundleRefused, _exporting, read_bundle

Cli = Callable[..., Done]
SECRET = "sk-proj-Zq3vT9xLm2Rk8wYb"
HOSTILE = "<script>alert(1)</script>\"'&</pre><img src=http://x.example/i onerror=x>\u202egnp.exe\x1b[2J"


@pytest.fixture
def worked(cli: Cli, place: Path, script: Callable[[str], str]) -> Cli:
    """A session with hostile names and texts, a secret, an undo and a run; and a call of another session."""
    call = f'tool = "write_file"\narguments = {{ file_path = "keys/k.env", content = "KEY={SECRET}\\n" }}'
    path = script(f'[[turn]]\n[[turn.call]]\n{call}\n\n[[turn]]\ntext = "done"\n')
    assert cli("run", f"Keep {SECRET}", "--model", f"scripted:{path}", "--no-input").status == 0
    assert cli("call", "read_file", "file_path=a.txt").status == 0
    assert cli("call", "write_file", "file_path=a.txt", f"content={HOSTILE}\n").status == 0
    assert cli("call", "write_file", "file_path=x&amp;y's.txt", "content=1\n").status == 0
    assert cli("call", "write_file", "file_path=other.txt", "content=2\n", "--session", "other").status == 0
    assert cli("undo", "c3").status == 0
    return cli


def git(*arguments: str, cwd: Path) -> str:
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    return subprocess.run(["git", *arguments], cwd=cwd, env=env, check=True, capture_output=True, text=True).stdout


def test_json_says_what_was_written_and_read(worked: Cli, tmp_path: Path) -> None:
    """Whole paths, since whoever reads it may stand elsewhere."""
    (written,) = worked("export", str(tmp_path / "s.wink"), "--json").rows
    (read,) = worked("import", str(tmp_path / "s.wink"), str(tmp_path / "there"), "--json").rows

    assert (written["file"], written["session"], written["runs"]) == (str(tmp_path / "s.wink"), "default", 1)
    assert read == {
        "directory": str(tmp_path / "there"),
        "session": "default",
        "calls": written["calls"],
        "chain": read["chain"],
    }
    assert read["chain"]["position"] == 6


def test_a_session_is_read_elsewhere_as_it_was(worked: Cli, place: Path, tmp_path: Path) -> None:
    """`log`, `show`, `diff` and `events` say the same there as here, of this session alone."""
    assert worked("export", str(tmp_path / "s.wink")).status == 0
    there = str(tmp_path / "there")
    assert worked("import", str(tmp_path / "s.wink"), there).status == 0

    here = worked("log", "--json", "--session", "default").rows
    assert worked("log", "--json", "--workspace", there).rows == here
    for row in here:
        assert worked("show", row["call"], "--json", "--workspace", there).out == worked(
            "show", row["call"], "--json"
        ).out.replace(SECRET, "[masked]")
    assert SECRET not in worked("diff", "--workspace", there).out
    assert "+<script>" not in worked("diff", "--workspace", there).out  # it was undone
    assert "keys/k.env" in worked("diff", "--workspace", there).out
    events = worked("events", "--workspace", there).rows
    assert [row["event"] for row in events][:2] == ["run-begun", "run-prompt"]
    (run,) = read_bundle(str(tmp_path / "s.wink")).session.runs
    assert (run.state, run.turns) == ("ended", 2)
    assert run.prompts[0].text.startswith("# ") or run.prompts[0].text


def test_an_imported_session_can_only_be_looked_at(worked: Cli, tmp_path: Path) -> None:
    """It is somebody's account of what happened elsewhere."""
    worked("export", str(tmp_path / "s.wink"))
    there = tmp_path / "there"
    worked("import", str(tmp_path / "s.wink"), str(there))
    before = {path: path.read_bytes() for path in there.rglob("*") if path.is_file()}

    for command in (
        ("call", "write_file", "file_path=n.txt", "content=1"),
        ("undo",),
        ("checkpoint", "x"),
        ("restore", "c1"),
        ("run", "--resume"),
    ):
        assert worked(*command, "--workspace", str(there)).status != 0, command
    worked("gc", "--workspace", str(there))

    after = {path: path.read_bytes() for path in there.rglob("*") if path.is_file() and "lease" not in path.name}
    assert {path: data for path, data in after.items() if path in before} == before


def test_the_history_is_a_repository_that_git_takes(worked: Cli, place: Path, tmp_path: Path) -> None:
    """With each call a commit, no secret in any blob, and nothing of other sessions."""
    worked("export", str(tmp_path / "s.wink"))
    bundle = read_bundle(str(tmp_path / "s.wink"))
    assert bundle.history is not None
    (tmp_path / "h.bundle").write_bytes(bundle.history)
    git("init", "-q", "empty", cwd=tmp_path)
    git("bundle", "verify", "../h.bundle", cwd=tmp_path / "empty")
    git("clone", "-q", "h.bundle", "clone", cwd=tmp_path)
    git("fsck", "--strict", cwd=tmp_path / "clone")

    log = git("log", "--format=%s", "--reverse", cwd=tmp_path / "clone").splitlines()
    whole = git("log", "-p", "--format=%B", cwd=tmp_path / "clone")
    assert log[0] == "write_file: c1"
    assert log[1:] == ["found: c3", "write_file: c3", "write_file: c4", "undo: c6"]
    assert SECRET not in whole
    assert "other.txt" not in whole
    assert (tmp_path / "clone" / "keys" / "k.env").read_text() == "KEY=[masked]\n"
    assert (tmp_path / "clone" / "x&amp;y's.txt").read_text() == "1\n"
    assert (tmp_path / "clone" / "a.txt").read_text() == "one\ntwo\n"


def test_large_files_come_along_by_lines_and_others_by_digests(
    cli: Cli, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Texts as far as there is room, which is so much that the bundle can be read again."""
    lines = "".join(f"line {number}\n" for number in range(20_000))
    for name in ("big.txt", "more.txt"):
        (place / name).write_text(lines)
    for name in ("big.txt", "more.txt"):
        assert cli("call", "read_file", f"file_path={name}").status == 0
        assert cli("call", "edit_file", f"file_path={name}", "old_string=line 999\n", "new_string=other\n").status == 0
    packed = base64.b64encode(lines.encode() + b"\xff").decode()
    assert cli("call", "write_bytes", "file_path=odd.txt", f"content={packed}").status == 0
    monkeypatch.setattr(_exporting, "_LARGE_TOGETHER", 2 * len(lines))

    assert cli("export", str(tmp_path / "s.wink")).status == 0
    assert cli("import", str(tmp_path / "s.wink"), str(tmp_path / "there")).status == 0
    assert cli("export", str(tmp_path / "s.html"), "--html").status == 0

    changed = lines.replace("line 999\n", "other\n")
    old, new, odd = (
        hashlib.sha256(one).hexdigest() for one in (lines.encode(), changed.encode(), lines.encode() + b"\xff")
    )
    page = (tmp_path / "s.html").read_text()
    said = cli("diff", "--workspace", str(tmp_path / "there"), "--color", "always").out.replace("\x1b[0m", "")
    assert "+other" in said
    assert (
        f"more.txt: a file of {len(lines)} bytes (SHA-256 {old}) became a file of {len(changed)} bytes (SHA-256 {new})"
        in said
    )
    assert page.count('<td class="code">other</td>') == 2
    assert f"odd.txt: created a file of {len(lines) + 1} bytes (SHA-256 {odd})" in said
    assert "created odd.txt: 20001 lines added" in page


class Page(HTMLParser):
    """The elements and addresses of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.said = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.said += data


def test_the_page_shows_everything_as_text_and_loads_nothing(worked: Cli, tmp_path: Path) -> None:
    """It is mailed around, and what tools put out is in it."""
    assert worked("export", str(tmp_path / "s.html"), "--html").status == 0
    text = (tmp_path / "s.html").read_text()
    page = Page(text)

    assert not page.tags & {"script", "link", "img", "iframe", "object", "embed", "form", "input", "button", "base"}
    names = {name for name, _ in page.attributes}
    assert not {
        name for name in names if name.startswith(("on", "hx-")) or name in ("src", "srcset", "style", "action")
    }
    anchors = {value for name, value in page.attributes if name == "id"}
    links = {value for name, value in page.attributes if name == "href"}
    assert links <= {f"#{anchor}" for anchor in anchors}
    assert {"c1", "c2", "c3", "c4", "r1-1"} <= anchors
    assert len(anchors) == len([name for name, _ in page.attributes if name == "id"])
    assert "url(" not in text
    assert "@import" not in text
    assert "<script>alert(1)</script>" in page.said
    assert "x&amp;y's.txt" in page.said
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert SECRET not in text
    assert "prefers-color-scheme: dark" in text
    style = text.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert ("content", f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:") in page.attributes


def test_texts_on_the_page_are_bounded(cli: Cli, place: Path, tmp_path: Path) -> None:
    """A page with all of a long reply or diff would be slow to open; what is left out is counted."""
    (place / "long.txt").write_text("".join(f"line {number}\n" for number in range(900)))
    (place / "wide.txt").write_text("x" * 90_000)
    assert cli("call", "read_file", "file_path=long.txt").status == 0
    assert cli("call", "write_file", "file_path=new.txt", "content=" + "n\n" * 900).status == 0
    assert cli("export", str(tmp_path / "s.html"), "--html").status == 0

    said = Page((tmp_path / "s.html").read_text()).said

    assert "line 390\n" in said
    assert "line 410\n" not in said
    assert said.count("more characters") == 2  # the reply, and the content as an argument
    assert "600 more lines" in said


def test_a_link_with_a_secret_in_it_is_masked(cli: Cli, place: Path, tmp_path: Path) -> None:
    """Where a link leads is told as what a file says is."""
    (place / "old").symlink_to(f"{SECRET}/x")
    assert cli("call", "rm", "path=old").status == 0
    assert (
        cli("export", str(tmp_path / "s.wink")).status == cli("export", str(tmp_path / "s.html"), "--html").status == 0
    )

    with zipfile.ZipFile(tmp_path / "s.wink") as archive:
        calls = archive.read("calls.jsonl").decode()
    assert "[masked]/x" in calls
    assert SECRET not in calls + (tmp_path / "s.html").read_text()


def test_without_the_page_a_line_says_what_to_install(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bundle needs nothing more."""
    assert cli("call", "write_file", "file_path=n.txt", "content=n").status == 0
    monkeypatch.setattr("wink_ui.find_spec", lambda name: None)

    done = cli("export", str(tmp_path / "s.html"), "--html")

    assert (done.status, done.err) == (2, "wink: the page needs the package 'jinja2'; install wink[ui]\n")
    assert cli("export", str(tmp_path / "s.wink")).status == 0
    assert [path.name for path in tmp_path.glob("s.*")] == ["s.wink"]


def test_nothing_is_written_over(worked: Cli, tmp_path: Path) -> None:
    """Neither a file by an export, nor a directory by an import."""
    target = tmp_path / "s.wink"
    target.write_text("mine")
    assert worked("export", str(target)).status == 2
    assert target.read_text() == "mine"
    assert worked("export", str(target), "--force").status == 0
    there = tmp_path / "there"
    there.mkdir()
    (there / "x").write_text("mine")
    assert worked("import", str(target), str(there)).status == 2
    assert [path.name for path in there.iterdir()] == ["x"]
    assert worked("export", str(tmp_path / "t.wink"), "--session", "nobody").status == 2
    assert not (tmp_path / "t.wink").exists()


# -- hostile and damaged files


_good: dict[str, bytes] = {}


@pytest.fixture
def members(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, bytes]:
    """What is in a good bundle, which is written once for all these tests."""
    if not _good:
        request.getfixturevalue("worked")("export", str(tmp_path / "good.wink"))
        with zipfile.ZipFile(tmp_path / "good.wink") as archive:
            _good.update({name: archive.read(name) for name in archive.namelist()})
    return dict(_good)


def packed(members: dict[str, bytes], *, honest: bool = True, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A bundle of these; an honest one says what is in it."""
    if honest:
        manifest = json.loads(members["manifest.json"])
        manifest["files"] = {
            name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            for name, data in members.items()
            if name != "manifest.json"
        }
        members = {**members, "manifest.json": json.dumps(manifest).encode()}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def edited(members: dict[str, bytes], name: str, **values: object) -> dict[str, bytes]:
    """The same with other values in the first row."""
    first, _, rest = members[name].partition(b"\n")
    return {**members, name: json.dumps({**json.loads(first), **values}).encode() + b"\n" + rest}


def _side(**values: object) -> dict[str, object]:
    return {"kind": "file", "size": 1, "mode": 420, "target": None, "content": "x", **values}


def _changed(members: dict[str, bytes], path: str) -> dict[str, bytes]:
    change = {"path": path, "moved_from": None, "before": None, "after": _side()}
    return edited(members, "calls.jsonl", changes=[change])


ATTACKS: dict[str, tuple[Callable[[dict[str, bytes]], bytes], str]] = {
    "a name above": (lambda m: packed({**m, "../../evil": b"x"}), "no bundle has"),
    "an absolute name": (lambda m: packed({**m, "/tmp/evil": b"x"}), "no bundle has"),
    "a name of Windows": (lambda m: packed({**m, "C:\\evil": b"x"}), "no bundle has"),
    "a missing file": (lambda m: packed({k: v for k, v in m.items() if k != "calls.jsonl"}), "files that it lists"),
    "no manifest": (lambda m: packed({k: v for k, v in m.items() if "manifest" not in k}, honest=False), "names"),
    "another content": (
        lambda m: packed({**m, "calls.jsonl": m["calls.jsonl"].replace(b"committed", b"Committed", 1)}, honest=False),
        "is not what",
    ),
    "a bomb": (lambda m: packed({**m, "slices.jsonl": b"\0" * (20 << 20)}), "more than 8 MiB"),
    "a long manifest": (
        lambda m: packed({**m, "manifest.json": m["manifest.json"] + b" " * (5 << 20)}, honest=False),
        "larger",
    ),
    "a later format": (
        lambda m: packed({**m, "manifest.json": json.dumps({**json.loads(m["manifest.json"]), "format": 9}).encode()}),
        "upgrade wink",
    ),
    "an odd session": (
        lambda m: packed(
            {**m, "manifest.json": json.dumps({**json.loads(m["manifest.json"]), "session": "../x"}).encode()}
        ),
        "manifest",
    ),
    "a path above": (lambda m: packed(_changed(m, "../../etc/passwd")), "no path in a workspace"),
    "an absolute path": (lambda m: packed(_changed(m, "/etc/passwd")), "no path in a workspace"),
    "an odd digest": (
        lambda m: packed(
            edited(
                m,
                "calls.jsonl",
                changes=[{"path": "a", "moved_from": None, "before": None, "after": _side(digest="a\nb")}],
            )
        ),
        "as a SHA-256",
    ),
    "an odd outcome": (lambda m: packed(edited(m, "calls.jsonl", outcome="fine")), "line 1"),
    "another key": (lambda m: packed(edited(m, "calls.jsonl", more=1)), "line 1"),
    "a huge number": (lambda m: packed(edited(m, "calls.jsonl", number=1 << 62)), "do not rise"),
    "a number below": (lambda m: packed(edited(m, "calls.jsonl", number=-1)), "do not rise"),
    "a time that cannot be": (lambda m: packed(edited(m, "calls.jsonl", started_at=-1)), "time that cannot be"),
    "a call that lasts for ever": (lambda m: packed(edited(m, "calls.jsonl", duration=1 << 62)), "number in it"),
    "a number that no database holds": (lambda m: packed(edited(m, "calls.jsonl", approval=10**30)), "number in it"),
    "a size that no file has": (
        lambda m: packed(
            edited(
                m,
                "calls.jsonl",
                changes=[{"path": "a", "moved_from": None, "before": None, "after": _side(size=1 << 70)}],
            )
        ),
        "number in it",
    ),
    "tokens below nothing": (lambda m: packed(edited(m, "runs.jsonl", input_tokens=-1)), "less than nothing"),
    "an event of no run": (lambda m: packed(edited(m, "events.jsonl", run=10**30)), "number in it"),
    "a key twice": (
        lambda m: packed(edited(m, "slices.jsonl", items=[["k", "{}"], ["k", "{}"]])),
        "a key twice",
    ),
    "a path through itself": (lambda m: packed(_changed(m, "a/../../b")), "no path in a workspace"),
    "a deep nest": (
        lambda m: packed({**m, "events.jsonl": b'{"number":1,"data":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"}),
        "",
    ),
    "no git bundle": (lambda m: packed({**m, "history.bundle": b"#!/bin/sh\nrm -rf ~\n"}), "no git bundle"),
    "odd packing": (lambda m: packed(m, compression=zipfile.ZIP_LZMA), "unusual"),
    "text": (lambda m: b"hello", "damaged"),
    "nothing": (lambda m: b"", "damaged"),
}


@pytest.mark.parametrize("name", ["caf\udce9.txt", "a\\b", "a\nb"])
def test_names_that_only_programs_make_come_along(
    cli: Cli, members: dict[str, bytes], tmp_path: Path, name: str
) -> None:
    """A program in a try may name its files in any bytes; that is no reason to lose the session."""
    del members["chain.jsonl"]  # which knows better
    (tmp_path / "odd.wink").write_bytes(packed(edited(_changed(members, name), "calls.jsonl", reply="\udcff")))
    there = str(tmp_path / "there")

    assert cli("import", str(tmp_path / "odd.wink"), there).status == 0

    row = cli("log", "--json", "--workspace", there).rows[-1]
    assert json.dumps(path_in_json(name))[1:-1] in json.dumps(row)
    assert cli("show", "c1", "--json", "--workspace", there).status == 0


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_means_harm_is_refused_and_nothing_is_written(
    cli: Cli, members: dict[str, bytes], tmp_path: Path, attack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One clear line; no file anywhere."""
    monkeypatch.setattr("wink_bundles._bundle.LARGEST", 8 << 20)
    make, says = ATTACKS[attack]
    (tmp_path / "bad.wink").write_bytes(make(members))
    before = sorted(tmp_path.rglob("*"))

    done = cli("import", str(tmp_path / "bad.wink"), str(tmp_path / "there"))

    assert (done.status, done.out) == (2, "")
    assert says in done.err
    assert done.err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_a_damaged_file_is_refused_wherever_it_is_damaged(cli: Cli, members: dict[str, bytes], tmp_path: Path) -> None:
    """Cut off anywhere, or with any bytes changed: it is refused, or it says what it said."""
    whole, choose = packed(members), random.Random(3)
    good = tmp_path / "good.wink"
    good.write_bytes(whole)
    expected = read_bundle(str(good)).session
    for _ in range(150):
        data = bytearray(whole)
        if choose.random() < 0.3:
            del data[choose.randrange(len(data)) :]
        else:
            for _ in range(choose.randrange(1, 4)):
                data[choose.randrange(len(data))] ^= 1 << choose.randrange(8)
        (tmp_path / "bad.wink").write_bytes(data)
        try:
            assert read_bundle(str(tmp_path / "bad.wink")).session == expected
        except BundleRefused:
            continue


def test_files_that_cannot_be_read_are_named(cli: Cli, tmp_path: Path) -> None:
    """A missing one, and a directory."""
    for name in ("missing.wink", "."):
        done = cli("import", str(tmp_path / name), str(tmp_path / "there"))
        assert done.status == 2
        assert "was not imported" in done.err


def test_what_is_no_file_is_not_replaced(cli: Any, place: Path) -> None:
    """A draft that is renamed over a device takes the device away."""
    cli("call", "write_file", "file_path=n.txt", "content=n")
    os.mkfifo(place / "pipe")

    done = cli("export", "--force", "pipe")

    assert (done.status, done.err) == (2, "wink: 'pipe' is no file; name another\n")
    assert (place / "pipe").is_fifo()


# -- the chain of the record


def test_what_is_told_of_calls_fits_the_record(worked: Cli, members: dict[str, bytes], tmp_path: Path) -> None:
    """Of another session there is nothing but commitments, and the last entry is the one that `wink verify` names."""
    (tmp_path / "s.wink").write_bytes(packed(members))
    (read,) = worked("import", str(tmp_path / "s.wink"), str(tmp_path / "there"), "--json").rows
    links = [json.loads(line) for line in members["chain.jsonl"].splitlines()]

    assert read["chain"] == {"position": links[-1]["position"], "entry": links[-1]["entry"]}
    assert all(piece["commitment"] and not piece["text"] for piece in links[5]["pieces"])
    assert [bool(piece["salt"]) for link in links[1:5] for piece in link["pieces"]].count(True) > 10
    assert b"other.txt" not in members["chain.jsonl"]
    assert SECRET.encode() not in members["chain.jsonl"]
    done = worked("verify", "--workspace", str(tmp_path / "there"))
    assert (done.status, "were written before there was a chain" in done.out) == (0, True)


FORGED: dict[str, Any] = {
    "arguments": {"arguments": "{}"},
    "a reply": {"reply": "fine"},
    "a tool": {"tool": "read_file"},
    "a number": {"number": 1 << 20},
    "a time": {"started_at": 1},
    "whether it stands": {"committed": False},
    "what it took back": {"takes_back": [1]},
    "an error": {"error": "no"},
}


@pytest.mark.parametrize("what", FORGED)
def test_a_call_that_was_edited_is_refused(cli: Cli, members: dict[str, bytes], tmp_path: Path, what: str) -> None:
    """Although the manifest was made to fit."""
    lines = members["calls.jsonl"].splitlines()
    lines[-1] = json.dumps(json.loads(lines[-1]) | FORGED[what]).encode()
    (tmp_path / "s.wink").write_bytes(packed({**members, "calls.jsonl": b"".join(line + b"\n" for line in lines)}))

    done = cli("import", str(tmp_path / "s.wink"), str(tmp_path / "there"))

    assert (done.status, "not what wink's record said" in done.err) == (2, True)


@pytest.mark.parametrize("line", [1, 3, 5])
def test_an_entry_that_was_taken_out_or_edited_is_refused(
    cli: Cli, members: dict[str, bytes], tmp_path: Path, line: int
) -> None:
    """Also one of another session."""
    lines = members["chain.jsonl"].splitlines(keepends=True)
    edited_line = json.dumps(json.loads(lines[line]) | {"entry": "00" * 32}).encode() + b"\n"
    for chain in (lines[:line] + lines[line + 1 :], [*lines[:line], edited_line, *lines[line + 1 :]]):
        (tmp_path / "s.wink").write_bytes(packed({**members, "chain.jsonl": b"".join(chain)}))

        done = cli("import", str(tmp_path / "s.wink"), str(tmp_path / "there"))

        assert done.status == 2
        assert "not what wink's record said" in done.err
