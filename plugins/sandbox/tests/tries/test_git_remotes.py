"""Remotes that a program sets: shown and asked about, unless git would run something because of them; and odd settings files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from plugins.sandbox.tests.tries.conftest import Wink
from plugins.sandbox.tests.tries.test_git import config, git, run
from plugins.sandbox.tests.tries.test_patch import Person

from wink.workspace import Workspace
from wink_sandbox import RemoteSetting
from wink_sandbox.tries import AcceptRefused


@pytest.fixture
def repository(place: Path) -> Path:
    """The project as a repository with a remote."""
    git(place, "init", "-q", "-b", "main")
    git(place, "add", ".")
    git(place, "commit", "-q", "-m", "one")
    git(place, "remote", "add", "origin", "https://example.org/mine.git")
    return place


@pytest.fixture
def workspace(repository: Path) -> Iterator[Workspace]:
    with Workspace.open(repository) as opened:
        yield opened


class Yes:
    """Somebody who takes everything that is asked about."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, settings: tuple[RemoteSetting, ...]) -> bool:
        self.asked += map(str, settings)
        return True


ADDRESSES = [
    "https://example.org/x.git",
    "http://u:p@example.org:8080/x",
    "ssh://git@example.org:22/~u/x",
    "git://[::1]/x",
    "user@host_1:x/y",
    "host:/srv/x",
    "[::1]:x",
    "../remote.git",
    "/srv/git/x.git",
    "./y",
    "file:///srv/x.git",
    "https://example.org",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_is_asked_about_and_taken(workspace: Workspace, repository: Path, address: str) -> None:
    """The usual forms, of a new remote, that a branch follows too."""
    before = (repository / ".git/config").read_bytes()
    one = run(workspace, f"git remote add new '{address}'; git config branch.main.remote new")
    yes = Yes()

    with pytest.raises(AcceptRefused, match=r"nobody has confirmed: remote\.new\.url .*`wink accept --remotes` takes"):
        one.accept()
    assert one.accept(rest=True).left
    assert (repository / ".git/config").read_bytes() == before
    one.accept(remotes=yes)

    fetch = "remote.new.fetch (nothing -> '+refs/heads/*:refs/remotes/new/*')"
    assert yes.asked == [f"remote.new.url (nothing -> {address!r})", fetch]
    assert config(repository, "remote.new.url") == f"{address}\n"
    assert config(repository, "branch.main.remote") == "new\n"
    workspace.undo()
    assert (repository / ".git/config").read_bytes() == before


CHANGES = {
    "another address": "git remote set-url origin https://example.org/other.git",
    "one more address": "git remote set-url --add origin https://example.org/other.git",
    "one to push to": "git remote set-url --push origin host:x",
    "another name": "git remote rename origin up",
    "none": "git remote remove origin",
    "some branches": "git remote set-branches origin main dev; git config --add remote.origin.fetch ^refs/heads/not",
    "capital letters": r"""printf '[REMOTE "New"]\n\tURL = https://example.org/x\n' >> .git/config""",
    "the old way": r"""printf '[remote.new]\nurl="https://exam\\\nple.org/x"\n' >> .git/config""",
    "other line ends": r"""printf '[remote "new"]\r\n\turl = https://example.org/x\r\n' >> .git/config""",
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_taken_is_what_the_program_set(workspace: Workspace, repository: Path, name: str) -> None:
    """Key by key, with all values of each, however it was written."""
    one = run(workspace, CHANGES[name])
    wanted = sorted(
        config(repository, "--file", str(Path(one.overlay.upper, ".git/config")), "-z", "--list").split("\0")
    )

    one.accept(remotes=Yes())

    assert sorted(config(repository, "-z", "--list").split("\0")) == wanted


def test_only_what_was_shown_is_taken(workspace: Workspace, repository: Path) -> None:
    """What a person sets while they are asked is in the way; a "no" takes nothing."""
    one = run(workspace, "git remote set-url origin https://example.org/other.git; echo 2 > a.txt")

    def sets_it(settings: tuple[RemoteSetting, ...]) -> bool:
        config(repository, "remote.origin.url", "https://example.org/third.git")
        return bool(settings)

    with pytest.raises(AcceptRefused, match="by somebody else too since the try began"):
        one.accept(remotes=sets_it)
    with pytest.raises(AcceptRefused):
        one.accept(remotes=lambda _: False)

    assert config(repository, "remote.origin.url") == "https://example.org/third.git\n"
    assert (repository / "a.txt").read_text() == "one\n"


NEVER = [
    "ext::sh",
    "ext::sh%20-c%20x",
    "fd::17",
    "foo::bar",
    "EXT::x",
    "a+b::c",
    "host::x",
    "foo://host/x",
    "rsync://h/x",
    "ftp://h/x",
    "transport::https://x",
    "-x",
    "--upload-pack=x",
    "ssh://-oProxyCommand=x/y",
    "ssh://-o@h/x",
    "ssh://u@-oProxyCommand=x/y",
    "git://-x/y",
    "-oProxyCommand=x:y",
    "u@-h:x",
    "host:-x",
    "host:--upload-pack=x",
    "host:://x",
    "C::x",
    "https://h%0a/x",
    "https://h/%0dx",
    "https://",
    "https://-h/x",
    "ssh://h:-1/x",
    "nowhere",
    "x",
    "y/z",
    "~/x",
    "https://h\\x/y",
]


@pytest.mark.parametrize("key", ["url", "pushurl"])
def test_what_runs_a_program_or_may_be_no_address_is_never_asked_about(
    workspace: Workspace, repository: Path, key: str
) -> None:
    """It is refused by its key, whoever confirms it."""
    before, yes = (repository / ".git/config").read_bytes(), Yes()
    odd = ["a\nb", "https://h/a\u202eb", "https://h/\x1b[2J", " ext::x", "https://h/" + "x" * 2000, "https://é.org/"]
    for value in (*NEVER, *odd):
        (repository / "value").write_text(value)
        one = run(workspace, f'git remote add other https://example.org/x; git config remote.new.{key} "$(cat value)"')
        with pytest.raises(AcceptRefused, match=rf"remote\.new\.{key} "):
            one.accept(".git/config", remotes=yes)
        one.drop()
    assert yes.asked == []
    assert (repository / ".git/config").read_bytes() == before


OTHER_KEYS = {
    "remote.origin.vcs": "git config remote.origin.vcs foo",
    "remote.origin.uploadpack": "git config remote.origin.uploadpack evil",
    "remote.origin.receivepack": "git config remote.origin.receivepack evil",
    "remote.origin.proxy": "git config remote.origin.proxy evil",
    "remote.origin.mirror": "git config remote.origin.mirror true",
    "remote.pushdefault": "git config remote.pushDefault origin",
    "url.ext::evil.insteadof": "git config url.ext::evil.insteadOf https://",
    "url.ext::evil.pushinsteadof": "git config url.ext::evil.pushInsteadOf https://",
    "remote.../x.url": "git config remote.../x.url https://example.org/x",
    "remote.-x.url": "git config remote.-x.url https://example.org/x",
    "remote.new.fetch": "git config remote.new.fetch '+refs/heads/*:../../x'",
    "remote.origin.fetch": "git config --add remote.origin.fetch -x",
    "remote.bare.url": r"""printf '[remote "bare"]\n\turl\n' >> .git/config""",
    "core.sshcommand": "git config core.sshCommand evil",
    "core.gitproxy": "git config core.gitProxy evil",
    "core.fsmonitor": r"printf '[CoRe]FSMonitor = e\\\nvil\n' >> .git/config",
    "core.worktree": r"printf '\357\273\277[core]\n\tworktree=/\n' > new; cat .git/config >> new; mv new .git/config",
    "include.path": r"printf '[include]\r\n\tpath = evil\r\n' >> .git/config",
    "includeif.gitdir:/.path": r"""printf '[includeIf "gitdir:/"] path = evil\n' >> .git/config""",
    "alias.x": "git config alias.x '!evil'",
    "extensions.worktreeconfig": "git config extensions.worktreeConfig true",
    "credential.helper": "git config credential.helper '!evil'",
    "branch.main.mergeoptions": "git config branch.main.mergeOptions --signoff",
}


@pytest.mark.parametrize("key", OTHER_KEYS)
def test_any_other_key_is_refused_however_it_is_written(workspace: Workspace, repository: Path, key: str) -> None:
    """With what could be confirmed beside it."""
    before, yes = (repository / ".git/config").read_bytes(), Yes()
    one = run(workspace, f"git remote add other https://example.org/x; {OTHER_KEYS[key]}")

    with pytest.raises(AcceptRefused) as caught:
        one.accept(remotes=yes)

    assert f"{key} (" in caught.value.problems[0][1]
    assert yes.asked == []
    assert (repository / ".git/config").read_bytes() == before


MANY = {
    "remotes": r"""for n in $(seq 21); do printf '[remote "r%s"]\n\turl = https://h/x\n' $n; done >> .git/config""",
    "addresses": r"""for n in $(seq 9); do printf '[remote "r"]\n\turl = https://h/%s\n' $n; done >> .git/config""",
    "keys": r"seq -f '[branch \"b%.0f\"] rebase = true' 201 >> .git/config",
    "bytes": "{ cat .git/config; head -c 2000000 /dev/zero | tr '\\0' '\\n'; } > new; mv new .git/config",
    "a long name": r"""printf '[remote "%s"] url = https://h/x\n' $(head -c 5000 /dev/zero | tr '\0' x) >> .git/config""",
    "nulls": r"""printf '[remote "x"]\n\turl = https://h/x\0y\n' >> .git/config""",
    "a null in a name": r"""printf '[remote "x\0y"]\n\turl = https://h/x\n' >> .git/config""",
    "deep sections": r"""printf '[remote "x' >> .git/config""",
}


@pytest.mark.parametrize("name", MANY)
def test_too_much_or_broken_is_refused_and_shown_to_nobody(workspace: Workspace, repository: Path, name: str) -> None:
    """Nobody reads a hundred addresses before they say yes."""
    before, yes = (repository / ".git/config").read_bytes(), Yes()
    one = run(workspace, MANY[name])

    with pytest.raises(AcceptRefused) as caught:
        one.accept(remotes=yes)

    assert len(str(caught.value)) < 2000
    assert yes.asked == []
    assert (repository / ".git/config").read_bytes() == before


# -- at the command line


def test_an_option_confirms_for_scripts(wink: Wink, repository: Path) -> None:
    """What is taken is shown; without the option nothing is accepted, and the status is not 0."""
    assert wink("try", "--", "sh", "-ec", "git remote add new https://example.org/x; echo 2 > a.txt").returncode == 0

    refused = wink("accept")
    assert refused.returncode == 2
    assert "remote.new.url (nothing -> 'https://example.org/x')" in refused.stderr
    assert (repository / "a.txt").read_text() == "one\n"
    assert wink("accept", "--dry-run").returncode == 2
    assert wink("accept", "--dry-run", "--remotes").returncode == 0

    done = wink("accept", "--remotes")
    assert done.returncode == 0, done.stderr
    assert "  .git/config: remote.new.url (nothing -> 'https://example.org/x')\n" in done.stderr
    assert config(repository, "remote.new.url") == "https://example.org/x\n"
    assert (repository / "a.txt").read_text() == "2\n"


@pytest.mark.parametrize("answer", ["y", "n", "\x04"])
def test_at_a_terminal_it_asks(
    wink: Wink, place: Path, repository: Path, environment: dict[str, str], answer: str
) -> None:
    """Once, with all of it shown before; whoever does not say yes has nothing accepted."""
    wink("try", "--", "sh", "-ec", "git remote add new https://example.org/x; echo 2 > a.txt")
    person = Person(place, environment, "accept")
    try:
        shown = person.until("Take them? [y/N]: ")
        os.write(person.screen, f"{answer}\n".encode() if answer.isalpha() else answer.encode())
        status, after = person.end()
    finally:
        os.close(person.screen)

    assert "remote.new.url (nothing -> 'https://example.org/x')" in shown
    assert (status == 0) == (answer == "y"), after
    assert "Take them?" not in after
    assert (repository / "a.txt").read_text() == ("2\n" if answer == "y" else "one\n")
    assert ("https://example.org/x" in (repository / ".git/config").read_text()) == (answer == "y")


def test_remotes_set_in_a_worktree_are_asked_about_too(wink: Wink, place: Path, repository: Path) -> None:
    """Its settings lie in the main working tree, in the home."""
    main = place.parent / "home/main"
    git(repository.parent, "clone", "-q", str(repository), str(main))
    git(main, "worktree", "add", "-q", "../tree", "-b", "wt")
    root = main.parent / "tree"
    wink("try", "--", "sh", "-ec", "git remote add new https://example.org/x", cwd=root)

    refused = wink("accept", cwd=root)
    assert refused.returncode != 0
    assert "has remotes that nobody has confirmed: remote.new.url" in refused.stderr
    done = wink("accept", "--remotes", cwd=root)

    assert done.returncode == 0, done.stderr
    assert f"{main}/.git/config: remote.new.url" in done.stderr
    assert config(main, "remote.new.url") == "https://example.org/x\n"
