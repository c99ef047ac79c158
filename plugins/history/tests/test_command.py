"""`wink history`: git reads what calls did, and nothing that came with a workspace has a say in it."""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from wink.cli import WrongInput
from wink.workspace import Workspace
from wink_history.commands._git_words import SUBCOMMANDS, git_words

WINK = [sys.executable, "-m", "wink"]
Run = Callable[..., subprocess.CompletedProcess[str]]


def work(root: Path) -> Path:
    """Two calls that are not folded yet; gives where the history will be."""
    with Workspace.open(root) as workspace:
        workspace.filesystem.write("b.txt", "one\n")
        workspace.filesystem.write("b.txt", "one\nTODO\n")
        return Path(workspace.state) / "store.git"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    return home


@pytest.fixture
def run(place: Path, home: Path, process: Run) -> Run:
    """Run the command as a process of its own, as it turns into git."""

    def run(*words: str, more: Mapping[str, str] | None = None, cwd: Path = place) -> subprocess.CompletedProcess[str]:
        return process([*WINK, "history", *words], cwd, {"HOME": str(home), **(more or {})})

    return run


@pytest.fixture
def store(place: Path) -> Path:
    return work(place)


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """What a planted program would make."""
    return tmp_path / "owned"


@pytest.fixture
def evil(tmp_path: Path, marker: Path) -> str:
    """A program that must never run."""
    path = tmp_path / "evil"
    path.write_text(f"#!/bin/sh\ntouch {marker}\ncat\n")
    path.chmod(0o755)
    return str(path)


def test_alone_it_lists_the_commits_of_calls(store: Path, run: Run) -> None:
    """Newest first, each with its call; what was not in the history yet is taken in before."""
    assert not store.exists()

    done = run()

    assert (done.returncode, done.stderr) == (0, "")
    last, first = (line.split() for line in done.stdout.splitlines())
    assert (first[1], last[1]) == ("c1", "c2")
    assert last[-1] == "b.txt"


def test_where_nothing_was_done_it_says_so_and_makes_nothing(place: Path, run: Run) -> None:
    """A list of nothing is no failure; git that cannot run is one, and must not look like its output."""
    listed, asked = run(), run("log", "-p")

    assert (listed.returncode, listed.stdout, listed.stderr) == (0, "nothing is in the history yet\n", "")
    assert (asked.returncode, asked.stdout, asked.stderr) == (1, "", "wink: nothing is in the history yet\n")
    assert os.listdir(place) == ["a.txt"]


def test_each_way_of_reading_works(store: Path, run: Run) -> None:
    """Whatever a person asks of a repository; git without a commit to read has nothing to say here."""
    assert "+TODO" in run("log", "-p", "-1").stdout
    assert "+TODO" in run("show").stdout
    assert run("diff", "--stat", "HEAD~1", "HEAD").stdout.startswith(" b.txt | 1 +")
    assert run("blame", "HEAD", "--", "b.txt").stdout.splitlines()[1].endswith("TODO")
    assert run("grep", "-n", "TODO", "HEAD").stdout == "HEAD:b.txt:2:TODO\n"
    assert run("ls-tree", "--name-only", "HEAD").stdout == "b.txt\n"
    assert run("rev-list", "--count", "HEAD").stdout == "2\n"
    assert run("cat-file", "-p", "HEAD:b.txt").stdout == "one\nTODO\n"
    assert "refs/wink/history" in run("for-each-ref").stdout
    assert run("shortlog", "-sn", "HEAD").stdout.split()[0] == "2"
    assert run("--no-pager", "fsck").returncode == 0


def test_the_exit_status_is_that_of_git(store: Path, run: Run) -> None:
    """For scripts: a question that git answers by its status."""
    assert run("grep", "nowhere", "HEAD").returncode == 1
    assert run("rev-parse", "--verify", "--quiet", "nothing").returncode == 1
    assert run("show", "nothing").returncode == 128


