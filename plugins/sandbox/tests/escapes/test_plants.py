"""What a program leaves in the workspace for others to fall into: refused as a whole, or merged without its sting."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest
from plugins.sandbox.tests.conftest import Place
from plugins.sandbox.tests.escapes.conftest import World, by_run_command, by_try, wink
from tests.states import paths_of

from wink.errors import MergeRefused, ProgramNotStarted
from wink.filesystem import program_state
from wink_sandbox import PROGRAMS, Command, CopyGuard, Overlay, opened

PLANTS = {
    "a hook": "echo evil > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout",
    "a hook by rename": "echo evil > x; chmod +x x; mv x .git/hooks/pre-commit",
    "a hook by hard link": "echo evil > x; ln x .git/hooks/pre-commit",
    "a hook by symbolic link": "echo evil > x; ln -s ../../x .git/hooks/pre-commit",
    "hooks elsewhere": "mkdir h; echo evil > h/pre-commit; rm -rf .git/hooks; ln -s ../h .git/hooks",
    "settings": "git config core.fsmonitor evil",
    "settings by rename": "cp .git/config c; echo '[core] pager = evil' >> c; mv c .git/config",
    "settings of a worktree": "echo '[core] pager = evil' > .git/config.worktree",
    "attributes": "mkdir -p .git/info; echo '* filter=evil' > .git/info/attributes",
    "alternates": "mkdir -p .git/objects/info; echo /tmp > .git/objects/info/alternates",
    "a common directory": "echo /tmp > .git/commondir",
    "a worktree": "mkdir -p .git/worktrees/w; echo ../../.. > .git/worktrees/w/commondir; echo /tmp > .git/worktrees/w/gitdir",
    "a submodule's settings": "mkdir -p .git/modules/m; echo '[core] fsmonitor = evil' > .git/modules/m/config",
    "HEAD as a link": "rm .git/HEAD; ln -s /tmp/x .git/HEAD",
    "refs as a link": "rm -rf .git/refs; ln -s /tmp .git/refs",
    "another .git": "cp -r .git new; echo '[core] pager = evil' >> new/config; rm -rf .git; mv new .git",
    "a .git that is a file": "rm -rf .git; echo 'gitdir: evil' > .git",
    "a .git that is a link": "mv .git evil; ln -s evil .git",
    "a nested repository": "git init -q src/inner",
    "a nested .git file": "echo 'gitdir: ../evil' > src/.git",
    "a nested .git link": "mkdir evil; ln -s ../evil src/.git",
    "a nested .git by rename": "git init -q inner; mv inner/.git src/.git; rm -r inner",
    "another spelling": "mkdir -p src/.GIT/hooks; echo evil > src/.GIT/hooks/pre-commit",
    "a short name": "mkdir src/git~1; echo evil > src/git~1/config",
    "an invisible letter": "mkdir \"$(printf 'src/.g\\342\\200\\214it')\"; echo x > \"$(printf 'src/.g\\342\\200\\214it/config')\"",
    "a bare repository": "git init -q --bare src/bare",
    "a bare repository in the root": "rm -rf .git; git init -q --bare .",
    "a bare repository with its parts elsewhere": "mkdir src/b src/c; mkdir src/c/objects src/c/refs; echo x > src/c/config; "
    "echo ref: refs/heads/x > src/b/HEAD; echo ../c > src/b/commondir",
    "a deep tree": "exec python3 -c \"import os\nfor _ in range(300): os.mkdir('d' * 20); os.chdir('d' * 20)\"",
    "a deep tree of long names": "exec python3 -c \"import os\nfor _ in range(300): os.mkdir('n' * 255); os.chdir('n' * 255)\"",
}
"""Scripts that succeed in their sandbox. None may become the workspace's."""


@pytest.mark.parametrize("plant", PLANTS)
def test_plant_is_refused(world: World, plant: str) -> None:
    """One of it is enough to refuse all that the program did; the reply says which, and what is wrong with it."""
    before, workspace = world.snapshot(), world.workspace()

    ended = by_run_command(world, f"echo harmless > harmless; {PLANTS[plant]}")

    assert ended.status == 1, ended.text
    assert "nothing was merged" in ended.text, ended.text
    assert len(ended.text) < 6000
    assert world.workspace() == workspace
    assert world.snapshot() == before
    assert world.leftovers() == []


def test_what_was_tried_is_refused_when_it_is_accepted(world: World) -> None:
    """The same rules hold for a person who did not look closely; the rest can be accepted by its path."""
    before, workspace = world.snapshot(), world.workspace()
    tried = by_try(world, f"echo fine > fine; {PLANTS['a hook']}; {PLANTS['a nested repository']}", profile="closed")
    assert tried.status == 0, tried.text

    accepted = wink(world, "accept")

    assert accepted.status != 0
    assert "hooks" in accepted.text
    assert world.workspace() == workspace
    assert wink(world, "accept", "fine").status == 0
    assert wink(world, "drop").status == 0
    assert {path: looks for path, looks in world.workspace().items() if path != "fine"} == dict(workspace)
    assert world.snapshot() == before


