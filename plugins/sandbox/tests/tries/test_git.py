"""Git as people use it in a try: branches, remotes, submodules, worktrees; and what of it is never taken."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from plugins.sandbox.tests.tries.conftest import Wink

from wink.errors import MergeRefused, NothingTried
from wink.workspace import Workspace
from wink_sandbox import Command, Profile, Sandbox
from wink_sandbox.tries import AcceptRefused, Try

WHO = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
NEUTRAL = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", **WHO}
FILES = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "protocol.file.allow", "GIT_CONFIG_VALUE_0": "always"}


def git(root: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *words], env=NEUTRAL | FILES, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def repository(place: Path) -> Path:
    """The project as a repository, with a remote beside it and another branch there."""
    git(place, "init", "-q", "-b", "main")
    git(place, "add", ".")
    git(place, "commit", "-q", "-m", "one")
    git(place, "init", "-q", "-b", "main", "--bare", str(place.parent / "remote.git"))
    git(place, "remote", "add", "origin", str(place.parent / "remote.git"))
    git(place, "push", "-q", "-u", "origin", "main", "main:dev")
    git(place, "fetch", "-q")
    return place


@pytest.fixture
def workspace(repository: Path) -> Iterator[Workspace]:
    with Workspace.open(repository) as opened:
        yield opened


def run(workspace: Workspace, script: str, *, readable: tuple[str, ...] = ()) -> Try:
    """What becomes of a script in a try."""
    one = Try(workspace, "default")
    with one.use() as overlay:
        command = Command(("/bin/sh", "-ec", script), env=NEUTRAL | FILES)
        ended = Sandbox(Profile(readable=readable)).run(command, overlay)
    assert ended.status == 0, ended.stderr.text()
    return one


def config(root: Path, *words: str) -> str:
    return git(root, "config", "--file", str(root / ".git/config"), *words)


# -- which branch follows which

TAKEN = {
    "a branch of a remote's": "git checkout -q -b feat origin/dev",
    "a branch of a branch": "git checkout -q -b feat --track main",
    "a branch less": "git checkout -q -b feat; git branch -q -D main",
    "another name": "git branch -m main trunk",
    "rebasing": "git config branch.main.rebase true",
    "another one to follow": "git branch -q --set-upstream-to=origin/dev",
    "nothing to follow": "git branch -q --unset-upstream",
    "the same in another order": "git config --unset branch.main.remote; git config branch.main.remote origin",
}


@pytest.mark.parametrize("name", TAKEN)
def test_which_branch_follows_which_is_accepted_and_undone(workspace: Workspace, repository: Path, name: str) -> None:
    """`git checkout -b`, `branch -d`, `-m`, `--set-upstream-to` were refused, and all of the program with them."""
    before, head = (repository / ".git/config").read_bytes(), git(repository, "status", "-sb")

    one = run(
        workspace, f"{TAKEN[name]}; echo two > a.txt; git commit -qam two; git config --list --local --show-origin"
    )
    upper = Path(one.overlay.upper, ".git/config")
    wanted = sorted(config(repository, "--file", str(upper), "--list").splitlines()) if upper.exists() else None
    one.accept()

    assert wanted is None or sorted(config(repository, "--list").splitlines()) == wanted
    assert git(repository, "log", "-1", "--format=%s") == "two\n"
    git(repository, "fsck", "--strict")
    workspace.undo()
    assert (repository / ".git/config").read_bytes() == before
    assert git(repository, "status", "-sb") == head


def test_a_push_that_sets_what_a_branch_follows_is_accepted(wink: Wink, repository: Path) -> None:
    """The remote is another repository: in a try nothing of it is real, so what was pushed there is not."""
    script = "git checkout -q -b feat; git push -q -u origin feat"
    assert wink("try", "--", "sh", "-ec", script).returncode == 0

    accepted = wink("accept")

    assert accepted.returncode == 0, accepted.stderr
    assert config(repository, "branch.feat.merge") == "refs/heads/feat\n"


def test_what_a_person_has_set_meanwhile_stays(workspace: Workspace, repository: Path) -> None:
    """Keys are merged into the settings as they are now; the file that the program left is not copied."""
    one = run(workspace, "git checkout -q -b feat origin/dev")
    config(repository, "user.name", "me")
    config(repository, "branch.other.remote", "origin")

    one.accept()

    assert config(repository, "user.name") == "me\n"
    assert config(repository, "branch.other.remote") == "origin\n"
    assert config(repository, "branch.feat.merge") == "refs/heads/dev\n"


def test_what_both_have_set_is_refused(workspace: Workspace, repository: Path) -> None:
    """Neither is lost."""
    one = run(workspace, "git config branch.main.rebase true")
    config(repository, "branch.main.rebase", "merges")

    with pytest.raises(AcceptRefused, match=r"by somebody else too .*branch\.main\.rebase \('merges' -> 'true'\)"):
        one.accept()

    assert config(repository, "branch.main.rebase") == "merges\n"


REFUSED = {
    "core.fsmonitor": "git config core.fsmonitor 'touch /tmp/x'",
    "core.pager": "git config core.pager evil",
    "core.hookspath": "git config core.hooksPath .hooks",
    "remote.origin.url": "git config remote.origin.url ext::evil",
    "remote.new.url": "git config remote.new.url x; git config branch.main.remote new",
    "submodule.x.update": "git config submodule.x.update '!evil'",
    "include.path": "git config include.path ../evil",
    "alias.st": "git config alias.st '!evil'",
    "filter.x.smudge": "git config filter.x.smudge evil",
    "branch.main.pushremote": "git config branch.main.pushRemote origin",
    "branch.main.description": "git config branch.main.description x",
    "branch.main.remote": "git config branch.main.remote ../../evil",
    "branch.x.remote": "git config branch.x.remote nowhere",
    "branch.main.merge": "git config branch.main.merge ../../evil",
    "branch.y.merge": "git config branch.y.merge refs/heads/../../evil",
    "branch.z.merge": r"""printf '[branch "z"]\n\tmerge = "refs/heads/a\\nb"\n' >> .git/config""",
    "branch.main.rebase": "git config branch.main.rebase interactive",
    "branch.two.remote": "git config --add branch.two.remote origin; git config --add branch.two.remote .",
    "branch.none.remote": r"""printf '[branch "none"]\n\tremote\n' >> .git/config""",
    "branch.../evil.remote": "git config branch.../evil.remote origin",
}


@pytest.mark.parametrize("key", REFUSED)
def test_any_other_setting_is_refused_by_its_name(workspace: Workspace, repository: Path, key: str) -> None:
    """And the message has the command that accepts the rest, which works."""
    before = (repository / ".git/config").read_bytes()
    one = run(workspace, f"git config branch.other.rebase true; {REFUSED[key]}; echo two > a.txt")

    with pytest.raises(AcceptRefused) as caught:
        one.accept()

    assert caught.value.paths == (".git/config",)
    assert f"{key} (" in caught.value.problems[0][1]
    assert str(caught.value).endswith("wink accept --without .git/config")
    assert (repository / "a.txt").read_text() == "one\n"
    accepted = one.accept(without=[".git/config"])
    assert not accepted.is_over
    assert (repository / "a.txt").read_text() == "two\n"
    assert (repository / ".git/config").read_bytes() == before
    one.drop(".git/config")
    assert not one.exists


ODD = {
    "no configuration at all": "echo '[' > .git/config",
    "a comment": "echo '# here' >> .git/config",
    "a link": "ln -sf /etc/passwd .git/config",
    "a FIFO": "rm .git/config; mkfifo .git/config",
    "none": "rm .git/config",
    "a second name of another file": "cp .git/config c; ln -f c .git/config",
    "as large as any": "truncate -s 3000000 .git/config",
    "with a null in it": r"printf '[a]\n\tb = \000' >> .git/config",
}


@pytest.mark.parametrize("name", ODD)
def test_what_is_in_doubt_is_refused(workspace: Workspace, repository: Path, name: str) -> None:
    """Nothing of it is read as something that it may not be."""
    before = (repository / ".git/config").read_bytes()
    one = run(workspace, ODD[name])

    with pytest.raises(MergeRefused, match=r"\.git/config"):
        one.accept()

    assert (repository / ".git/config").read_bytes() == before


def test_a_configuration_that_is_a_link_of_the_workspaces_is_not_followed(
    workspace: Workspace, repository: Path
) -> None:
    """Neither read nor replaced."""
    real = repository / ".git/real"
    (repository / ".git/config").rename(real)
    (repository / ".git/config").symlink_to("real")
    before = real.read_bytes()

    with pytest.raises(MergeRefused):
        run(workspace, "git config branch.main.rebase true").accept()

    assert real.read_bytes() == before


def test_a_second_accept_takes_what_was_set_after_the_first(workspace: Workspace, repository: Path) -> None:
    """A try goes on with the settings that were accepted."""
    one = run(workspace, "git config branch.main.rebase true; echo two > a.txt")
    one.accept(".git/config")
    run(workspace, "git config branch.main.rebase merges; git config --get-regexp branch")

    one.accept()

    assert config(repository, "branch.main.rebase") == "merges\n"


# -- leaving out


def test_what_is_left_out_stays_in_the_try(wink: Wink, place: Path) -> None:
    """To be accepted or dropped later."""
    wink("try", "--", "sh", "-ec", "echo 2 > a.txt; echo 2 > src/b.txt; mkdir -p n/m; echo n > n/m/o; echo p > n/p")

    accepted = wink("accept", "--without", "src", "--without", "n/m/")

    assert accepted.returncode == 0, accepted.stderr
    assert "the rest is still being tried" in accepted.stdout
    assert ((place / "a.txt").read_text(), (place / "src/b.txt").read_text()) == ("2\n", "b\n")
    assert (place / "n/p").exists()
    assert not (place / "n/m").exists()
    assert '"without": ["src", "n/m/"]' in wink("log", "--json").stdout.replace('":[', '": [')
    assert wink("accept").returncode == 0
    assert ((place / "src/b.txt").read_text(), (place / "n/m/o").read_text()) == ("2\n", "n\n")
    assert wink("tries").stdout == ""


def test_what_is_in_a_directory_that_was_replaced_leaves_out_all_of_it(workspace: Workspace, repository: Path) -> None:
    """Its deletion would take that with it."""
    one = run(workspace, "rm -r src; mkdir src; echo 2 > src/b.txt; echo 2 > a.txt")

    with pytest.raises(NothingTried):
        one.accept(without=["run.sh"])
    assert not one.accept(without=["src/b.txt"]).is_over

    assert (repository / "a.txt").read_text() == "2\n"
    assert (repository / "src/b.txt").read_text() == "b\n"
    one.accept()
    assert (repository / "src/b.txt").read_text() == "2\n"


def test_many_paths_to_leave_out_are_named_by_their_directories(workspace: Workspace, repository: Path) -> None:
    """A line that nobody can type is no way on; this one works."""
    hooks = "for h in a b c d e f g; do echo x > .git/hooks/$h; done; echo two > a.txt"
    one = run(workspace, f"{hooks}; git config core.pager x")

    with pytest.raises(AcceptRefused, match=r"wink accept --without \.git/config --without \.git/hooks$"):
        one.accept()

    assert one.accept(without=[".git/hooks", ".git/config"]).changes
    assert (repository / "a.txt").read_text() == "two\n"


# -- submodules and worktrees that lie inside


@pytest.fixture
def submodule(repository: Path) -> Path:
    """One in a directory of its own, with a remote."""
    git(repository, "submodule", "--quiet", "add", str(repository.parent / "remote.git"), "lib/sub")
    git(repository, "commit", "-q", "-m", "with a submodule")
    return repository / "lib/sub"


def test_a_commit_in_a_submodule_is_accepted_and_undone(workspace: Workspace, submodule: Path) -> None:
    """Its objects and refs lie in `.git/modules`, which was refused."""
    before = git(submodule, "rev-parse", "HEAD")
    script = "cd lib/sub; echo sub > s; git add s; git checkout -q -b feat; git commit -q -m sub; cd ../..; "
    one = run(workspace, script + "git add lib/sub; git commit -q -m above; git status --porcelain >&2")

    one.accept()

    assert git(submodule, "log", "-1", "--format=%s %D") == "sub HEAD -> feat\n"
    assert git(submodule.parents[1], "status", "--porcelain") == ""
    git(submodule, "fsck", "--strict")
    workspace.undo()
    assert git(submodule, "rev-parse", "HEAD") == before
    git(submodule, "fsck", "--strict")
    workspace.redo()
    assert git(submodule, "log", "-1", "--format=%s") == "sub\n"


def test_which_branch_of_a_submodule_follows_which_is_accepted(workspace: Workspace, submodule: Path) -> None:
    """By the rules of any configuration."""
    one = run(workspace, "cd lib/sub; git checkout -q -b feat origin/dev")
    one.accept()
    assert git(submodule, "config", "branch.feat.merge") == "refs/heads/dev\n"

    one = run(workspace, "cd lib/sub; git config core.pager evil")
    with pytest.raises(AcceptRefused, match=r"core\.pager .* wink accept --without \.git/modules/lib/sub/config$"):
        one.accept()


IN_A_SUBMODULE = {
    "a hook": "echo x > .git/modules/lib/sub/hooks/post-checkout",
    "attributes": "mkdir -p .git/modules/lib/sub/info; echo '* filter=x' > .git/modules/lib/sub/info/attributes",
    "other objects": "echo /tmp > .git/modules/lib/sub/objects/info/alternates",
    "its worktree's settings": "echo '[core] pager = x' > .git/modules/lib/sub/config.worktree",
    "where it leads": "echo ../../.. > .git/modules/lib/sub/commondir",
    "a new one": "git init -q --bare .git/modules/new",
    "a new one in the logs of it": "m=.git/modules/lib/sub; mkdir -p $m/logs/objects; git init -q --bare $m/logs/refs/x",
    "its HEAD less, and a repository in its refs": (
        "m=.git/modules/lib/sub; echo x > $m/HEAD; mkdir -p $m/refs/x/objects $m/refs/x/refs $m/refs/x/hooks;"
        "echo x > $m/refs/x/hooks/post-checkout; echo 'ref: refs/heads/x' > $m/refs/x/HEAD"
    ),
    "a hook of one that is called logs": (
        "m=.git/modules/lib/logs; mkdir -p $m/refs $m/objects $m/hooks; echo 'ref: refs/heads/x' > $m/HEAD; echo > $m/hooks/x"
    ),
    "all of it": "rm -rf .git/modules/lib/sub",
    "a new worktree": "git worktree add -q wt",
}


@pytest.mark.parametrize("name", IN_A_SUBMODULE)
def test_what_git_would_run_in_a_submodule_is_refused(workspace: Workspace, submodule: Path, name: str) -> None:
    """Its git directory is one as any other."""
    one = run(workspace, f"{IN_A_SUBMODULE[name]}; echo two > a.txt")

    with pytest.raises(AcceptRefused) as caught:
        one.accept()

    assert (submodule.parents[1] / "a.txt").read_text() == "one\n"
    git(submodule, "fsck", "--strict")
    words = str(caught.value).rpartition("wink accept ")[2].split()
    one.accept(without=[word for word in words if word != "--without"])
    assert (submodule.parents[1] / "a.txt").read_text() == "two\n"


def test_a_commit_in_a_worktree_inside_is_accepted_and_undone(workspace: Workspace, repository: Path) -> None:
    """Agents keep theirs in the project."""
    git(repository, "worktree", "add", "-q", "trees/one", "-b", "one")
    one = run(workspace, "cd trees/one; echo two > a.txt; git commit -qam two")

    one.accept()

    assert git(repository, "log", "-1", "--format=%s", "one") == "two\n"
    assert git(repository / "trees/one", "status", "--porcelain") == ""
    workspace.undo()
    assert git(repository, "log", "-1", "--format=%s", "one") == "one\n"
    assert git(repository / "trees/one", "status", "--porcelain") == ""


# -- git directories outside


def commit_of(root: Path) -> str:
    return git(root, "log", "-1", "--format=%s").strip()


@pytest.fixture
def main_tree(place: Path) -> Path:
    """A repository in the home, whose worktrees and parts can be workspaces."""
    root = place.parent / "home/main"
    root.mkdir()
    (root / "a.txt").write_text("one\n")
    (root / "part").mkdir()
    (root / "part/b.txt").write_text("b\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "one")
    return root


def worktree(main_tree: Path) -> Path:
    git(main_tree, "worktree", "add", "-q", "../tree", "-b", "wt")
    return main_tree.parent / "tree"


def separate(main_tree: Path) -> Path:
    git(main_tree, "init", "-q", "--separate-git-dir", "../separate")
    return main_tree


def submodule_of(main_tree: Path) -> Path:
    above = main_tree.parent / "above"
    git(main_tree.parent, "init", "-q", "-b", "main", "above")
    git(above, "submodule", "--quiet", "add", str(main_tree), "sub")
    git(above, "commit", "-q", "-m", "submodule")
    return above / "sub"


def submodule_of_another_form(main_tree: Path) -> Path:
    """One whose git directory says where its work tree is in a way that git never writes."""
    root = submodule_of(main_tree)
    config = root.parent / ".git/modules/sub/config"
    config.write_text(config.read_text().replace("\tworktree = ../../../sub\n", '\tworktree = "../../../sub"\n'))
    return root


OUTSIDE = {"a submodule of another form": submodule_of_another_form}

COMMIT = "echo w > w.txt; git add -A; git -c user.name=a -c user.email=a@b commit -qm two"


@pytest.mark.parametrize("kind", OUTSIDE)
def test_a_commit_to_a_git_directory_outside_is_told_of_and_not_lost(wink: Wink, main_tree: Path, kind: str) -> None:
    """The file was accepted, the commit was gone, and the exit status was 0."""
    root = OUTSIDE[kind](main_tree)

    tried = wink("try", "--", "sh", "-ec", COMMIT, cwd=root)
    assert tried.returncode == 0, tried.stderr
    assert "stays in the try and cannot be accepted: commit again after `wink accept --without .git`" in tried.stderr

    refused = wink("accept", cwd=root)
    assert refused.returncode != 0
    assert "where git wrote something in the try" in refused.stderr
    assert refused.stderr.endswith("  `wink accept --rest` accepts everything else\n")
    assert not (root / "w.txt").exists()
    assert wink("accept", "--dry-run", cwd=root).returncode != 0

    accepted = wink("accept", "--without", ".git", cwd=root)
    assert accepted.returncode == 0, accepted.stderr
    assert (root / "w.txt").read_text() == "w\n"
    assert commit_of(root) == "one"
    assert "which cannot be accepted" in wink("tries", cwd=root).stdout
    assert wink("try", "--", "git", "log", "-1", "--format=%s", cwd=root).stdout == "two\n"

    assert wink("drop", cwd=root).returncode == 0
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "again")
    git(root, "fsck", "--strict")


def test_a_commit_to_the_git_directory_that_the_environment_names_is_told_of(
    wink: Wink, place: Path, environment: dict[str, str]
) -> None:
    """The workspace has no `.git` that leads there: the file was accepted, and nothing said that the commit was not."""
    there = place.parent / "home/dotfiles.git"
    git(place.parent, "init", "-q", "--bare", str(there))
    environment |= {"GIT_DIR": str(there), "GIT_WORK_TREE": str(place)}

    tried = wink("try", "--", "sh", "-ec", COMMIT)
    refused = wink("accept")
    accepted = wink("accept", "--without", ".git")

    assert tried.returncode == 0, tried.stderr
    assert f"what git wrote to {there} stays in the try and cannot be accepted" in tried.stderr
    assert refused.returncode == 2
    assert f"leads to {there}, where git wrote something in the try" in refused.stderr
    assert accepted.returncode == 0, accepted.stderr
    assert (place / "w.txt").read_text() == "w\n"
    assert f"what git wrote to {there} is still in the try" in accepted.stdout


def test_a_commit_alone_is_not_forgotten_with_the_program(wink: Wink, main_tree: Path) -> None:
    """Of a program that changed no file there was no try, and what it had committed was gone."""
    root = separate(main_tree)
    (root / "b.txt").write_text("mine\n")

    tried = wink("try", "--keep-on-success", "--", "sh", "-ec", COMMIT.removeprefix("echo w > w.txt; "), cwd=root)

    assert "`wink accept` asks whether that belongs here" in tried.stderr
    assert tried.returncode == 2, "nobody could be asked"
    assert wink("tries", cwd=root).stdout.startswith("default  0 paths changed")
    assert wink("accept", "--git-dir", cwd=root).returncode == 0
    assert commit_of(root) == "two"


@pytest.mark.parametrize("kind", [*OUTSIDE, "a separate one", "a worktree", "a submodule"])
def test_looking_at_a_git_directory_outside_is_no_change_of_it(wink: Wink, main_tree: Path, kind: str) -> None:
    """`git status` writes an index anew, to note times."""
    root = {**OUTSIDE, "a separate one": separate, "a worktree": worktree, "a submodule": submodule_of}[kind](main_tree)

    script = "touch a.txt b.txt; git status --porcelain; git log -1 --format=%s; echo w > w.txt"
    tried = wink("try", "--", "sh", "-ec", script, cwd=root)

    assert "one" in tried.stdout
    assert "what git wrote" not in tried.stderr
    assert wink("accept", cwd=root).returncode == 0


def test_a_commit_in_a_worktree_is_accepted_and_undone(wink: Wink, main_tree: Path) -> None:
    """The file was accepted, the commit was gone, and the exit status was 0. It is a call of the main working tree."""
    root = worktree(main_tree)
    tried = wink("try", "--", "sh", "-ec", f"{COMMIT}; git checkout -q -b next; echo x > {main_tree}/x.txt", cwd=root)
    assert "is in the try too, and accepted with it" in tried.stderr, tried.stderr
    # What is accepted does not stay; the file beside it in the main working tree does.
    assert "in the home, which stays with the try: 1 path (~/main)" in tried.stderr

    accepted = wink("accept", cwd=root)

    assert accepted.returncode == 0, accepted.stderr
    way = f"wink undo c1 --workspace {main_tree}"
    assert f"what git wrote is c1 of {main_tree}; {way} takes it back" in accepted.stdout
    assert git(root, "log", "-1", "--format=%s %D") == "two HEAD -> next, wt\n"
    assert git(root, "status", "--porcelain") == git(main_tree, "status", "--porcelain") == ""
    assert not (main_tree / "x.txt").exists(), "only what git keeps for itself is taken"
    git(main_tree, "fsck", "--strict")
    assert "git wrote to" not in wink("tries", cwd=root).stdout
    assert wink(*way.split()[1:], cwd=root).returncode == 0
    assert wink("undo", cwd=root).returncode == 0
    assert (commit_of(root), git(root, "status", "--porcelain")) == ("one", "")
    git(main_tree, "fsck", "--strict")


@pytest.mark.parametrize("where", ["elsewhere", "around it"])
def test_a_commit_in_a_worktree_of_a_repository_anywhere_is_accepted(wink: Wink, main_tree: Path, where: str) -> None:
    """The rest of the machine is shown read-only, and agents keep worktrees in the repository itself."""
    if where == "elsewhere":
        # Not below the directories for temporary files, which every program may write to.
        base = Path.cwd() / f".wink-test-{os.getpid()}"
        base.mkdir()
    else:
        base = main_tree.parent
    try:
        if where == "elsewhere":
            main_tree = main_tree.rename(base / "main")
        root = base / "tree" if where == "elsewhere" else main_tree / "trees/one"
        git(main_tree, "worktree", "add", "-q", str(root), "-b", "wt")

        tried = wink("try", "--", "sh", "-ec", COMMIT, cwd=root)
        assert tried.returncode == 0, tried.stderr
        accepted = wink("accept", cwd=root)

        assert accepted.returncode == 0, accepted.stderr
        assert (commit_of(root), git(root, "status", "--porcelain")) == ("two", "")
        git(main_tree, "fsck", "--strict")
    finally:
        if where == "elsewhere":
            shutil.rmtree(base)


@pytest.mark.parametrize("where", ["a repository", "a worktree", "a submodule"])
def test_a_commit_in_a_submodule_that_is_the_workspace_is_accepted_and_undone(
    wink: Wink, main_tree: Path, where: str
) -> None:
    """The file was accepted, and the commit could not be. It is a call of the project that has the submodule."""
    root = submodule_of(main_tree)
    project = root.parent
    if where == "a worktree":
        git(project, "worktree", "add", "-q", "../beside", "-b", "beside")
        git(project.parent / "beside", "submodule", "--quiet", "update", "--init")
        root = project.parent / "beside/sub"
    elif where == "a submodule":
        git(root, "submodule", "--quiet", "add", str(main_tree), "deep")
        git(root, "commit", "-q", "-m", "two")
        root = root / "deep"
    base, status = git(root, "rev-parse", "HEAD"), git(root, "status", "--porcelain")
    (project / "mine.txt").write_text("mine\n")
    tried = wink("try", "--", "sh", "-ec", f"{COMMIT}; git checkout -q -b next; echo x > ../x.txt", cwd=root)
    assert "is in the try too, and accepted with it" in tried.stderr, tried.stderr

    accepted = wink("accept", cwd=root)

    assert accepted.returncode == 0, accepted.stderr
    way = re.search(r"; wink (undo c1 --workspace \S+) takes it back", accepted.stdout)
    assert way, accepted.stdout
    assert git(root, "log", "-1", "--format=%s %D").startswith("two HEAD -> next")
    assert git(root, "status", "--porcelain") == ""
    assert not (root.parent / "x.txt").exists(), "only what git keeps for itself is taken"
    git(root, "fsck", "--strict")
    assert wink("tries", cwd=root).stdout.count("git wrote to") == 0
    assert wink(*way[1].split(), cwd=root).returncode == 0
    assert wink("undo", cwd=root).returncode == 0
    assert (git(root, "rev-parse", "HEAD"), git(root, "status", "--porcelain")) == (base, status)
    assert (project / "mine.txt").read_text() == "mine\n"
    git(root, "fsck", "--strict")


@pytest.mark.parametrize("what", ["another directory", "another user's", "another work tree", "two settings"])
def test_a_project_whose_submodule_does_not_point_back_gets_nothing(wink: Wink, main_tree: Path, what: str) -> None:
    """Whoever wrote the workspace's `.git` could name any submodule of this user's projects."""
    root = submodule_of(main_tree)
    place = root.parent / ".git/modules/sub"
    if what == "another directory":
        hostile = root.parent / "hostile"
        hostile.mkdir()
        (hostile / ".git").write_bytes((root / ".git").read_bytes())
        root = hostile
    elif what == "another user's" and os.geteuid() == 0:  # only root gives files away
        os.chown(place / "config", 12345, 12345)
    elif what != "two settings":
        (root.parent / "other").mkdir()
        git(root, "config", "core.worktree", "../../../other")
    else:
        git(root, "config", "--add", "core.worktree", "../../../sub")
    before = git(root, "rev-parse", "HEAD")

    safe = "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' GIT_WORK_TREE=."
    tried = wink("try", "--", "sh", "-c", f"{safe}; {COMMIT}; echo x > x.txt", cwd=root)

    assert "stays in the try and cannot be accepted" in tried.stderr
    assert wink("accept", cwd=root).returncode != 0
    assert wink("accept", "--without", ".git", cwd=root).returncode == 0
    assert (root / "x.txt").exists()
    assert git(root, "rev-parse", "HEAD") == before


def test_a_commit_alone_in_a_worktree_is_kept_on_success(wink: Wink, main_tree: Path) -> None:
    """There is nothing else to accept."""
    root = worktree(main_tree)
    (root / "a.txt").write_text("mine\n")

    wink("try", "--keep-on-success", "--", "sh", "-ec", COMMIT.removeprefix("echo w > w.txt; "), cwd=root)

    assert (commit_of(root), git(root, "status", "--porcelain")) == ("two", "")
    assert wink("tries", cwd=root).stdout == ""


def test_what_a_person_has_staged_in_a_worktree_stays_staged(wink: Wink, main_tree: Path) -> None:
    """A `git status` beside it is no change."""
    root = worktree(main_tree)
    wink("try", "--", "sh", "-ec", COMMIT, cwd=root)
    os.utime(root / "a.txt", ns=(10**18, 10**18))
    git(root, "status")
    assert wink("accept", "--dry-run", cwd=root).returncode == 0
    (root / "mine").write_text("mine\n")
    git(root, "add", "mine")

    accepted = wink("accept", cwd=root)

    assert accepted.returncode == 0, accepted.stderr
    assert (root / "w.txt").exists()
    assert git(root, "status", "--porcelain") == "A  mine\n"


PLANTED = {
    "a hook": "echo x > ../main/.git/hooks/post-checkout",
    "a setting": "git config core.pager evil",
    "another way back": "echo /elsewhere/.git > ../main/.git/worktrees/tree/gitdir",
    "another repository": "echo /tmp > ../main/.git/worktrees/tree/commondir",
}


@pytest.mark.parametrize("name", PLANTED)
def test_what_git_would_run_in_a_main_tree_is_refused(wink: Wink, main_tree: Path, name: str) -> None:
    """And nothing of the program is accepted before it is left out."""
    root = worktree(main_tree)
    before = sorted((path, path.read_bytes()) for path in (main_tree / ".git").rglob("*") if path.is_file())
    wink("try", "--", "sh", "-ec", f"{COMMIT}; {PLANTED[name]}", cwd=root)

    refused = wink("accept", cwd=root)

    assert refused.returncode != 0
    assert "    .git\n" in refused.stderr, refused.stderr
    assert not (root / "w.txt").exists()
    assert wink("accept", "--without", ".git", cwd=root).returncode == 0
    assert (root / "w.txt").exists()
    assert sorted((path, path.read_bytes()) for path in (main_tree / ".git").rglob("*") if path.is_file()) == before


@pytest.mark.parametrize("what", ["another worktree's", "of another user", "by a link"])
def test_a_main_tree_that_does_not_point_back_gets_nothing(wink: Wink, main_tree: Path, what: str) -> None:
    """Whoever wrote the workspace's `.git` could name any repository of this user."""
    root = worktree(main_tree)
    if what == "another worktree's":
        hostile = main_tree.parent / "hostile"
        hostile.mkdir()
        (hostile / ".git").write_bytes((root / ".git").read_bytes())
        root = hostile
    elif what == "by a link":
        (root / ".git").rename(root / "real")
        (root / ".git").symlink_to("real")
    elif os.geteuid() == 0:
        os.chown(main_tree / ".git/worktrees/tree", 12345, 12345)
    else:
        (main_tree / ".git/worktrees/tree/gitdir").write_text("/nowhere/.git\n")  # only root gives files away

    safe = "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'"
    tried = wink("try", "--", "sh", "-c", f"{safe}; {COMMIT}; echo x > x.txt", cwd=root)

    assert "stays in the try and cannot be accepted" in tried.stderr
    assert wink("accept", cwd=root).returncode != 0
    assert wink("accept", "--without", ".git", cwd=root).returncode == 0
    assert git(main_tree, "log", "--all", "--format=%s") == "one\n"


