"""Git in tries whose repository has changed meanwhile: objects are added, refs are taken or arrive under names of the try's."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from plugins.sandbox.tests.tries.conftest import Wink
from plugins.sandbox.tests.tries.test_git import NEUTRAL, git

from wink.errors import MergeRefused, TryConflict, UndoConflict
from wink.workspace import Workspace
from wink_sandbox import Command, Sandbox
from wink_sandbox.tries import Accepted, Try, tries

LINES = "".join(f"{number}\n" for number in range(1, 31))


@pytest.fixture
def repository(place: Path) -> Path:
    """The project with a text of thirty lines, committed."""
    (place / "text").write_text(LINES)
    git(place, "init", "-q", "-b", "main")
    (place / ".git/info").mkdir(exist_ok=True)
    (place / ".git/info/exclude").write_text(".wink\n")
    git(place, "add", ".")
    git(place, "commit", "-q", "-m", "one")
    return place


@pytest.fixture
def workspace(repository: Path) -> Iterator[Workspace]:
    with Workspace.open(repository) as opened:
        yield opened


def tried(workspace: Workspace, script: str, name: str = "t") -> Try:
    """A try in which a script has run."""
    one = Try(workspace, name)
    with one.use() as overlay:
        ended = Sandbox().run(Command(("/bin/sh", "-ec", script), env=NEUTRAL), overlay)
    assert ended.status == 0, ended.stderr.text()
    return one


def commit(line: int, word: str) -> str:
    """A script that changes a line of the text and commits that."""
    return f"sed -i 's/^{line}$/{word}/' text; git commit -qam '{word}'"


def refs(root: Path) -> dict[str, str]:
    """The refs of a repository with the subjects of what they name; all of it has to be there."""
    git(root, "fsck", "--strict", "--connectivity-only")
    lines = git(root, "for-each-ref", "--format=%(refname) %(subject)").splitlines()
    return dict(line.split(" ", 1) for line in lines)


def tree(root: Path) -> dict[str, bytes]:
    """The files of a project and of its repository; without objects, which undo leaves, and wink's own state."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not {".wink", "objects"} & set(path.relative_to(root).parts)
    }


def arrived(done: Accepted) -> list[tuple[str, str]]:
    return [(one.ref, one.name) for one in done.arrived]


def test_eight_tries_that_commit_are_a_branch_each(workspace: Workspace, repository: Path) -> None:
    """They refused each other's index, logs and branch; now the first moves the branch, and all of their lines are merged."""
    some = [tried(workspace, commit(3 * number, f"by {number}"), f"a{number}") for number in range(1, 9)]
    accepted = [one.accept() for one in some]

    assert arrived(accepted[0]) == []
    assert [arrived(one) for one in accepted[1:]] == [
        [("refs/heads/main", f"refs/heads/try/a{number}/main")] for number in range(2, 9)
    ]
    assert refs(repository) == {
        "refs/heads/main": "by 1",
        **{f"refs/heads/try/a{number}/main": f"by {number}" for number in range(2, 9)},
    }
    words = (repository / "text").read_text().splitlines()
    assert [words[3 * number - 1] for number in range(1, 9)] == [f"by {number}" for number in range(1, 9)]
    assert git(repository, "status", "--porcelain") == " M text\n"
    assert not tries(workspace)


def test_undo_takes_the_branch_back_and_leaves_the_objects(workspace: Workspace, repository: Path) -> None:
    """Somebody may have built on the commit by another name meanwhile: git would find its objects gone."""
    one, other = (tried(workspace, commit(line, f"by {line}"), f"a{line}") for line in (3, 9))
    one.accept()
    before = tree(repository)
    other.accept()
    git(repository, "branch", "mine", "try/a9/main")

    workspace.undo()

    assert refs(repository) == {"refs/heads/main": "by 3", "refs/heads/mine": "by 9"}
    git(repository, "branch", "-D", "mine")
    (repository / ".git/packed-refs").unlink()  # which has nothing in it
    assert tree(repository) == before
    workspace.redo()
    assert refs(repository) == {"refs/heads/main": "by 3", "refs/heads/try/a9/main": "by 9"}