HARMLESS = """
import os, shutil, socket
for mode in (0o4755, 0o2755, 0o6777):
    open(f"set{mode:o}", "w").close()
    os.chmod(f"set{mode:o}", mode)
os.mkfifo("fifo")
socket.socket(socket.AF_UNIX).bind("socket")
open("marked", "w").write("text")
os.mkdir("marked-directory")
for name in ("redirect", "opaque", "whiteout", "metacopy", "origin", "impure"):
    for prefix in ("user.overlay.", "user.overlay.overlay.", "trusted.overlay."):
        for place in ("marked", "marked-directory"):
            try:
                os.setxattr(place, prefix + name, b"/../../etc")
            except OSError:
                pass
shutil.move("src", "moved")
os.symlink(OUTSIDE, "src")
try:
    open("src/planted", "w").write("x")
except OSError:
    pass
os.symlink("/etc", "etc")
os.symlink("loop", "loop")
os.link("moved/app.py", "twin")
"""


def test_what_is_merged_has_lost_its_sting(world: World) -> None:
    """No bits that give rights, no special files, no marks for the next overlay; links are links, and lead nobody out."""
    before = world.snapshot()
    (world.root / "plant.py").write_text(HARMLESS.replace("OUTSIDE", repr(str(world.outside))))

    ended = by_run_command(world, f"{sys.executable} plant.py")

    assert ended.status == 0, ended.text
    assert world.snapshot() == before
    merged = {path: path.lstat().st_mode for path in paths_of(world.root)}
    del merged[world.root / "s"]  # our own socket
    assert not [path for path, mode in merged.items() if mode & 0o6000 and not stat.S_ISDIR(mode)]
    assert not [
        path for path, mode in merged.items() if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))
    ]
    assert not [
        path for path in merged if any(name.startswith(("user.overlay", "trusted.overlay")) for name in _marks(path))
    ]
    assert os.readlink(world.root / "src") == str(world.outside)
    assert (world.root / "moved/app.py").read_text() == "print('hello')\n"
    written = by_run_command(world, "echo x >> src/secret.txt; echo x > src/new; echo x > etc/new; true")
    assert world.snapshot() == before, written.text


def _marks(path: Path) -> list[str]:
    return os.listxattr(path, follow_symlinks=False)


def test_place_of_the_workspace_stays_its_place(world: World) -> None:
    """What is tried stays for the next program: nothing above the workspace can be moved out of the way of its mount."""
    project = world.home / "code/project"
    project.mkdir(parents=True)
    before = world.snapshot()
    world.root = project
    steps = f"cd ~; mv code gone; rm -rf code; rmdir code/project; ln -sfn /oldroot{world.outside} code; true"
    first = by_try(world, steps, profile="agent")

    second = by_try(world, "echo x > planted && pwd", profile="agent")

    world.root = world.base / "project"
    assert first.status == second.status == 0, first.text + second.text
    assert str(project) in second.text
    assert "+ planted" in second.text
    after = {path: looks for path, looks in world.snapshot().items() if "/code/project/.wink" not in path}
    assert {path for path in before if before[path] != after.get(path)} <= {str(project)}
    assert not [path for path in after if path not in before]


def test_mount_through_a_link_is_refused(place: Place, tmp_path: Path) -> None:
    """Where a link stands in the place of the workspace, nothing is mounted through it."""
    (tmp_path / "link").symlink_to(place.root)
    with opened(Overlay(str(tmp_path / "link"), f"{program_state(place.files)}/{PROGRAMS}/one")) as overlay:
        with pytest.raises(ProgramNotStarted, match="a link stands where a directory was"):
            place.sandbox.run(Command(("true",), env={"PATH": "/usr/bin:/bin"}), overlay)


def test_deep_tree_in_a_copy_is_refused(place: Place) -> None:
    """Where the host has no overlays, programs work on a copy; the same holds there."""
    script = "import os\nfor _ in range(200): os.mkdir('d' * 30); os.chdir('d' * 30)"
    part = place.files.begin()
    place.files.turns.acquire(10)
    try:
        with CopyGuard().open(part, place.sandbox) as guarded:
            assert guarded.run(Command(("/usr/bin/python3", "-c", script))).status == 0
            with pytest.raises(MergeRefused, match="so deep"):
                guarded.keep()
    finally:
        part.undo()
        place.files.turns.release()
    assert list(place.root.glob("ddd*")) == []
