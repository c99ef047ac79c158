"""What plugins of others add to `wink doctor`, `diff`, `gc` and `explain`, sound and broken."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.cli.conftest import Done

from wink.testing import fake_distribution

Cli = Callable[..., Done]

ASKED = """
from wink.cli import Checkup, Finding, Pending, wrong
from wink.errors import UnknownTry
from wink.filesystem import FileChange, FileVersion

def health(workspace):
    "Look at the shelf."
    return Checkup((Finding("shelf", "books", True, workspace), Finding("shelf", "dust", False, "\\x1b[2J", "wipe")), "so so", False)

def raises(*_, **__):
    raise ZeroDivisionError("oh")

def leaves(*_, **__):
    raise SystemExit(0)

def full(*_, **__):
    raise OSError(28, "full")

def half(*_, **__):
    return Pending((1,), "a draft")

def loud(*_, **__):
    print("hello")

def odd(*_, **__):
    return Checkup((3,))

def listed(workspace):
    return [1]

def drafts(workspace, name):
    "Show drafts."
    if name == "many":
        raise wrong("there are many; say which")
    if name not in (None, "first"):
        raise UnknownTry(name, ["first"])
    return Pending((FileChange("b.txt", None, FileVersion("file", 2, 0o644, None, lambda: b"b\\n")),), "a draft")

def nothing(workspace, name):
    return None
"""


@pytest.fixture
def add(tmp_path: Path) -> Iterator[Callable[..., None]]:
    """Install a distribution `wink-PLUGIN` whose entry points of a group lead to functions of `ASKED`, or of another source."""
    with ExitStack() as stack:

        def install(plugin: str, group: str, *functions: str, source: str = ASKED) -> None:
            points = {group: {f"{plugin}.{one}": f"fake_{plugin}:{one}" for one in functions}}
            modules = {f"fake_{plugin}": source}
            site = tmp_path / "site" / plugin
            stack.enter_context(
                fake_distribution(f"wink-{plugin}", "1.0", entry_points=points, modules=modules, directory=site)
            )

        yield install


def test_doctor_tells_what_plugins_find(cli: Cli, add: Callable[..., None]) -> None:
    """Below their own headings, after wink's own versions; what is not right there makes the status 1."""
    add("notes", "wink.doctor", "health")

    done = cli("doctor")
    rows = cli("doctor", "--json").rows

    assert done.status == 1
    assert "\nnotes: shelf\n  ok  books: .\n  --  dust: \\x1b[2J\n        wipe\n" in done.out
    assert "\nso so\n" in done.out
    assert {"group": "notes: shelf", "name": "books", "ok": True, "detail": ".", "remedy": ""} in rows


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("raises", "is broken: ZeroDivisionError: oh"),
        ("odd", "did not return a Checkup of Findings"),
        ("listed", "did not return a Checkup of Findings"),
        ("missing", "has no attribute 'missing'"),
    ],
)
def test_a_checkup_that_is_broken_is_a_finding(cli: Cli, add: Callable[..., None], function: str, said: str) -> None:
    """The others are told all the same, and the status is theirs."""
    add("notes", "wink.doctor", function)

    done = cli("doctor")

    assert done.status == 0, done.out
    (line,) = [line for line in done.out.splitlines() if line.startswith(f"  --  notes.{function}: ")]
    assert said in line
    assert "wink plugins why notes" in done.out
    assert "ok  sandbox: the overlay guard" in done.out


def test_a_checkup_of_a_plugin_that_is_switched_off_is_not_asked(
    cli: Cli, add: Callable[..., None], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is any but wink's own where nobody can tell what is switched off; and those no workspace switches off."""
    add("notes", "wink.doctor", "health")
    (place / "wink.toml").write_text('[plugins]\ndisable = ["notes", "sandbox"]\n')
    stranger = cli("doctor")
    monkeypatch.setenv("WINK_DISABLE_PLUGINS", "notes,sandbox")
    without = cli("doctor")
    monkeypatch.delenv("WINK_DISABLE_PLUGINS")
    (place / "wink.toml").write_text("[plugins]\ndisable = 3\n")
    unreadable = cli("doctor")

    assert "shelf" not in stranger.out + without.out + unreadable.out
    assert "ok  bubblewrap" in stranger.out
    assert "--  sandbox.programs: WINK_DISABLE_PLUGINS" in without.out
    assert "bubblewrap" not in without.out
    assert "ok  bubblewrap" in unreadable.out
    assert "fake_notes" not in sys.modules


def test_diff_shows_what_a_plugin_has_pending(cli: Cli, add: Callable[..., None]) -> None:
    """In place of what calls changed, or by its name; a name that nobody has is an error, as is what the plugin says."""
    add("notes", "wink.diffs", "drafts")

    done = cli("diff")

    assert (done.status, done.err) == (0, "a draft\n")
    assert "+++ b/b.txt" in done.out
    assert cli("diff", "--try", "first").out == done.out
    assert cli("diff", "--json").rows[0]["path"] == "b.txt"
    assert cli("diff", "c1..").out == ""
    assert cli("diff", "--try", "other") == Done(2, "", "wink: there is no try 'other'; there are: first\n")
    many = cli("diff", "--try", "many")
    assert (many.status, many.out) == (2, "")
    assert "notes.drafts' of wink-notes is broken: WrongInput: there are many" in many.err


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("raises", "wink: diff 'notes.raises' of wink-notes is broken: ZeroDivisionError: oh\n"),
        ("leaves", "wink: diff 'notes.leaves' of wink-notes is broken: SystemExit: 0\n"),
        ("full", "wink: diff 'notes.full' of wink-notes is broken: OSError: [Errno 28] full\n"),
        ("half", "wink: fake_notes:half did not return a Pending\n"),
        ("odd", "wink: fake_notes:odd did not return a Pending\n"),
        ("missing", "is broken: AttributeError: module 'fake_notes' has no attribute 'missing'\n"),
        ("nothing", ""),
    ],
)
def test_a_diff_that_is_broken_costs_a_line(cli: Cli, add: Callable[..., None], function: str, said: str) -> None:
    """What calls changed is shown."""
    add("notes", "wink.diffs", function)
    cli("call", "write_file", "file_path=new.txt", "content=three")

    done = cli("diff")

    assert done.status == 0
    assert "+three" in done.out
    assert done.err.endswith(said)
    assert done.err.count("\n") == bool(said)


