"""What a program that is tried leaves in its home and among temporary files, and what others swap while it is accepted."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from plugins.sandbox.tests.escapes.conftest import World, by_try, wink
from plugins.sandbox.tests.tries.test_git import git, run

from wink.errors import WinkError
from wink.workspace import Workspace
from wink_sandbox.tries import Try

PLANTS = {
    "links": "ln -sf {secret} ~/.bashrc; ln -s / ~/root; ln -s ~ ~/self; ln -s {outside} ~/.config; "
    "ln -s {secret} ~/HEAD; ln -s {outside} ~/objects; echo x > ~/.config/planted; true",
    "FIFOs and sockets": "mkfifo ~/HEAD ~/index /tmp/fifo ~/.gitconfig ~/.profile; "
    "python3 -W ignore -c \"import os,socket; os.chdir(os.path.expanduser('~')); socket.socket(socket.AF_UNIX).bind('objects')\"",
    "huge files": "truncate -s 4T ~/index ~/large; truncate -s 4T /tmp/large; yes | head -c 20000000 > ~/line",
    "many names": "python3 -c \"import os; h=os.path.expanduser('~/many'); os.mkdir(h)\n"
    "for n in range(5000): open(f'{{h}}/{{n}}', 'w').close()\"; mkdir -p ~/many/refs",
    "a deep tree": "mkdir ~/refs; cd ~; exec python3 -c \"import os\nfor _ in range(3000): os.mkdir('d' * 9); os.chdir('d' * 9)\"",
    "closed directories": "mkdir -p ~/refs/x; chmod 0 ~/refs",
    "names that are no text": 'touch "$(printf \'/%s/\\033[2Jx\\n\\377\' "$HOME")"; touch ~/HEAD',
    "another home": "rm ~/.bashrc; mkdir ~/.bashrc; mkfifo ~/.bashrc/index; mv ~/.bashrc ~/objects; ln -s objects ~/.bashrc",
    "repositories that lead astray": "mkdir -p ~/r/worktrees/w; echo ../../../../outside > ~/r/worktrees/w/commondir; "
    "echo ref: x > ~/r/HEAD; ln -s {outside} ~/r/objects; mkfifo ~/r/worktrees/w/gitdir ~/r/worktrees/w/HEAD",
}


@pytest.mark.parametrize("plant", PLANTS)
def test_what_is_left_in_the_home_and_among_temporary_files_stays_there(world: World, plant: str) -> None:
    """No command waits for it, follows it, shows what it leads to or prints it all; the next program can live with it."""
    (world.root / "nested").mkdir()
    (world.root / "nested/.git").write_text(f"gitdir: {world.home}/r/worktrees/w\n")
    (world.root / "other").mkdir()
    (world.root / "other/.git").write_text(f"gitdir: {world.home}\n")
    before = world.snapshot()
    script = PLANTS[plant].format(secret=world.outside / "secret.txt", outside=world.outside)

    said = [by_try(world, f"echo x > made; {script}", profile="agent")]
    assert said[0].status == 0, said[0].text
    said += [wink(world, *words) for words in (["tries"], ["tries", "--json"], ["diff"], ["diff", "--home"])]
    said.append(by_try(world, "echo again >> made", profile="agent"))
    said += [wink(world, *words) for words in (["accept", "made"], ["accept", "--rest"], ["drop"], ["drop", "--undo"])]
    said += [wink(world, *words) for words in (["drop"], ["gc"])]

    assert all("Traceback" not in one.text and one.status in (0, 1, 2) for one in said), said
    assert not [one for one in said if world.secret in one.text]
    assert max(len(one.text) for one in said) < 1_000_000
    assert (world.root / "made").read_text() == "x\nagain\n"
    assert world.snapshot() == before
    assert world.leftovers() == []


# -- what is swapped while it is accepted


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A project that is a repository, has a link that leads out, and a place outside with something of value."""
    root, outside = tmp_path / "project", tmp_path / "outside"
    for place in (root / "src", outside / "objects", outside / "heads"):
        place.mkdir(parents=True)
    (outside / "b.txt").write_text("precious\n")
    (outside / "config").write_text("[precious]\n")
    (root / "src/b.txt").write_text("b\n")
    (root / "out").symlink_to(outside)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "one")
    return root


