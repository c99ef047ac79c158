"""Days with git: a monorepo, signatures, large files, hooks; each step accepted, undone and redone, files and git compared."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from plugins.sandbox.tests.tries.conftest import Wink
from tests.days.conftest import Day

needs_lfs = pytest.mark.skipif(shutil.which("git-lfs") is None, reason="git-lfs is missing: apt-get install git-lfs")
needs_gpg = pytest.mark.skipif(shutil.which("gpg-agent") is None, reason="gpg is missing: apt-get install gnupg")


@pytest.fixture
def day(place: Path, wink: Wink, environment: dict[str, str]) -> Day:
    """A repository of several packages."""
    day = Day(place, wink, environment)
    day.sh(
        "mkdir -p web/app; echo 1 > web/app/a.js; echo .wink > .gitignore; git init -q .; git add -A; git commit -qm one"
    )
    return day


def test_a_commit_from_a_directory_of_a_monorepo_has_what_was_done_in_all_of_it(day: Day) -> None:
    """Its repository begins above where the program started, and so does the workspace."""
    day.tried("echo 2 > a.js; echo 2 > ../../src/b.txt; git add -A ../..; git commit -qm two", "web/app")
    day.accepted(where="web/app")
    assert day.sh("git show --format=%s --name-only").split() == ["two", "src/b.txt", "web/app/a.js"]
    day.tried("git mv a.js b.js; git commit -qm three; git tag v1; git checkout -qb next", "web/app")
    day.accepted(where="web/app")
    assert day.sh("git log --format=%s").split() == ["three", "two", "one"]
    assert day.sh("git describe --tags; git branch --show-current").split() == ["v1", "next"]


@needs_lfs
def test_large_files_of_git_lfs_are_accepted_undone_and_redone(day: Day) -> None:
    """Their objects were refused: without them a commit has pointers that lead to nothing."""
    day.sh("git lfs install --local")
    script = "git lfs track '*.bin'; head -c 300000 /dev/urandom > large.bin; git add -A; git commit -qm large"
    day.tried(script)
    day.accepted()

    assert day.sh("git cat-file -p HEAD:large.bin").startswith("version https://git-lfs.github.com/spec/v1\n")
    content = (day.root / "large.bin").read_bytes()
    assert len(content) == 300_000
    day.sh("git lfs fsck; rm large.bin; git checkout large.bin")
    assert (day.root / "large.bin").read_bytes() == content
    day.tried("echo more >> large.bin; git commit -qam more")
    day.accepted()
    assert day.sh("git lfs ls-files -n; git status --porcelain") == "large.bin\n"
    day.wink("undo")
    assert (day.root / "large.bin").read_bytes() == content
    assert day.sh("git status --porcelain") == ""


@needs_lfs
def test_what_git_lfs_installs_is_refused_and_its_objects_are_not(day: Day) -> None:
    """Hooks and filters run programs."""
    day.tried("git lfs install --local; git lfs track '*.bin'; echo x > x.bin; git add -A; git commit -qm x")
    said = day.wink("accept", status=2)
    assert ".git/hooks/pre-push" in said
    assert "filter.lfs.process" in said
    assert ".git/lfs" not in said
    day.wink("accept", "--rest", status=1)
    assert not (day.root / ".git/hooks/pre-push").exists()
    assert "filter" not in (day.root / ".git/config").read_text()
    assert day.sh("git log -1 --format=%s") == "x\n"


@pytest.mark.parametrize("how", ["refuses", "changes", "is a program of the project"])
def test_a_hook_before_a_commit_does_what_it_does_outside(day: Day, how: str) -> None:
    """What it writes is in the commit; what it refuses is not."""
    hook = day.root / ".git/hooks/pre-commit"
    words = {
        "refuses": "! grep -q TODO web/app/a.js",
        "changes": "sed -i 's/TODO/done/' web/app/a.js; git add web/app/a.js",
        "is a program of the project": "exec ./check.sh",
    }
    (day.root / "check.sh").write_text("#!/bin/sh\necho checked > checked.txt; git add checked.txt\n")
    (day.root / "check.sh").chmod(0o755)
    hook.write_text(f"#!/bin/sh\n{words[how]}\n")
    hook.chmod(0o755)
    day.sh("git add check.sh; git -c core.hooksPath=/nowhere commit -qm check")
    commit = "echo TODO >> web/app/a.js; git commit -qam two || echo refused"

    said = day.tried(commit)
    day.accepted()

    assert ("refused" in said) == (how == "refuses")
    assert day.sh("git log -1 --format=%s") == ("check\n" if how == "refuses" else "two\n")
    assert ("TODO" in (day.root / "web/app/a.js").read_text()) == (how != "changes")
    assert (day.root / "checked.txt").exists() == (how == "is a program of the project")


@pytest.fixture
def gnupg(environment: dict[str, str]) -> Iterator[Path]:
    """A directory for gpg in the home, with nobody's key; the names of its sockets must be short."""
    home = Path(environment["HOME"])
    with tempfile.TemporaryDirectory(prefix="wg-", dir="/var/tmp") as short:
        place = Path(short, "g")
        place.mkdir(mode=0o700)
        (home / ".gnupg").symlink_to(place)
        environment["GNUPGHOME"] = str(place)
        yield place
        subprocess.run(["gpgconf", "--kill", "all"], env=environment, check=False)


def key_with(passphrase: str, environment: dict[str, str]) -> None:
    words = ["gpg", "-q", "--batch", "--pinentry-mode", "loopback", "--passphrase", passphrase]
    subprocess.run(
        [*words, "--quick-gen-key", "A <a@example.org>", "ed25519", "sign", "never"], env=environment, check=True
    )


@needs_gpg
def test_a_commit_is_signed_by_gpg_with_a_key_that_has_no_passphrase(
    day: Day, gnupg: Path, environment: dict[str, str]
) -> None:
    """gpg starts an agent of its own in the try, which ends with it."""
    key_with("", environment)
    settings = Path(environment["HOME"], ".config/wink/wink.toml")
    settings.parent.mkdir(parents=True)
    settings.write_text('hide = ["!~/.gnupg"]')
    day.tried("echo 2 > web/app/a.js; git commit -qS -am two; git verify-commit HEAD")
    day.accepted()
    day.sh("git verify-commit HEAD")
    assert day.sh("git log -1 --format=%G?") in ("U\n", "G\n")
    day.wink("undo")
    assert day.sh("git log -1 --format=%s") == "one\n"


@needs_gpg
def test_a_signature_that_needs_the_gpg_agent_is_told_of(day: Day, gnupg: Path, environment: dict[str, str]) -> None:
    """The agent that knows the passphrase is not reached, and git only says that gpg failed."""
    key_with("secret", environment)
    environment["PINENTRY_USER_DATA"] = "none"
    (gnupg / "gpg-agent.conf").write_text("pinentry-program /bin/false\n")
    said = day.tried("echo 2 > web/app/a.js; git commit -qS -am two || echo unsigned")
    assert "unsigned" in said
    assert "no program in a try reaches your ssh or gpg agent" in said
    day.accepted()
    assert day.sh("git log -1 --format=%s") == "one\n"