def test_files_are_written_where_the_person_is(store: Path, place: Path, run: Run) -> None:
    """Archives, bundles and patches by their relative names, from any directory."""
    below = place / "below"
    below.mkdir()
    at = ["--workspace", ".."]

    assert run(*at, "archive", "-o", "x.tar", "HEAD", cwd=below).returncode == 0
    assert run(*at, "bundle", "create", "x.bundle", "--all", cwd=below).returncode == 0
    assert run(*at, "log", "-p", "--output=x.patch", cwd=below).returncode == 0

    assert sorted(os.listdir(below)) == ["x.bundle", "x.patch", "x.tar"]


def test_a_clone_is_a_repository_like_any_other(store: Path, tmp_path: Path, run: Run) -> None:
    """What may not be done to the history is done there; it shares no file with the store."""
    done = run("clone", "-q", "../copy")

    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "copy/b.txt").read_text() == "one\nTODO\n"
    assert all(path.stat().st_nlink == 1 for path in store.rglob("*.pack"))


@pytest.mark.parametrize(
    "words",
    [
        ("gc",), ("commit",), ("push", "x"), ("fetch",), ("config", "a.b", "c"), ("update-ref", "HEAD", "x"), ("daemon",),
        ("upload-pack", "."), ("instaweb",), ("branch", "x"), ("tag", "x"), ("bisect", "run", "x"), ("submodule", "foreach", "x"),
        ("remote-ext", "x"), ("difftool",), ("filter-branch",), ("an-alias",), ("",),
        ("-c", "core.pager=x", "log"), ("-ccore.pager=x", "log"), ("--git-dir=x", "log"), ("-C", "x", "log"), ("--exec-path=x", "log"),
        ("--config-env=core.pager=X", "log"), ("-p", "log"), ("--no-pager", "-c", "a.b=c", "log"), ("--upload-pack", "x"),
        ("grep", "-Oless", "x"), ("grep", "--open-files-in-pager=x", "x"), ("grep", "--open", "x"), ("grep", "--no-index", "x"),
        ("grep", "--recurse-submodules", "x"), ("diff", "--no-index", "a", "b"), ("log", "-p", "--submodule=diff"),
        ("show", "--subm=diff"), ("log", "--remerge-diff"), ("log", "--diff-merges", "remerge"), ("fsck", "--lost-found"),
        ("archive", "--remote=x", "HEAD"), ("archive", "--exec=x", "HEAD"), ("archive", "--rem=x", "HEAD"),
        ("bundle", "unbundle", "x"), ("bundle",), ("clone",), ("clone", "a", "b"), ("clone", "--upload-pack=x", "a"),
        ("clone", "-c", "a.b=c", "a"), ("clone", "--template=x", "a"), ("clone", "--shared", "a"),
    ],
)  # fmt: skip
def test_all_that_does_more_than_read_is_refused(words: tuple[str, ...]) -> None:
    """Writing, listening, running: each in one line that says what there is."""
    with pytest.raises(WrongInput) as refused:
        git_words(words, "store.git")

    assert "\n" not in str(refused.value)
    assert any(hint in str(refused.value) for hint in ("there are", "wink history"))


def test_what_follows_two_dashes_is_a_path(store: Path, run: Run) -> None:
    """A file may be called anything."""
    assert git_words(("log", "--", "--submodule"), "")[-1] == "--submodule"
    assert run("log", "--oneline", "--", "--submodule").returncode == 0


def test_a_refusal_is_one_line_and_does_nothing(store: Path, run: Run) -> None:
    """Status 2, before the history is even looked for."""
    done = run("gc", "--aggressive")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("wink: the history is only read, not with 'gc'; there are: log, show, ")
    assert done.stderr.count("\n") == 1
    assert not store.exists()