def contents(place: Path) -> dict[str, object]:
    return {
        str(path): path.read_bytes()
        if path.is_file()
        else os.readlink(path)
        if path.is_symlink()
        else path.stat().st_mode
        for path in sorted(place.rglob("*"))
    }


def to_link(path: Path, target: Path) -> None:
    """Somebody replaces what is there by a link that leads out."""
    aside = path.with_name(f"{path.name}-aside")
    path.rename(aside)
    path.symlink_to(target)


SWAPS: dict[str, Callable[[Path, Path], object]] = {
    "a directory": lambda root, outside: to_link(root / "src", outside),
    "a file": lambda root, outside: to_link(root / "src/b.txt", outside / "b.txt"),
    "a link that leads out, to another place": lambda root, outside: (
        (root / "out").unlink(), (root / "out").symlink_to(outside / "objects")
    ),
    "git's objects": lambda root, outside: to_link(root / ".git/objects", outside / "objects"),
    "git's branches": lambda root, outside: to_link(root / ".git/refs/heads", outside / "heads"),
    "git's settings": lambda root, outside: to_link(root / ".git/config", outside / "config"),
    "git's directory": lambda root, outside: to_link(root / ".git", outside),
    "git's settings for a FIFO": lambda root, _: ((root / ".git/config").unlink(), os.mkfifo(root / ".git/config")),
    "the workspace": lambda root, outside: to_link(root, outside),
}  # fmt: skip
CHANGE = (
    "echo 2 > src/b.txt; echo new > src/new; rm out; mkdir out; echo planted > out/b.txt; git config branch.main.rebase true;"
    "git remote add new https://example.org/x; git add -A; git commit -qm two"
)


@pytest.mark.parametrize("when", ["while somebody is asked", "when it is about to be done"])
@pytest.mark.parametrize("swap", SWAPS)
def test_nothing_is_written_through_what_is_swapped_meanwhile(repository: Path, swap: str, when: str) -> None:
    """Before the call has its turn, and after the last look: it is refused, or done to what was there, and nothing leads out."""
    outside = repository.parent / "outside"
    before = contents(outside)

    def swaps(*_: object) -> bool:
        SWAPS[swap](repository, outside)
        return True

    with Workspace.open(repository) as workspace:
        one = run(workspace, CHANGE)
        try:
            if when == "while somebody is asked":
                one.accept(remotes=swaps)
            else:
                one.accept(remotes=lambda _: True, confirm=swaps)
        except (WinkError, OSError):
            pass

        assert contents(outside) == before
        if repository.is_symlink():
            repository.unlink()
            repository.with_name("project-aside").rename(repository)
        assert one.exists


@pytest.mark.parametrize("what", [".git", ".git/refs/heads", ".git/objects", ".git/worktrees/tree", "."])
def test_nothing_is_written_through_a_main_tree_that_is_swapped_meanwhile(tmp_path: Path, what: str) -> None:
    """Between the look at a worktree's repository and what is done to it."""
    main, root, outside = (tmp_path / name for name in ("main", "tree", "outside"))
    git(tmp_path, "init", "-q", "-b", "main", "main")
    git(main, "commit", "-q", "--allow-empty", "-m", "one")
    git(main, "worktree", "add", "-q", str(root), "-b", "wt")
    shutil.copytree(main, outside)
    before = contents(outside)
    who = {f"GIT_{role}_{name}": "a@b" for role in ("AUTHOR", "COMMITTER") for name in ("NAME", "EMAIL")}
    words = ["try", "--", "sh", "-ec", "echo x > x; git add x; git commit -qm two"]
    subprocess.run(
        [sys.executable, "-m", "wink", *words], cwd=root, env={**os.environ, "HOME": str(tmp_path), **who}, check=True
    )
    with Workspace.open(root) as workspace:
        one = Try(workspace, "default")
        assert one.git_outside()
        try:
            one.accept(confirm=lambda _: to_link(main / what, outside / what))
        except (WinkError, OSError):
            pass

    assert contents(outside) == before