LEADS = {
    "to the system": "gitdir: /etc\n",
    "to nowhere": "gitdir: ../../../../../../nowhere\n",
    "to a repository that does not know of it": "gitdir: ../main/.git\n",
    "to itself": "gitdir: .git\n",
    "with a null": "gitdir: a\0b\n",
    "to the home": "gitdir: ..\n",
    "without an end": "gitdir: " + "x" * 100_000,
}


@pytest.mark.parametrize("name", LEADS)
def test_a_git_file_by_anybody_shows_nothing_for_writing(wink: Wink, main_tree: Path, name: str) -> None:
    """It is the workspace's text: nothing outside is changed, wherever it leads."""
    root = main_tree.parent / "hostile"
    root.mkdir()
    (root / ".git").write_text(LEADS[name])
    before = (git(main_tree, "for-each-ref"), git(main_tree, "status", "--porcelain"))

    wink("try", "--", "sh", "-c", f"{COMMIT}; echo x > x.txt", cwd=root)
    accepted = wink("accept", "--without", ".git", cwd=root)

    assert accepted.returncode == 0, accepted.stderr
    assert (root / "x.txt").exists()
    assert (git(main_tree, "for-each-ref"), git(main_tree, "status", "--porcelain")) == before


@pytest.mark.parametrize("what", ["fifo", "link", "commondir"])
def test_a_git_that_is_no_file_is_not_waited_for(wink: Wink, main_tree: Path, what: str) -> None:
    """A FIFO, a link to something that is none, a `commondir` that leads elsewhere."""
    root = main_tree.parent / "hostile"
    root.mkdir()
    if what == "fifo":
        os.mkfifo(root / ".git")
    elif what == "link":
        (root / ".git").symlink_to("/dev/zero")
    else:
        (root / "fake").mkdir()
        (root / "fake/commondir").write_text("../../main/.git\n")
        (root / "fake/HEAD").write_text("ref: refs/heads/main\n")
        (root / ".git").write_text("gitdir: fake\n")

    tried = wink("try", "--", "sh", "-c", f"{COMMIT}; echo x > x.txt", cwd=root)

    assert tried.returncode == 0
    assert ("stays in the try" in tried.stderr) == (what == "commondir")
    assert commit_of(main_tree) == "one"