def test_a_branch_that_only_the_try_has_moved_is_taken_with_the_index_behind_it(
    workspace: Workspace, repository: Path
) -> None:
    """The person has staged something else meanwhile, which stays staged."""
    one = tried(workspace, f"{commit(3, 'three')}; git branch -q more; git tag -a -m x v1")
    (repository / "mine").write_text("mine\n")
    git(repository, "add", "mine")

    assert arrived(one.accept()) == []

    assert refs(repository) == {"refs/heads/main": "three", "refs/heads/more": "three", "refs/tags/v1": "x"}
    assert git(repository, "status", "--porcelain") == "A  mine\n"
    assert git(repository, "log", "-1", "--format=%gs", "-g", "main") == "commit: three\n"
    workspace.undo()
    assert refs(repository) == {"refs/heads/main": "one"}
    assert git(repository, "status", "--porcelain") == "A  mine\n"


def test_what_is_staged_of_the_same_file_keeps_its_branch(workspace: Workspace, repository: Path) -> None:
    """An index that cannot follow would take the commit back with the next one."""
    one = tried(workspace, commit(3, "three"))
    (repository / "text").write_text(LINES.replace("28\n", "mine\n"))
    git(repository, "add", "text")

    assert arrived(one.accept()) == [("refs/heads/main", "refs/heads/try/t/main")]

    assert refs(repository) == {"refs/heads/main": "one", "refs/heads/try/t/main": "three"}
    assert (repository / "text").read_text() == LINES.replace("28\n", "mine\n").replace("\n3\n", "\nthree\n")
    assert git(repository, "diff", "--cached", "--numstat") == "1\t1\ttext\n"


def test_what_was_amended_in_the_try_is_taken_where_nobody_else_has_moved_it(
    workspace: Workspace, repository: Path
) -> None:
    """Also where the workspace is on another branch by now."""
    one = tried(workspace, "echo x > x; git add x; git commit -q --amend -m other")
    git(repository, "switch", "-q", "-c", "elsewhere")

    assert arrived(one.accept()) == []

    assert refs(repository) == {"refs/heads/main": "other", "refs/heads/elsewhere": "one"}
    assert git(repository, "symbolic-ref", "HEAD") == "refs/heads/elsewhere\n"


