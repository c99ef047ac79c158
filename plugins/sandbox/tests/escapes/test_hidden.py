"""What a rule denies reading is hidden from programs, whoever runs them: no way to read it succeeds, and ordinary work does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from plugins.sandbox.tests.escapes.conftest import NOBODY, modules, usable_by
from plugins.sandbox.tests.guards import GUARDS, Project, directory, python_of

from wink_rules import Rule, RulesPolicy

READERS = Path(__file__).with_name("readers.py")
RULES = '[[rules]]\naction = "deny"\npaths = ["**/.env", "secrets/**", "conf/*.pem", "deep/*.pem", "**/.deploy"]\n'
PATHS = ("**/.env", "secrets/**", "conf/*.pem", "deep/*.pem", "**/.deploy")
DENIED = (RulesPolicy([Rule("deny", paths=PATHS)]),)


class Place(Project):
    """A workspace with secrets, and a home."""

    def __init__(self, base: Path) -> None:
        super().__init__(base)
        self.secret = uuid.uuid4().hex
        for name in (".env", "conf/key.pem", "secrets/k", "deeper/a/b/.env", ".deploy/token"):
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{self.secret} {name}\n")
        for name in ("src", "deeper"):
            (self.root / name).mkdir(exist_ok=True)
        os.link(self.root / "secrets/k", self.root / "hard")
        os.symlink("secrets/k", self.root / "soft")
        os.symlink("conf", self.root / "deep")
        (self.root / "wink.toml").write_text(RULES)
        shutil.copy(READERS, self.root)


@pytest.fixture
def place() -> Iterator[Place]:
    """One for each test."""
    with directory() as base:
        yield Place(base)


def by_run_command(place: Place, line: str, *, policies: Any = DENIED) -> str:
    """What a model is answered that these rules hold."""
    return GUARDS["run_command"](place, line, policies=policies)


def by_copy_guard(place: Place, line: str, *, policies: Any = DENIED) -> str:
    """The same on a host where no overlay can be mounted."""
    return GUARDS["run_command, on a copy"](place, line, policies=policies)


@pytest.mark.parametrize("guard", GUARDS)
def test_no_way_to_read_what_is_hidden_succeeds(place: Place, guard: str) -> None:
    """Thirty-nine ways, and again in a second program, which finds what the first one left."""
    line = f"{python_of(guard)} readers.py {place.secret}; true"
    for _ in range(2):
        text = GUARDS[guard](place, line, policies=DENIED)
        assert "READ" not in text, text
        assert text.count(": held") == 39, text
        assert "ways tried" in text, text
    kept = ("secrets/k", "conf/key.pem", ".env", "hard", "deeper/a/b/.env", ".deploy/token")
    assert all(place.secret in (place.root / name).read_text() for name in kept)


def test_the_ways_do_read_what_no_rule_hides(place: Place) -> None:
    """Or the table would prove nothing; those that the sandbox refuses anyway read nothing here either."""
    text = by_run_command(place, f"/usr/bin/python3 readers.py {place.secret}; true", policies=[])

    assert text.count("READ") >= 22, text


@pytest.mark.parametrize("guard", GUARDS)
def test_ordinary_work_does_not_mind(place: Place, guard: str) -> None:
    """A package is installed from a directory, something is committed, tests and a build run."""
    package = place.root / "package/wink_hidden_example"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("ANSWER = 42\n")
    (package.parent / "setup.py").write_text(
        "from setuptools import setup\nsetup(name='wink-hidden-example', version='1', packages=['wink_hidden_example'])\n"
    )
    (place.root / "test_it.py").write_text(
        "from wink_hidden_example import ANSWER\n\ndef test_it():\n    assert ANSWER == 42\n"
    )
    (place.root / "Makefile").write_text("all: built\nbuilt: test_it.py\n\tcat test_it.py > built\n")
    git = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(["git", "init", "-q", "."], cwd=place.root, check=True)
    python = sys.executable if guard != "try, closed" and guard != "accept --check" else "/usr/bin/python3"
    has_tools = python == sys.executable
    line = " && ".join(
        (
            "export HOME=/dev/shm",
            *(f"export {name}={value}" for name, value in git.items()),
            *(
                (
                    f"{python} -m pip install -q --no-index --no-build-isolation --no-deps --target out ./package",
                    f"PYTHONPATH=out {python} -m pytest -q -p no:cacheprovider test_it.py",
                )
                if has_tools
                else (f"PYTHONPATH=package {python} -c 'import test_it; test_it.test_it()'",)
            ),
            "git add src package test_it.py Makefile",
            "git commit -q -m first",
            "make -s && cat built && cat .env",
            "echo all is well",
        )
    )

    text = GUARDS[guard](place, line, policies=DENIED)

    assert "all is well" in text, text
    assert place.secret not in text
    if "run_command" in guard:
        assert (place.root / "built").is_file()
        assert subprocess.check_output(["git", "log", "--format=%s"], cwd=place.root, text=True) == "first\n"


def test_what_was_hidden_is_said_in_a_line(place: Place) -> None:
    """Some of it by name; in a try also for machines."""
    said = by_run_command(place, "true")
    assert (
        "hidden by rules, and empty for the command: .deploy, .env, conf/key.pem, deeper/a/b/.env, hard and 1 more"
        in said
    )
    assert "(rules hid from it: .deploy, .env," in GUARDS["isolated function"](place, "true", policies=DENIED)
    assert "hidden" not in by_run_command(place, "true", policies=[RulesPolicy([Rule("deny", paths="nothing/**")])])


def test_a_try_says_it_too_and_for_machines(place: Place) -> None:
    """After the program has ended, on standard error."""
    assert "\nwink: hidden by rules, and empty for the program: .deploy, .env," in GUARDS["try, closed"](place, "true")
    told = json.loads(place.wink("try", "--json", "--profile", "closed", "--", "true").splitlines()[-1])
    assert told["hidden"] == [".deploy", ".env", "conf/key.pem", "deeper/a/b/.env", "hard", "secrets"]


@pytest.mark.parametrize(
    ("rule", "is_hidden"),
    [
        (Rule("deny", paths=".env"), True),
        (Rule("deny", paths="**/.ENV"), True),
        (Rule("deny", paths=".env", effects="read"), True),
        (Rule("deny", paths=".env", tools=["read_*", "grep"]), True),
        (Rule("deny", paths=".env", tools=["*", "!run_command"]), False),
        (Rule("deny", paths=".env", tools=["*", "!read_file"]), False),
        (Rule("deny", paths=".env", tools="write_file"), False),
        (Rule("deny", paths=".env", effects="workspace"), False),
        (Rule("deny", paths=["*", "!.env"]), False),
        (Rule("deny", paths=["**/.*", "!src/**"]), True),
        (Rule("ask", paths=".env"), False),
        (Rule("deny", paths=".env", arguments={"limit": 5}), False),
        (Rule("deny", paths=".env", at_most=5), False),
    ],
)
def test_which_rules_hide(place: Place, rule: Rule, is_hidden: bool) -> None:
    """Those that deny reading, but for what they except by name; those that count or look at arguments do not."""
    text = by_run_command(place, "cat .env", policies=[RulesPolicy([rule])])

    assert (place.secret in text) is not is_hidden, text


def test_writing_what_is_hidden_fails_and_changes_nothing(place: Place) -> None:
    """An empty file lies there, that nobody can write to, delete or replace."""
    line = "echo x > .env; rm -f .env; mv src/new .env; echo x > secrets/new; ls -a secrets; stat -c %s,%F .env; echo y > src/new"
    text = by_run_command(place, line)

    assert "0,regular empty file" in text
    assert "created src/new" in text, text
    assert (place.root / ".env").read_text() == f"{place.secret} .env\n"
    assert sorted(os.listdir(place.root / "secrets")) == ["k"]


def test_a_directory_with_something_hidden_is_not_moved_on_a_copy(place: Place) -> None:
    """There the files have real names: under another one the next program would see them."""
    only_reading = [RulesPolicy([Rule("deny", effects="read", paths=["deeper/a/b/.env"])])]
    for line in ("mv deeper deeper2", "mv deeper/a a2", "rm -r deeper"):
        text = by_copy_guard(place, line, policies=only_reading)
        assert "Device or resource busy" in text, text

    assert (place.root / "deeper/a/b/.env").is_file()


@pytest.mark.parametrize("on_copy", [False, True])
def test_a_directory_with_something_hidden_can_be_worked_in(place: Place, on_copy: bool) -> None:
    """Its mode, and all else that is in it, is the program's to change."""
    line = (
        "chmod 700 deeper deeper/a/b && echo new > deeper/a/b/new && mv deeper/a/b/new deeper/moved && touch deeper/a/x"
    )
    text = by_copy_guard(place, line) if on_copy else by_run_command(place, line)

    assert text.startswith("Done."), text
    assert (place.root / "deeper/moved").read_text() == "new\n"
    assert (place.root / "deeper").stat().st_mode & 0o777 == 0o700