# -- hooks and signatures


def test_a_hook_of_the_repository_runs_and_can_refuse_a_commit(wink: Wink, repository: Path) -> None:
    """It is the person's own; what it changes is the try's."""
    hook = repository / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\necho checked >> checked.txt; git add checked.txt; ! grep -q bad a.txt\n")
    hook.chmod(0o755)
    commit = "git -c user.name=a -c user.email=a@b commit -qam two"

    assert wink("try", "--", "sh", "-ec", f"echo bad > a.txt; {commit}").returncode != 0
    assert wink("drop").returncode == 0
    assert wink("try", "--", "sh", "-ec", f"echo two > a.txt; {commit}").returncode == 0
    assert not (repository / "checked.txt").exists()
    assert wink("accept").returncode == 0

    assert git(repository, "show", "--format=%s", "--name-only").split() == ["two", "a.txt", "checked.txt"]


@pytest.fixture
def signing(repository: Path, environment: dict[str, str]) -> str:
    """A commit that is signed with a key in the home."""
    home = Path(environment["HOME"])
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(home / "key")], check=True)
    (home / "allowed").write_text("a@b " + (home / "key.pub").read_text())
    given = {"gpg.format": "ssh", "user.signingKey": home / "key.pub", "gpg.ssh.allowedSignersFile": home / "allowed"}
    settings = " ".join(f"-c {key}={value}" for key, value in given.items())
    return f"git -c user.name=a -c user.email=a@b {settings} commit -S -qam two; git {settings} log -1 --format=%G?"