HERE_AND_THERE = {
    # what the try does, what the person does meanwhile, the refs in the end, what has arrived
    "both make the same branch": (
        f"git switch -q -c feat; {commit(3, 'three')}",
        f"git switch -q -c feat; {commit(9, 'nine')}",
        {"main": "one", "old": "one", "feat": "nine", "try/t/feat": "three"},
        ["try/t/feat"],
    ),
    "the try is a new branch": (
        f"git switch -q -c feat; {commit(3, 'three')}",
        commit(9, "nine"),
        {"main": "nine", "old": "one", "feat": "three"},
        [],
    ),
    "the try deletes what the person moves": (
        "git branch other; git branch -q -D old",
        "git commit -q --allow-empty -m person; git branch -f old",
        {"main": "person", "other": "one", "old": "person"},
        [],
    ),
    "the try deletes what nobody moves": (
        f"git branch -q -D old; {commit(3, 'three')}",
        commit(9, "nine"),
        {"main": "nine", "try/t/main": "three"},
        ["try/t/main"],
    ),
    "the person deletes what the try moves": (
        f"git switch -q old; {commit(3, 'three')}",
        "git branch -q -D old; git commit -q --allow-empty -m person",
        {"main": "person", "try/t/old": "three"},
        ["try/t/old"],
    ),
    "a commit on no branch": (
        f"git switch -q --detach; {commit(3, 'three')}",
        commit(9, "nine"),
        {"main": "nine", "old": "one", "try/t/HEAD": "three"},
        ["try/t/HEAD"],
    ),
    "the person packs what there is": (
        commit(3, "three"),
        "git gc -q",
        {"main": "three", "old": "one"},
        [],
    ),
    "the try packs what there is": (
        f"{commit(3, 'three')}; git gc -q; git branch -q -D old",
        commit(9, "nine"),
        {"main": "nine", "try/t/main": "three"},
        ["try/t/main"],
    ),
    "both pack": (
        f"{commit(3, 'three')}; git gc -q",
        f"{commit(9, 'nine')}; git branch more; git gc -q",
        {"main": "nine", "old": "one", "more": "nine", "try/t/main": "three"},
        ["try/t/main"],
    ),
    "a branch is in the way": (
        commit(3, "three"),
        f"{commit(9, 'nine')}; git branch try/t/main",
        {"main": "nine", "old": "one", "try/t/main": "nine", "try/t/main-2": "three"},
        ["try/t/main-2"],
    ),
    "both do the same": (
        "git merge -q --ff-only next; git branch -q -D next",
        "git merge -q --ff-only next",
        {"main": "next", "old": "one"},
        [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HERE_AND_THERE)
def test_each_ref_has_one_outcome(workspace: Workspace, repository: Path, name: str) -> None:
    """Nothing that a branch of either names is lost, and all of it is there for git."""
    script, meanwhile, wanted, names = HERE_AND_THERE[name]
    git(repository, "branch", "old")
    if "next" in script:
        git(repository, "switch", "-q", "-c", "next")
        git(repository, "commit", "-q", "--allow-empty", "-m", "next")
        git(repository, "switch", "-q", "main")
    one = tried(workspace, script)
    subprocess.run(["sh", "-ec", meanwhile], cwd=repository, env=NEUTRAL, check=True)
    head = git(repository, "rev-parse", "HEAD")

    done = one.accept()

    found = {ref.removeprefix("refs/heads/"): said for ref, said in refs(repository).items()}
    assert found == wanted
    assert [one.name.removeprefix("refs/heads/") for one in done.arrived] == names
    if wanted["main"] != "three":
        assert git(repository, "rev-parse", "HEAD") == head
    workspace.undo()
    assert git(repository, "rev-parse", "HEAD") == head
    git(repository, "fsck", "--strict")


COMMIT = "git commit -q --allow-empty -m"
PERSON = f"{COMMIT} person"
NO_LOGS = "rm -rf .git/logs; git config core.logAllRefUpdates false"
OTHER = "$(git commit-tree -m other -p main main^{tree})"
ODD = {
    # before, what the try does, what the person does meanwhile, and refs in the end, without "refs/"
    "packed again": ("git gc -q", f"{COMMIT} tried; git pack-refs --all", PERSON, {"heads/try/t/main": "tried"}),
    "another branch packed again": (
        "git branch topic; git gc -q",
        f"git branch -f topic {OTHER}; git pack-refs --all",
        f"{PERSON}; git branch -f topic",
        {"heads/topic": "person", "heads/try/t/topic": "other"},
    ),
    "a name in other letters": ("true", f"git branch 'n\u00a0b\u3000c' {OTHER}", PERSON, {"heads/n\u00a0b\u3000c": "other"}),
    "what is called as if it had arrived": (
        "true",
        f"{COMMIT} tried; git branch try/t/main {OTHER}",
        PERSON,
        {"heads/try/t/main": "other", "heads/try/t/main-2": "tried"},
    ),
    "two that would be called alike": (
        f"git branch try/t/main {OTHER}; git branch main-2",
        f"{COMMIT} tried; git branch -f main-2 {OTHER.replace('other', 'another')}",
        f"{PERSON}; git branch -f main-2",
        {"heads/try/t/main": "other", "heads/try/t/main-2": "tried", "heads/try/t/main-2-2": "another"},
    ),
    "a branch called HEAD, and none": (
        "git update-ref refs/heads/HEAD main",
        f"git update-ref refs/heads/HEAD {OTHER}; git switch -q --detach main; {COMMIT} tried",
        f"{PERSON}; git update-ref refs/heads/HEAD main",
        {"heads/try/t/HEAD": "other", "heads/try/t/HEAD-2": "tried"},
    ),
    "a tag of each": (
        "true",
        f"git tag -a -m notes v1; {COMMIT} tried",
        f"git tag -a -m mine v1; {PERSON}",
        {"tags/v1": "mine", "try/t/tags/v1": "notes"},
    ),
    "a ref that stands for another": (
        "true",
        f"git symbolic-ref refs/heads/alias refs/heads/main; {COMMIT} tried",
        PERSON,
        {"heads/alias": "person", "heads/try/t/main": "tried"},
    ),
    "a branch that is being rebased": (
        "git switch -q -c topic; echo topic > text; git commit -qam topic; git switch -q main; echo main > text; git commit -qam main; git switch -q topic",
        f"{COMMIT} tried",
        "! git rebase -q main 2> /dev/null",
        {"heads/topic": "topic", "heads/try/t/topic": "tried"},
    ),
    "a branch called try": (f"git branch try; git pack-refs --all; {NO_LOGS}", f"{COMMIT} tried", PERSON, {"try/t/heads/main": "tried"}),
    "a branch called try, by itself": ("git branch try", f"{COMMIT} tried", PERSON, {"try/t/heads/main": "tried"}),
    "a branch that becomes a directory": (
        "git branch feat",
        f"git branch -m feat feat/x; {COMMIT} tried",
        PERSON,
        {"heads/feat/x": "one", "heads/try/t/main": "tried"},
    ),
    "a directory that becomes a branch": (
        "git branch feat/x; git pack-refs --all",
        f"git branch -m feat/x feat; {COMMIT} tried",
        PERSON,
        {"heads/feat": "one", "heads/try/t/main": "tried"},
    ),
    "a branch where the other has a directory": (
        "true",
        f"git branch feat {OTHER}",
        f"{PERSON}; git branch feat/x",
        {"heads/feat/x": "person", "heads/try/t/feat": "other"},
    ),
    "a branch that was switched to, without logs": (
        NO_LOGS,
        commit(3, "tried"),
        "git switch -q -c other",
        {"heads/main": "tried", "heads/other": "one"},
    ),
    "what the person has taken back": (
        f"{COMMIT} secret",
        f"{COMMIT} tried",
        "git reset -q --hard HEAD~1",
        {"heads/main": "one", "heads/try/t/main": "tried"},
    ),
    "many that were fetched": (
        "true",
        f"for n in $(seq 300); do echo create refs/remotes/o/$n main; done | git update-ref --stdin; {COMMIT} tried",
        PERSON,
        {"remotes/o/300": "one", "heads/try/t/main": "tried"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_nothing_that_a_ref_named_is_lost(workspace: Workspace, repository: Path, name: str) -> None:
    """Each of these was lost without a word, or kept all of the repository from being merged."""
    before, script, meanwhile, wanted = ODD[name]
    subprocess.run(["sh", "-ec", before], cwd=repository, env=NEUTRAL, check=True)
    one = tried(workspace, script)
    subprocess.run(["sh", "-ec", meanwhile], cwd=repository, env=NEUTRAL, check=True)
    head, staged = git(repository, "rev-parse", "HEAD"), git(repository, "diff", "--cached", "--name-only")

    done = one.accept()

    found = refs(repository)
    assert {ref: found.get(f"refs/{ref}") for ref in wanted} == wanted, found
    assert git(repository, "rev-parse", "HEAD") == head
    assert git(repository, "diff", "--cached", "--name-only") == staged
    assert done.is_over
    git(repository, "pack-refs", "--all")
    workspace_refs = refs(repository)
    assert workspace_refs == found


def test_a_commit_on_no_branch_of_a_repository_with_long_names_arrives(place: Path) -> None:
    """What kind of names it has may be told by HEAD alone."""
    git(place, "init", "-q", "-b", "main", "--object-format=sha256")
    git(place, "add", ".")
    git(place, "commit", "-q", "-m", "one")
    with Workspace.open(place) as workspace:
        one = tried(workspace, f"git switch -q --detach; {COMMIT} tried")
        git(place, "commit", "-q", "--allow-empty", "-m", "person")

        assert arrived(one.accept()) == [("HEAD", "refs/heads/try/t/HEAD")]


def test_a_stash_whose_list_the_person_has_used_arrives(workspace: Workspace, repository: Path) -> None:
    """Its list is its log, which stays the workspace's."""
    for script in ("echo 1 > text; git stash push -q -m S1",):
        subprocess.run(["sh", "-ec", script], cwd=repository, env=NEUTRAL, check=True)
    one = tried(workspace, "echo 2 > text; git stash push -q -m T")
    script = "echo 3 > text; git stash push -q -m X; git stash pop -q; git checkout -q text"
    subprocess.run(["sh", "-ec", script], cwd=repository, env=NEUTRAL, check=True)

    assert arrived(one.accept()) == [("refs/stash", "refs/try/t/stash")]

    assert git(repository, "stash", "list").count("\n") == 1
    assert "S1" in git(repository, "stash", "list")
    assert "T" in git(repository, "log", "-1", "--format=%s", "refs/try/t/stash")


LISTS = {
    "a name that is too long": "echo $(git rev-parse HEAD) refs/heads/$(printf %0300d 0) > .git/packed-refs",
    "a name that leads out": "echo $(git rev-parse HEAD) refs/heads/../../x > .git/packed-refs",
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_of_refs_that_is_none_is_refused_by_its_name(workspace: Workspace, repository: Path, name: str) -> None:
    """And the rest is accepted."""
    one = tried(workspace, f"echo new > new; {COMMIT} x; {LISTS[name]}")
    git(repository, "commit", "-q", "--allow-empty", "-m", "person")

    left = one.accept(rest=True).left

    assert all(path.startswith(".git") for path, _ in left)
    assert (repository / "new").exists()


def test_a_stash_of_each_is_kept(workspace: Workspace, repository: Path) -> None:
    """With all that was stashed, which is in its log."""
    one = tried(workspace, "for n in 3 4; do sed -i s/^$n$/x/ text; git stash -q; done")
    (repository / "text").write_text("mine\n")
    git(repository, "stash")

    assert arrived(one.accept()) == [("refs/stash", "refs/try/t/stash")]

    assert len(git(repository, "stash", "list").splitlines()) == 1
    assert len(git(repository, "reflog", "refs/try/t/stash").splitlines()) == 2


def test_a_try_that_goes_on_moves_its_own_branch(workspace: Workspace, repository: Path) -> None:
    """What has arrived before is not called anew where it has only grown."""
    one = tried(workspace, commit(3, "three"))
    git(repository, "commit", "-q", "--allow-empty", "-m", "person")
    one.accept()
    again = tried(workspace, f"git switch -q -f try/t/main; {commit(9, 'nine')}")
    git(repository, "commit", "-q", "--allow-empty", "-m", "person again")

    assert arrived(again.accept()) == []

    assert refs(repository) == {"refs/heads/main": "person again", "refs/heads/try/t/main": "nine"}


BROKEN = {
    "an object less": ("git commit -q --allow-empty -m x; rm -f .git/objects/$(git rev-parse HEAD | sed 's,^..,&/,')", "not all objects"),
    "an object of other content": (
        "git commit -q --allow-empty -m x; o=.git/objects/$(git rev-parse HEAD | sed 's,^..,&/,'); chmod u+w $o; echo > $o",
        "not all objects",
    ),
    "a ref that leads out": ("git commit -q --allow-empty -m x; ln -sf /etc/passwd .git/refs/heads/x", "a link"),
    "a ref to what nobody has": (f"git commit -q --allow-empty -m x; echo {'ab' * 20} > .git/refs/heads/x", "not all objects"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_repository_any_more_is_refused(workspace: Workspace, repository: Path, name: str) -> None:
    """Nothing happened, and everything else can be accepted."""
    script, why = BROKEN[name]
    one = tried(workspace, f"{script}; echo new > new")
    git(repository, "commit", "-q", "--allow-empty", "-m", "person")
    before = tree(repository)

    with pytest.raises((TryConflict, MergeRefused)):
        one.accept()

    assert tree(repository) == before
    left = one.accept(rest=True)
    assert any(why in reason for path, reason in left.left if path.startswith(".git")), left.left
    assert (repository / "new").read_text() == "new\n"
    assert git(repository, "log", "-1", "--format=%s") == "person\n"


def test_git_that_is_at_work_is_waited_for_by_the_person(workspace: Workspace, repository: Path) -> None:
    one = tried(workspace, commit(3, "three"))
    git(repository, "commit", "-q", "--allow-empty", "-m", "person")
    (repository / ".git/index.lock").write_bytes(b"")

    (conflict, *_) = one.accept(rest=True, dry_run=True).conflicts

    assert "git is at work there" in conflict.reason


def test_a_check_runs_with_the_branch_that_is_to_arrive(workspace: Workspace, repository: Path) -> None:
    one = tried(workspace, commit(3, "three"))
    git(repository, "commit", "-q", "--allow-empty", "-m", "person")

    done = one.accept(check=["git", "-c", "safe.directory=*", "rev-parse", "--verify", "try/t/main^{tree}"])

    assert arrived(done) == [("refs/heads/main", "refs/heads/try/t/main")]


def test_a_commit_in_a_submodule_arrives_there(workspace: Workspace, repository: Path) -> None:
    """Its git directory lies in that of the project, and is merged by itself."""
    git(repository, "init", "-q", "--bare", "-b", "main", str(repository.parent / "remote.git"))
    git(repository, "push", "-q", str(repository.parent / "remote.git"), "main")
    git(repository, "submodule", "--quiet", "add", str(repository.parent / "remote.git"), "sub")
    git(repository, "commit", "-q", "-m", "with a submodule")
    one = tried(workspace, f"cd sub; {commit(3, 'three')}")
    sub = repository / "sub"
    (sub / "text").write_text(LINES.replace("28\n", "mine\n"))
    git(sub, "commit", "-qam", "person")

    assert arrived(one.accept()) == [("refs/heads/main", "refs/heads/try/t/main")]

    assert git(sub, "log", "-1", "--format=%s", "try/t/main") == "three\n"
    assert git(sub, "log", "-1", "--format=%s") == "person\n"
    git(sub, "fsck", "--strict")


def test_the_commands_say_where_the_commits_are(wink: Wink, repository: Path) -> None:
    """`wink tries` names no conflict, an update leaves git alone, and an accept tells the branch."""
    environment = [f"{name}={value}" for name, value in NEUTRAL.items()]
    for line, name in ((3, "one"), (9, "two")):
        assert wink("try", "--name", name, "--", "env", *environment, "sh", "-ec", commit(line, name)).returncode == 0
    assert "conflict" not in wink("tries").stdout
    assert wink("accept", "--name", "one").returncode == 0
    listed = [json.loads(line) for line in wink("tries", "--json").stdout.splitlines()]
    assert listed[0]["conflicts"] == {"workspace": [], "tries": {}}
    updated = wink("update", "two")
    assert (updated.returncode, ".git" in updated.stdout) == (0, False), updated.stdout
    shown = json.loads(wink("accept", "--name", "two", "--dry-run", "--json").stdout)
    assert shown["branches"] == [{"ref": "refs/heads/main", "as": "refs/heads/try/two/main"}]

    done = wink("accept", "--name", "two")

    assert "both have moved main of git; the try's is try/two/main now" in done.stdout
    assert (done.returncode, done.stderr) == (0, "")


IN_ANOTHER_PLACE = {
    "a worktree": "git worktree add -q -b mine {work}",
    "a worktree of a bare repository": "git clone -q --bare . {work}.git; git -C {work}.git worktree add -q -b mine {work}",
}


@pytest.mark.parametrize("name", IN_ANOTHER_PLACE)
def test_commits_in_a_worktree_arrive_in_its_repository(wink: Wink, repository: Path, name: str) -> None:
    """The branch of the worktree, its index and the branch that the main working tree is on are nobody's to move twice."""
    work = repository.parent / "work"
    subprocess.run(["sh", "-ec", IN_ANOTHER_PLACE[name].format(work=work)], cwd=repository, env=NEUTRAL, check=True)
    words = [f"{name}={value}" for name, value in NEUTRAL.items()]
    for one, script in (("one", f"{commit(3, 'three')}; git branch new"), ("two", commit(9, "nine"))):
        done = wink("try", "--name", one, "--", "env", *words, "sh", "-ec", script, cwd=work)
        assert done.returncode == 0, done.stderr

    first, second = (json.loads(wink("accept", "--name", one, "--json", cwd=work).stdout) for one in ("one", "two"))

    assert first["branches"] == []
    assert second["branches"] == [{"ref": "refs/heads/mine", "as": "refs/heads/try/two/mine"}]
    wanted = {"main": "one", "mine": "three", "new": "three", "try/two/mine": "nine"}
    assert refs(work) == {f"refs/heads/{branch}": said for branch, said in wanted.items()}
    assert git(work, "status", "--porcelain", "-uno") == " M text\n"
    assert (work / "text").read_text() == LINES.replace("\n3\n", "\nthree\n").replace("\n9\n", "\nnine\n")
    (main,) = (one["workspace"] for one in second["git"])
    assert wink("undo", second["git"][0]["call"], "--workspace", main).returncode == 0
    del wanted["try/two/mine"]
    assert refs(work) == {f"refs/heads/{branch}": said for branch, said in wanted.items()}


def test_what_is_done_again_has_its_objects(workspace: Workspace, repository: Path) -> None:
    """Undo leaves them to git, which removes what nothing names: a redo would name what is gone."""
    tried(workspace, commit(3, "three")).accept()
    workspace.undo()
    git(repository, "prune", "--expire=now")

    with pytest.raises(UndoConflict, match="object of git's that was removed since"):
        workspace.redo()

    git(repository, "fsck", "--strict")
    assert refs(repository) == {"refs/heads/main": "one"}


def test_the_branch_that_is_checked_out_is_not_taken_away(workspace: Workspace, repository: Path) -> None:
    """HEAD would name nothing, and all files be new."""
    one = tried(workspace, f"{COMMIT} tried")
    git(repository, "commit", "-q", "--allow-empty", "-m", "person")
    one.accept()
    git(repository, "switch", "-q", "try/t/main")

    with pytest.raises(UndoConflict, match="the branch that its repository is on"):
        workspace.undo()

    git(repository, "switch", "-q", "main")
    workspace.undo()
    assert refs(repository) == {"refs/heads/main": "person"}


def test_a_switch_that_no_log_tells_is_not_overlooked_while_git_is_at_work(
    workspace: Workspace, repository: Path
) -> None:
    """The index of the try is not laid over another branch."""
    subprocess.run(["sh", "-ec", NO_LOGS], cwd=repository, env=NEUTRAL, check=True)
    one = tried(workspace, commit(3, "tried"))
    git(repository, "switch", "-q", "-c", "other")
    (repository / ".git/index.lock").touch()

    with pytest.raises(TryConflict):
        one.accept()

    done = one.accept(rest=True)
    assert all(path.startswith(".git/") for path, _ in done.left)
    (repository / ".git/index.lock").unlink()
    assert git(repository, "diff", "--cached", "--name-only") == ""
    assert (repository / "text").read_text() == LINES.replace("\n3\n", "\ntried\n")


def test_a_head_that_leads_out_names_no_branch(workspace: Workspace, repository: Path) -> None:
    """It may be by anybody."""
    one = tried(workspace, commit(3, "tried"))
    (repository.parent / "elsewhere").write_text(git(repository, "rev-parse", "HEAD"))
    (repository / ".git/HEAD").write_text("ref: ../../elsewhere\n")

    one.accept()

    assert (repository / ".git/refs/heads/main").read_text() != (repository.parent / "elsewhere").read_text()
    assert (repository / ".git/HEAD").read_text() == "ref: ../../elsewhere\n"
