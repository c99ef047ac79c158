"""Where the workspace is: found upward from the current directory, with real repositories, mounts and owners."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Done

from wink.cli._upward import workspace_here
from wink.errors import StateKeyError, WorkspaceRootError
from wink.state import locate
from wink.workspace import Workspace

Cli = Callable[..., Done]
NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make what another user owns")


def git(directory: Path, *words: str) -> None:
    """Run git there, whatever the settings of this machine."""
    own = ["-c", "user.name=A", "-c", "user.email=a@example.invalid", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *own, *words], cwd=directory, check=True, capture_output=True)


def use(directory: Path) -> None:
    """Let wink store something there."""
    with Workspace.open(directory) as opened:
        opened.checkpoint("first")
    assert os.path.isdir(locate(directory))


@pytest.fixture
def stand(place: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str | Path], Path]:
    """Go to a directory below the place, which is made if need be; the workspace that is found there."""

    def go(path: str | Path) -> Path:
        directory = place / path
        directory.mkdir(parents=True, exist_ok=True)
        monkeypatch.chdir(directory)
        return Path(workspace_here()).resolve()

    return go


Stand = Callable[[str | Path], Path]


def test_without_anything_it_is_the_current_directory(stand: Stand, place: Path) -> None:
    """As it always was."""
    assert stand("a/b") == place / "a/b"
    assert workspace_here() == "."


def test_the_root_of_a_repository_is_found(stand: Stand, place: Path) -> None:
    """From below as from its top."""
    git(place, "init")

    assert stand("src/pkg") == place
    assert stand(".") == place
    assert workspace_here() == "."


def test_worktrees_and_submodules_are_repositories(stand: Stand, place: Path, tmp_path: Path) -> None:
    """Their `.git` is a file."""
    git(place, "init")
    git(place, "commit", "--allow-empty", "-m", "first")
    git(place, "worktree", "add", str(tmp_path / "tree"))
    git(place, "submodule", "add", str(place), "lib/inner")

    assert (tmp_path / "tree/.git").is_file()
    assert (place / "lib/inner/.git").is_file()
    assert stand(tmp_path / "tree/a/b") == tmp_path / "tree"
    assert stand("lib/inner/a") == place / "lib/inner"
    assert stand("lib") == place


def test_a_known_state_comes_before_a_repository(stand: Stand, place: Path) -> None:
    """Nobody who can write below a workspace takes its place with a repository, in which the settings are others."""
    use(place)
    git(place, "init", "sub")

    assert stand("sub/a") == place


def test_the_nearest_known_state_counts(stand: Stand, place: Path) -> None:
    """One that an earlier wink made in a subdirectory stays in use there."""
    git(place, "init")
    use(place)
    (place / "sub/deep").mkdir(parents=True)
    use(place / "sub")

    assert stand("sub") == place / "sub"
    assert stand("sub/deep") == place / "sub"
    assert stand("other") == place


def test_a_copied_state_is_not_passed_over_where_one_stands(stand: Stand, cli: Cli, place: Path) -> None:
    """It is refused as ever, with what to do; further up it counts for nothing."""
    git(place, "init")
    (place / "sub/deep").mkdir(parents=True)
    use(place / "sub")
    shutil.copytree(place / "sub", place / "copy")

    assert stand("copy/deep") == place
    assert stand("copy") == place / "copy"
    assert "trust --state" in cli("log").err


def test_without_a_key_states_are_not_passed_over(
    stand: Stand, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that may be somebody's own is not mistaken for none."""
    use(place)
    key = tmp_path / "other/wink/key"
    key.parent.mkdir(parents=True)
    key.write_bytes(bytes(32))
    key.chmod(0o666)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))

    with pytest.raises(StateKeyError):
        stand("sub")


@pytest.mark.parametrize("home", [".", "projects"])
def test_nothing_above_the_home_directory_is_found(
    stand: Stand, place: Path, monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    """And the home directory itself not for its repository, in which people keep dotfiles."""
    git(place, "init")
    monkeypatch.setenv("HOME", str(place / home))

    assert stand("projects/one") == place / "projects/one"


def test_the_home_directory_is_found_by_its_state(
    stand: Stand, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But not from a repository below it, which is a project of its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "kept"))
    link = tmp_path / "link"
    link.symlink_to(place)
    monkeypatch.setenv("HOME", str(link))
    git(place, "init")
    git(place, "init", "projects/one")
    use(place)

    assert stand(".config") == place
    assert stand("projects/one/src") == place / "projects/one"