def test_no_subcommand_writes_to_the_store(store: Path, run: Run) -> None:
    """Whatever is asked, the store is as wink has left it."""
    run()
    before = {path: path.lstat().st_mtime_ns for path in store.rglob("*")}

    for name in SUBCOMMANDS:
        assert run(name, *(("create", "../made", "--all") if name == "bundle" else ("HEAD",))).returncode in (
            0,
            1,
            128,
            129,
        )
    run("log", "-p", "--all", "--textconv", "--ext-diff")
    run("cat-file", "--filters", "HEAD:b.txt")

    assert {path: path.lstat().st_mtime_ns for path in store.rglob("*")} == before


def test_variables_of_the_caller_have_no_effect(store: Path, run: Run, tmp_path: Path, evil: str, marker: Path) -> None:
    """Somebody's shell may be set up for another repository, or set up by somebody else."""
    other = tmp_path / "other.git"
    subprocess.run(["git", "init", "-q", "--bare", other], check=True)
    settings = tmp_path / "settings"
    settings.write_text(f"[diff]\n\texternal = {evil}\n[core]\n\tpager = {evil}\n[alias]\n\tmine = !{evil}\n")
    more = {
        "GIT_DIR": str(other), "GIT_WORK_TREE": str(tmp_path), "GIT_OBJECT_DIRECTORY": str(other / "objects"),
        "GIT_INDEX_FILE": evil, "GIT_NAMESPACE": "x", "GIT_COMMON_DIR": str(other),
        "GIT_CONFIG_GLOBAL": str(settings), "GIT_CONFIG_SYSTEM": str(settings), "GIT_CONFIG_NOSYSTEM": "0",
        "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "diff.external", "GIT_CONFIG_VALUE_0": evil,
        "GIT_CONFIG_PARAMETERS": f"'diff.external'='{evil}'", "GIT_EXTERNAL_DIFF": evil, "GIT_SSH_COMMAND": evil,
        "GIT_ASKPASS": evil, "GIT_PROXY_COMMAND": evil, "GIT_TRACE": str(marker), "GIT_TEMPLATE_DIR": str(tmp_path),
    }  # fmt: skip

    done = run("log", "-p", "--ext-diff", more=more)

    assert "+TODO" in done.stdout
    assert done.stderr == ""
    assert not marker.exists()


def test_settings_of_the_person_have_no_effect(store: Path, run: Run, home: Path, evil: str, marker: Path) -> None:
    """Aliases, drivers and attributes of theirs are for repositories of theirs."""
    (home / ".gitconfig").write_text(
        f'[diff]\n\texternal = {evil}\n[log]\n\tdate = raw\n[diff "x"]\n\ttextconv = {evil}\n'
    )
    (home / ".config/git").mkdir(parents=True)
    (home / ".config/git/attributes").write_text("*.txt binary diff=x\n")

    done = run("log", "-p", "--ext-diff", "--textconv")

    assert "+TODO" in done.stdout
    assert not marker.exists()


def test_a_hostile_workspace_has_no_effect(store: Path, place: Path, run: Run, evil: str, marker: Path) -> None:
    """It may be a repository, have attributes, and lie first on a careless PATH."""
    subprocess.run(["git", "init", "-q", place], check=True)
    with open(place / ".git/config", "a") as file:
        file.write(
            f"[core]\n\tpager = {evil}\n\tfsmonitor = {evil}\n[diff]\n\texternal = {evil}\n[pager]\n\tlog = true\n"
        )
    (place / ".gitattributes").write_text("*.txt binary\n")
    (place / ".mailmap").write_text("Somebody <x@y> <default@wink.invalid>\n")
    for name in ("git", "less", "sh"):
        shutil.copy(evil, place / name)

    done = run("log", "-p", more={"PATH": f":.:{os.environ['PATH']}"})

    assert "+TODO" in done.stdout
    assert "Somebody" not in done.stdout
    assert not marker.exists()