def test_a_commit_is_signed_with_a_key_in_a_file(wink: Wink, repository: Path, signing: str) -> None:
    """No agent is needed."""
    tried = wink("try", "--", "sh", "-ec", f"echo two > a.txt; {signing}")

    assert (tried.returncode, tried.stdout) == (0, "G\n"), tried.stderr
    assert wink("accept").returncode == 0
    assert "-----BEGIN SSH SIGNATURE-----" in git(repository, "cat-file", "commit", "HEAD")


def test_a_signature_that_needs_an_agent_is_told_of(
    wink: Wink, repository: Path, environment: dict[str, str], signing: str
) -> None:
    """Git says that it found no private key, and not why."""
    home = Path(environment["HOME"])
    environment["SSH_AUTH_SOCK"] = str(home / "agent")
    with subprocess.Popen(["ssh-agent", "-D", "-a", str(home / "agent")], stdout=subprocess.DEVNULL) as agent:
        try:
            while not (home / "agent").exists():
                assert agent.poll() is None
            subprocess.run(["ssh-add", "-q", str(home / "key")], env=environment, check=True)
            (home / "key").unlink()
            tried = wink("try", "--", "sh", "-c", f"echo two > a.txt; {signing}")
        finally:
            agent.terminate()

    assert "no program in a try reaches your ssh or gpg agent" in tried.stderr
    assert git(repository, "log", "-1", "--format=%s") == "one\n"