def test_a_home_below_the_workspace_is_no_bound(stand: Stand, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a program is given one."""
    git(place, "init")
    monkeypatch.setenv("HOME", str(place / ".home"))

    assert stand("src") == place


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.write(b"gitdir: ")
        file.truncate(1 << 40)


def _link(path: Path) -> None:
    git(path.parent.parent, "init", "elsewhere")
    path.symlink_to("../elsewhere/.git")


def _second_name(path: Path) -> None:
    (path.parent / "one").write_text("gitdir: ../elsewhere\n")
    os.link(path.parent / "one", path)


PLANTED: dict[str, Callable[[Path], object]] = {
    "FIFO": _fifo,
    "huge file": _huge,
    "link": _link,
    "link in circles": lambda path: path.symlink_to(".git"),
    "link to a device": lambda path: path.symlink_to("/dev/zero"),
    "file with another name": _second_name,
    "other file": lambda path: path.write_text("hello\n"),
    "empty file": lambda path: path.touch(),
    "empty directory": lambda path: path.mkdir(),
}


@pytest.mark.parametrize("kind", PLANTED)
def test_what_is_no_repository_counts_for_nothing(stand: Stand, place: Path, kind: str) -> None:
    """Nothing of it is waited for, followed, or read without a bound."""
    git(place, "init")
    (place / "sub/deep").mkdir(parents=True)
    PLANTED[kind](place / "sub/.git")

    assert stand("sub/deep") == place


@pytest.mark.parametrize("kind", ["FIFO", "link", "other file", "empty directory"])
def test_what_is_no_state_counts_for_nothing(stand: Stand, place: Path, kind: str) -> None:
    """A `.wink` that somebody has put there is none."""
    git(place, "init")
    (place / "sub/deep").mkdir(parents=True)
    PLANTED[kind](place / "sub/.wink")

    assert stand("sub/deep") == place


@as_root
@pytest.mark.parametrize("kind", ["directory", "file"])
def test_a_repository_of_another_user_counts_for_nothing(stand: Stand, place: Path, kind: str) -> None:
    """Root stands below /tmp, where anybody may put one."""
    git(place, "init")
    (place / "sub").mkdir()
    if kind == "directory":
        git(place, "init", "sub")
    else:
        (place / "sub/.git").write_text("gitdir: ../.git\n")
    os.chown(place / "sub/.git", NOBODY, NOBODY)

    assert stand("sub/deep") == place


@as_root
def test_a_state_of_another_user_counts_for_nothing(stand: Stand, place: Path) -> None:
    """Even one that would be known by its name."""
    use(place)
    os.chown(place / ".wink", NOBODY, NOBODY)

    assert stand("sub/deep") == place / "sub/deep"


@as_root
@pytest.mark.parametrize("whose", ["sub", "sub/deep"])
def test_a_directory_of_another_user_ends_the_search(stand: Stand, place: Path, whose: str) -> None:
    """Whoever owns a directory decides what is above those in it."""
    git(place, "init")
    use(place)
    (place / "sub/deep").mkdir(parents=True)
    os.chown(place / whose, NOBODY, NOBODY)

    assert stand("sub/deep") == place / "sub/deep"


def test_a_mount_point_ends_the_search(place: Path) -> None:
    """What is on another filesystem is another's tree."""
    git(place, "init")
    (place / "mnt").mkdir()
    code = "import os; from wink.cli._upward import workspace_here; print(os.path.realpath(workspace_here()))"
    mount = ["unshare", "-m" if os.geteuid() == 0 else "-rm"]
    if subprocess.run(
        [*mount, "mount", "-t", "tmpfs", "none", place / "mnt"], capture_output=True, check=False
    ).returncode:
        pytest.skip("no filesystem can be mounted here")

    script = f'mount -t tmpfs none mnt && mkdir -p mnt/sub && cd mnt/sub && exec "{sys.executable}" -c "{code}"'
    said = subprocess.run([*mount, "sh", "-c", script], cwd=place, capture_output=True, text=True, check=True)

    assert said.stdout.strip() == str(place / "mnt/sub")


def test_a_deleted_directory_is_told_of(stand: Stand, cli: Cli, place: Path) -> None:
    """In one line."""
    git(place, "init")
    stand("sub")
    (place / "sub").rmdir()

    said = cli("log")

    assert said.status == 2
    assert said.err == "wink: '.' cannot be a workspace, it has been deleted; give an existing directory\n"
    assert cli("-C", str(place), "log").out == "no calls yet\n"


@pytest.mark.parametrize("mode", [0o111, 0o311])
def test_directories_that_cannot_be_listed_are_passed(stand: Stand, place: Path, mode: int) -> None:
    """Only what has to be looked at is."""
    git(place, "init")
    stand("closed/sub")
    (place / "closed").chmod(mode)

    try:
        assert stand("closed/sub") == place
    finally:
        (place / "closed").chmod(0o755)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look into everything")
def test_a_closed_directory_ends_the_search(stand: Stand, place: Path) -> None:
    """Nothing above it can be reached."""
    git(place, "init")
    stand("closed/sub")
    (place / "closed").chmod(0)

    try:
        assert workspace_here() == "."
    finally:
        (place / "closed").chmod(0o755)


def test_the_directory_is_what_the_kernel_says(stand: Stand, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not what a shell has in PWD, which may have come there by a link."""
    git(place, "init")
    git(place.parent, "init", "other")
    (place / "sub").mkdir()
    (place.parent / "other/link").symlink_to(place / "sub")
    monkeypatch.setenv("PWD", str(place.parent / "other/link"))

    assert stand(place.parent / "other/link") == place


def test_a_workspace_that_is_swapped_meanwhile_is_refused(
    stand: Stand, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was looked at is what is opened, or nothing."""
    git(place, "init")
    stand("sub")
    os.rename(place, place.parent / "moved")
    monkeypatch.setattr(os, "getcwd", lambda: str(place / "sub"))  # as it was a moment ago
    git(place.parent, "init", "place")

    with pytest.raises(WorkspaceRootError, match="was moved"):
        workspace_here()


def test_paths_are_typed_and_shown_from_where_one_stands(stand: Stand, cli: Cli, place: Path) -> None:
    """As git does; diffs and what machines read keep those of the workspace."""
    git(place, "init")
    stand("src/pkg")
    for path in ("src/pkg/a.py", "src/b.py", "c.py"):
        assert cli("call", "write_file", f"file_path={path}", "content=1\n").status == 0

    assert "[+../../c.py]" in cli("log").out
    assert "[+a.py]" in cli("log").out
    assert '"path": "src/pkg/a.py"' in cli("log", "--json").out
    assert "+++ b/src/b.py" in cli("show", "c2").out
    assert cli("checkpoint", "now").status == 0
    cli("call", "write_file", "file_path=src/b.py", "content=2\n")
    cli("call", "write_file", "file_path=src/pkg/a.py", "content=2\n")
    assert cli("restore", "now", "../b.py").out.splitlines()[1:2] == ["  ~ ../b.py"]
    assert (place / "src/pkg/a.py").read_text() == "2\n"
    assert cli("restore", "now", str(place / "src/pkg")).out.splitlines()[1:2] == ["  ~ a.py"]
    assert cli("undo", "2").status == 0
    assert not (place / "src/.wink").exists()


def test_a_path_that_leads_out_is_refused(stand: Stand, cli: Cli, place: Path) -> None:
    """In one line, before anything is done."""
    git(place, "init")
    stand("src")
    cli("checkpoint", "now")

    for path in ("../../x", "/etc/passwd", str(place.parent)):
        said = cli("restore", "now", path)
        assert (said.status, said.out) == (2, "")
        assert said.err == f"wink: {path!r} is outside the workspace {str(place)!r}; name a path inside it\n"


def test_conflicts_name_paths_from_where_one_stands(stand: Stand, cli: Cli, place: Path) -> None:
    """There may be another file that is called like the workspace's."""
    git(place, "init")
    stand("src")
    cli("call", "write_file", "file_path=b.py", "content=1\n")
    cli("call", "write_file", "file_path=src/b.py", "content=1\n")
    (place / "b.py").write_text("mine\n")

    said = cli("undo", "c1")

    assert said.status == 1
    assert "../b.py" in said.err


def test_settings_are_those_of_the_root(stand: Stand, cli: Cli, place: Path) -> None:
    """What lies where one stands is not read."""
    git(place, "init")
    stand("src")
    (place / "wink.toml").write_text("max_file_bytes = 3\n")
    (place / "src/wink.toml").write_text("this is no TOML\n")

    said = cli("call", "write_file", "file_path=a.txt.new", "content=long")

    assert said.status == 1
    assert "3" in said.err
    assert "TOML" not in said.err


def test_options_say_otherwise(stand: Stand, cli: Cli, place: Path) -> None:
    """`-C` goes somewhere first and looks upward from there; `--workspace` is exactly that directory."""
    git(place, "init")
    stand("src/pkg")
    stand("elsewhere")
    cli("checkpoint", "one")

    assert cli("-C", "../src", "-C", "pkg", "checkpoint").out.startswith("one ")
    assert cli("checkpoint", "--workspace", ".").out == ""
    assert cli("--workspace", ".").status == 2


@pytest.mark.parametrize("directory", ["nowhere", "a.txt", ""])
def test_c_takes_a_directory(cli: Cli, directory: str) -> None:
    """One that is not there is said in one line."""
    said = cli("-C", directory, "log")

    assert said.status == 2
    assert said.err.startswith(f"wink: cannot go to {directory!r}: ")


def test_a_misspelt_command_after_c_is_told(cli: Cli) -> None:
    """The directory is not taken for the command."""
    assert "no command 'lgo'" in cli("-C", ".", "lgo").err
    assert "`wink log --help`" in cli("-C", ".", "log", "--limit").err