def _settings(store: Path, evil: str) -> None:
    with open(store / "config", "a") as file:
        file.write(f"[core]\n\tpager = {evil}\n\tfsmonitor = {evil}\n[alias]\n\tlog = !{evil}\n")


def _pipe_for_settings(store: Path, evil: str) -> None:
    (store / "config").unlink()
    os.mkfifo(store / "config")


def _link_for_settings(store: Path, evil: str) -> None:
    (store / "config").rename(store.parent / "config")
    (store / "config").symlink_to("../config")


def _hook(store: Path, evil: str) -> None:
    (store / "hooks").mkdir()
    shutil.copy(evil, store / "hooks/post-checkout")


def _file(name: str) -> Callable[[Path, str], None]:
    def plant(store: Path, evil: str) -> None:
        (store / name).parent.mkdir(exist_ok=True)
        (store / name).write_text("* diff=x\n")

    return plant


def _linked_head(store: Path, evil: str) -> None:
    (store / "HEAD").unlink()
    (store / "HEAD").symlink_to("refs/wink/history")


def _linked_pack(store: Path, evil: str) -> None:
    (store / "objects/pack").rename(store.parent / "elsewhere")
    (store / "objects/pack").symlink_to("../../elsewhere")


def _pipe_for_references(store: Path, evil: str) -> None:
    os.mkfifo(store / "packed-refs")


def _linked_store(store: Path, evil: str) -> None:
    store.rename(store.parent.parent.parent / "elsewhere")
    store.symlink_to("../../elsewhere")


def _deep(store: Path, evil: str) -> None:
    (store / ("refs/" + "x/" * 40)).mkdir(parents=True)


@pytest.mark.parametrize(
    "plant",
    [
        _settings, _pipe_for_settings, _link_for_settings, _hook, _linked_head, _linked_pack, _pipe_for_references,
        _linked_store, _deep, _file("commondir"), _file("config.worktree"), _file("info/attributes"), _file("info/grafts"),
        _file("objects/info/alternates"), _file("objects/info/http-alternates"), _file("refs/replace/x"),
        _file("shallow"),
    ],
)  # fmt: skip
def test_what_git_would_follow_in_the_store_is_refused(
    store: Path, run: Run, evil: str, marker: Path, plant: Callable[[Path, str], None]
) -> None:
    """A state directory may have come from somewhere: one line names what is in it, and git is not started."""
    run()
    plant(store, evil)

    done = run("log", "-p")

    # A link in the state directory itself is found before, when the workspace is opened.
    status, complaint = (1, "it is a link") if plant is _linked_store else (2, "the history in ")
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.count("\n") == 1
    assert complaint in done.stderr
    assert not marker.exists()