@pytest.mark.parametrize("function", ["empty", "leaves", "loud"])
def test_nobody_hides_what_was_tried(cli: Cli, add: Callable[..., None], place: Path, function: str) -> None:
    """Neither another plugin, which is not asked where wink's own knows the answer, nor what the workspace says."""
    add(
        "aaa",
        "wink.diffs",
        function,
        source=ASKED + 'def empty(workspace, name): return Pending((), "nothing is tried")',
    )
    assert cli("try", "--", "touch", "tried.txt").status == 0
    (place / "wink.toml").write_text('[plugins]\ndisable = ["sandbox"]\n')

    for words in ((), ("--try", "default"), ("--json",)):
        done = cli("diff", *words)
        assert (done.status, "tried.txt" in done.out) == (0, True)
    (place / "wink.toml").write_text("[plugins]\nallow = 3\n")
    assert "tried.txt" in cli("diff").out
    assert cli("drop").status == 0


def test_who_switches_tries_off_is_told_that_they_are_not_shown(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """The option is wink's, what it shows is a plugin's."""
    monkeypatch.setenv("WINK_DISABLE_PLUGINS", "sandbox")

    said = "wink: sandbox.tries is not asked: WINK_DISABLE_PLUGINS = 'sandbox'\n"
    assert cli("diff") == Done(0, "", said)
    done = cli("diff", "--try", "x")
    assert (done.status, done.err.startswith(f"{said}wink: nothing is being tried here")) == (2, True)


COLLECTING = """
def frees(workspace, dry_run): return "would free 2 pages" if dry_run else "freed 2 pages"
def nothing(workspace, dry_run): return ""
def raises(workspace, dry_run): return 1 / 0
def odd(workspace, dry_run): return 3
"""


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("frees", "freed 2 pages\n"),
        ("nothing", ""),
        ("raises", "wink: collection 'notes.raises' of wink-notes is broken: ZeroDivisionError: division by zero\n"),
        ("odd", "wink: fake_notes:odd did not return text\n"),
    ],
)
def test_gc_lets_plugins_free_what_they_keep(cli: Cli, add: Callable[..., None], function: str, said: str) -> None:
    """One that cannot costs a line; calls are collected all the same."""
    add("notes", "wink.gc", function, source=COLLECTING)
    cli("call", "write_file", "file_path=new.txt", "content=three")

    done = cli("gc")

    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("freed 0 bytes of 0 calls;")
    assert "".join(line for line in done.out.splitlines(True) if "pages" in line or "notes" in line) == said
    if function == "frees":
        assert "would free 2 pages\n" in cli("gc", "--dry-run").out


EXPLAINING = """
from wink.cli import Verdict

def reads(workspace, about, subjects, look_up):
    return tuple((Verdict("shelf", "read", "deny", f"{about} {one} {look_up}", "notes.toml:3", "shut"),) for one in subjects)

def nothing(workspace, about, subjects, look_up): return tuple(() for _ in subjects)
def raises(workspace, about, subjects, look_up): return 1 / 0
def fewer(workspace, about, subjects, look_up): return ()
def odd(workspace, about, subjects, look_up): return tuple((Verdict("shelf", "read", "perhaps"),) for _ in subjects)
def bare(workspace, about, subjects, look_up): return tuple((1,) for _ in subjects)
def plain(workspace, about, subjects, look_up): return tuple((("shelf", "read", "allow", "", "", ""),) for _ in subjects)
"""


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("reads", ""),
        ("nothing", ""),
        ("raises", "wink: explanation 'notes.raises' of wink-notes is broken: ZeroDivisionError: division by zero\n"),
        *(
            (one, f"wink: fake_notes:{one} did not return a tuple of Verdicts for each\n")
            for one in ("fewer", "odd", "bare", "plain")
        ),
    ],
)
def test_explain_lets_plugins_say_what_they_do(cli: Cli, add: Callable[..., None], function: str, said: str) -> None:
    """Under their own name; one that cannot say it costs a line, and the others' answers stand."""
    add("notes", "wink.explain", function, source=EXPLAINING)

    done = cli("explain", "--path", "a.txt")

    assert (done.status, done.err) == (1 if function == "reads" else 0, said)
    assert "  wink try reads it: allowed\n" in done.out
    told = "  notes: shelf reads it: denied: path a.txt False\n    decided by notes.toml:3 shut\n"
    assert (told in done.out) == (function == "reads")


def test_explain_does_without_a_plugin_of_winks_that_is_switched_off(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says whom it did not ask."""
    monkeypatch.setenv("WINK_DISABLE_PLUGINS", "shell")

    done = cli("explain", "--path", "a.txt")

    assert done.err == "wink: shell.commands is not asked: WINK_DISABLE_PLUGINS = 'shell'\n"
    assert "run_command" not in done.out
    assert cli("explain", "--command", "ls").status == 2