def test_another_mount_of_the_same_files_shows_nothing_either(place: Place) -> None:
    """The workspace, and a directory of it, are mounted at other places that a program may read."""
    for name in ("other", "only-conf"):
        (place.base / name).mkdir()
    words = (
        f"mount --bind {place.root} {place.base}/other && mount --bind {place.root}/conf {place.base}/only-conf && "
        f"exec {sys.executable} -m wink try -- sh -c 'ls -a {place.base}/other; cat {place.base}/other/.env {place.base}/only-conf/*; "
        f"/usr/bin/python3 readers.py {place.secret} {place.base}/other {place.base}/only-conf'"
    )
    unshare = ["unshare", "-m"] if os.getuid() == 0 else ["unshare", "-rm"]
    done = subprocess.run(
        [*unshare, "sh", "-c", words], cwd=place.root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={"PATH": os.environ["PATH"], "HOME": str(place.home)}, check=False, text=True, timeout=100,
    )  # fmt: skip

    assert "39 ways tried" in done.stdout, done.stdout
    assert "READ" not in done.stdout, done.stdout
    assert "\nwink.toml\n" in done.stdout, "what is not hidden is seen there"
    assert place.secret not in done.stdout, done.stdout


def test_what_is_too_much_to_look_at_is_refused(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was not looked at may have been meant."""
    monkeypatch.setattr("wink_sandbox.hiding._hiding.MOST_LOOKED_AT", 5)

    text = by_run_command(place, "cat .env")

    assert "more than 5 names to look at; name directories in these rules" in text
    assert place.secret not in text


@pytest.mark.skipif(usable_by(NOBODY) is None, reason="needs root, and a Python that others can use")
@pytest.mark.parametrize("mode", [0o000, 0o400, 0o100])
def test_a_directory_that_is_closed_is_hidden_as_a_whole(place: Place, mode: int) -> None:
    """Its owner's programs could open it: what is in it cannot be looked at before."""
    for path in (place.base, *place.base.rglob("*")):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    place.base.chmod(0o755)
    (place.root / "deeper/a").chmod(mode)
    interpreter = usable_by(NOBODY)
    assert interpreter is not None
    words = [
        "setpriv",
        f"--reuid={NOBODY}",
        f"--regid={NOBODY}",
        "--clear-groups",
        interpreter,
        "-m",
        "wink",
        "try",
        "--",
    ]
    line = "chmod -R u+rwx deeper; find deeper; cat deeper/a/b/.env .env; echo ran"
    environment = {"PATH": os.environ["PATH"], "HOME": str(place.home), "PYTHONPATH": os.pathsep.join(modules())}
    done = subprocess.run(
        [*words, "sh", "-c", line], cwd=place.root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env=environment, check=False, text=True, timeout=200,
    )  # fmt: skip

    assert "\nran\n" in done.stdout, done.stdout
    assert place.secret not in done.stdout, done.stdout