def test_a_reader_who_goes_away_hears_nothing(store: Path, run: Run, place: Path, home: Path) -> None:
    """As with git: it ends by the signal, without a word."""
    with Workspace.open(place) as workspace:
        workspace.filesystem.write("large.txt", "line\n" * 200_000)
    command = [*WINK, "history", "log", "-p"]
    with subprocess.Popen(
        command, cwd=place, env={**os.environ, "HOME": str(home)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()

    assert (process.returncode, said) == (-signal.SIGPIPE, b"")


@pytest.mark.parametrize(("variables", "words", "paged"), [
    ({"GIT_PAGER": "sed s/^/paged:/", "PAGER": "false"}, (), True),
    ({"PAGER": "sed s/^/paged:/"}, (), True),
    ({"PAGER": "sed s/^/paged:/"}, ("--no-pager",), False),
])  # fmt: skip
def test_a_terminal_gets_the_pager_of_the_person(
    store: Path, place: Path, home: Path, variables: dict[str, str], words: tuple[str, ...], paged: bool
) -> None:
    """The one that they have for git, or for everything."""
    environment = {name: value for name, value in os.environ.items() if name not in ("GIT_PAGER", "PAGER")}
    ours, theirs = pty.openpty()
    command = [*WINK, "history", *words, "log", "--oneline"] if words else [*WINK, "history"]
    shown = ""
    try:
        subprocess.run(
            command, cwd=place, env={**environment, "HOME": str(home), **variables}, stdout=theirs, check=True
        )
        # A terminal hands on what was written when it comes to it, which may be a line at a time.
        while shown.count("\n") < 2 and select.select([ours], [], [], 10)[0]:
            shown += os.read(ours, 65536).decode()
    finally:
        os.close(ours)
        os.close(theirs)

    assert len(shown.splitlines()) == 2
    assert all(line.startswith("paged:") is paged for line in shown.splitlines())


def test_without_a_home_it_works(store: Path, place: Path, home: Path) -> None:
    """In a service, or a container."""
    own = os.environ.get("XDG_STATE_HOME", str(home / ".local/state"))
    environment = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CONFIG_HOME")}
    environment["XDG_STATE_HOME"] = own

    done = subprocess.run(
        [*WINK, "history"], cwd=place, env=environment, capture_output=True, text=True, check=False, timeout=60
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 2


def test_without_git_one_line_says_so(store: Path, run: Run, tmp_path: Path) -> None:
    """It is the only command that needs one."""
    done = run("log", more={"PATH": str(tmp_path / "nothing")})

    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "no git on the PATH" in done.stderr


AS_NOBODY = """
import os, sys
from wink.cli._main import main, run
_, place, *words = sys.argv
real, os.execve = os.execve, lambda *_: sys.exit()
try:
    run(["history", "--workspace", place])  # has everything imported: the interpreter may lie where only root can read
except SystemExit:
    pass
os.execve = real
for directory, _, files in os.walk(place):
    for name in (".", *files):
        os.chown(os.path.join(directory, name), 65534, 65534)
os.setgroups([]), os.setgid(65534), os.setuid(65534)
main(["history", *words])
"""


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A workspace that anybody can come to, with the key in it of whoever it will belong to."""
    directory = Path(tempfile.mkdtemp(prefix="wink-history-"))
    directory.chmod(0o755)
    monkeypatch.setenv("XDG_STATE_HOME", str(directory / "own"))
    yield directory
    shutil.rmtree(directory)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_a_workspace_of_somebody_else_can_be_cloned(store: Path, tmp_path: Path, run: Run) -> None:
    """An administrator looks at what was done; git alone would not read what belongs to others."""
    run()
    for path in (store, *store.rglob("*")):
        os.chown(path, 65534, 65534)

    done = run("clone", "-q", "../copy")

    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "copy/b.txt").exists()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_where_nothing_can_be_written_it_shows_what_there_is(public: Path) -> None:
    """And says that there is more."""
    state = work(public).parent
    with Workspace.open(public) as workspace:
        workspace.fold()
        workspace.filesystem.write("c.txt", "three\n")
    (public / "warm").mkdir()
    work(public / "warm")
    for path in (state.parent, state, *state.rglob("*")):
        os.chown(path, 65534, 65534)
    for path in (state, *state.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)

    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, "warm", "log", "--oneline"],
        cwd=public,
        env={"PATH": os.environ["PATH"], "HOME": str(public / "no-home"), "XDG_STATE_HOME": str(public / "own")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    assert "the last calls are missing" in done.stderr
    assert "c.txt" not in done.stdout


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("words", [(), ("log", "-p"), ("clone", "-q", "copy")])
def test_it_works_as_an_ordinary_user(public: Path, words: tuple[str, ...]) -> None:
    """Who has no home."""
    work(public)
    own = {"XDG_STATE_HOME": str(public / "own")}
    environment = {"PATH": os.environ["PATH"], "HOME": str(public / "no-home"), **own}

    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, ".", *words],
        cwd=public,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "TODO" in done.stdout or len(done.stdout.splitlines()) == 2 or (public / "copy/b.txt").exists()
