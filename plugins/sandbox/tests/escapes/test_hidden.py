"""What a rule denies reading is hidden from programs, whoever runs them: no way to read it succeeds, and ordinary work does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from plugins.sandbox.tests.escapes.conftest import NOBODY, modules, usable_by

from wink import tool
from wink.filesystem import Filesystem
from wink.prompt import Prompt, PromptTemplate, ToolsSection
from wink.runtime import ToolCall, ToolExecutor
from wink.workspace import Workspace
from wink_rules import Rule, RulesPolicy
from wink_sandbox import CopyGuard, remove_tree
from wink_shell import ShellConfig, ShellSection

READERS = Path(__file__).with_name("readers.py")
RULES = '[[rules]]\naction = "deny"\npaths = ["**/.env", "secrets/**", "conf/*.pem", "deep/*.pem", "**/.deploy"]\n'
PATHS = ("**/.env", "secrets/**", "conf/*.pem", "deep/*.pem", "**/.deploy")


class Place:
    """A workspace with secrets, and a home."""

    def __init__(self, base: Path) -> None:
        self.base, self.root, self.home = base, base / "project", base / "home"
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
        self.home.mkdir()

    def wink(self, *words: str, **environment: str) -> str:
        """A command in the workspace, and all that it said."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        done = subprocess.run(
            [sys.executable, "-m", "wink", *words], cwd=self.root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, env={**kept, "HOME": str(self.home), **environment}, check=False, text=True, timeout=200,
        )  # fmt: skip
        return done.stdout


@pytest.fixture
def place() -> Iterator[Place]:
    """One for each test, not in /tmp: of that a try shows what is in it otherwise."""
    above = "/var/lib" if os.getuid() == 0 else os.path.expanduser("~")
    base = Path(tempfile.mkdtemp(prefix="wink-hidden-", dir=above))
    yield Place(base)
    remove_tree(str(base))


def by_run_command(place: Place, line: str, *, policies: Any = None) -> str:
    """What a model is answered."""
    rules = [RulesPolicy([Rule("deny", paths=PATHS)])] if policies is None else policies
    readable = (sys.prefix, sys.base_prefix)
    shell = ShellSection(config=ShellConfig(readable=readable, timeout_seconds=200, output_bytes=1 << 16))
    with Workspace.open(place.root) as workspace:
        session = workspace.session()
        prompt = Prompt(PromptTemplate(ns="tests", key="hidden", sections=[shell], policies=rules))
        prompt = prompt.bind(resources={Filesystem: workspace.filesystem})
        executor = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)
        return executor.execute(ToolCall("run_command", {"command": line})).text


def ran(line: str) -> str:
    """An isolated function."""
    return subprocess.run(
        ["sh", "-c", line], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, text=True
    ).stdout


def by_isolated_function(place: Place, line: str) -> str:
    """What an ordinary function that a tool runs apart gives back."""
    section = ToolsSection("Run", tools=[tool(ran, isolated=True, effects="process")])
    with Workspace.open(place.root) as workspace:
        session = workspace.session()
        template = PromptTemplate(
            ns="tests", key="hidden", sections=[section], policies=[RulesPolicy([Rule("deny", paths=PATHS)])]
        )
        prompt = Prompt(template).bind(resources={Filesystem: workspace.filesystem})
        executor = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)
        return executor.execute(ToolCall("ran", {"line": line})).text


def by_try(profile: str) -> Callable[[Place, str], str]:
    """What a person sees."""
    return lambda place, line: place.wink("try", "--profile", profile, "--", "sh", "-c", line)


def by_try_on_copy(place: Place, line: str) -> str:
    """Where a try works on a copy, as one that began so goes on doing."""
    place.wink("try", "--unconfined", "--", "mkdir", "begun")
    assert list(place.root.glob(".wink/*/tries/default/copy"))
    return by_try("agent")(place, line)


def by_check(place: Place, line: str) -> str:
    """What is to pass before a try is accepted is a program as well."""
    place.wink("try", "--", "sh", "-c", "echo > made")
    return place.wink("accept", "--check", line)


GUARDS: dict[str, Callable[[Place, str], str]] = {
    "run_command": by_run_command,
    "isolated function": by_isolated_function,
    "try, agent": by_try("agent"),
    "try, build": by_try("build"),
    "try, closed": by_try("closed"),
    "try, claude": by_try("claude"),
    "try, on a copy": by_try_on_copy,
    "accept --check": by_check,
}


def by_copy_guard(place: Place, line: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """On a host where no overlay can be mounted."""
    with monkeypatch.context() as patched:
        patched.setattr("wink_sandbox._call.usual_guard", lambda part=None: CopyGuard())
        return by_run_command(place, line)


@pytest.mark.parametrize("guard", [*GUARDS, "run_command, on a copy"])
def test_no_way_to_read_what_is_hidden_succeeds(place: Place, guard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty-nine ways, and again in a second program, which finds what the first one left."""
    python = sys.executable if guard.startswith("try") and "closed" not in guard else "/usr/bin/python3"
    line = f"{python} readers.py {place.secret}; true"
    run = GUARDS.get(guard, lambda place, line: by_copy_guard(place, line, monkeypatch))
    for _ in range(2):
        text = run(place, line)
        assert "READ" not in text, text
        assert text.count(": held") == 39, text
        assert "ways tried" in text, text
    kept = ("secrets/k", "conf/key.pem", ".env", "hard", "deeper/a/b/.env", ".deploy/token")
    assert all(place.secret in (place.root / name).read_text() for name in kept)


def test_the_ways_do_read_what_no_rule_hides(place: Place) -> None:
    """Or the table would prove nothing; those that the sandbox refuses anyway read nothing here either."""
    text = by_run_command(place, f"/usr/bin/python3 readers.py {place.secret}; true", policies=[])

    assert text.count("READ") >= 22, text


@pytest.mark.parametrize("guard", [*GUARDS, "run_command, on a copy"])
def test_ordinary_work_does_not_mind(place: Place, guard: str, monkeypatch: pytest.MonkeyPatch) -> None:
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
    run = GUARDS.get(guard, lambda place, line: by_copy_guard(place, line, monkeypatch))

    text = run(place, line)

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
    assert "(rules hid from it: .deploy, .env," in by_isolated_function(place, "true")
    assert "hidden" not in by_run_command(place, "true", policies=[RulesPolicy([Rule("deny", paths="nothing/**")])])


def test_a_try_says_it_too_and_for_machines(place: Place) -> None:
    """After the program has ended, on standard error."""
    assert "\nwink: hidden by rules, and empty for the program: .deploy, .env," in by_try("closed")(place, "true")
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


def test_a_directory_with_something_hidden_is_not_moved_on_a_copy(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There the files have real names: under another one the next program would see them."""
    only_reading = [RulesPolicy([Rule("deny", effects="read", paths=["deeper/a/b/.env"])])]
    with monkeypatch.context() as patched:
        patched.setattr("wink_sandbox._call.usual_guard", lambda part=None: CopyGuard())
        for line in ("mv deeper deeper2", "mv deeper/a a2", "rm -r deeper"):
            text = by_run_command(place, line, policies=only_reading)
            assert "Device or resource busy" in text, text

    assert (place.root / "deeper/a/b/.env").is_file()


@pytest.mark.parametrize("on_copy", [False, True])
def test_a_directory_with_something_hidden_can_be_worked_in(
    place: Place, on_copy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its mode, and all else that is in it, is the program's to change."""
    line = (
        "chmod 700 deeper deeper/a/b && echo new > deeper/a/b/new && mv deeper/a/b/new deeper/moved && touch deeper/a/x"
    )
    text = by_copy_guard(place, line, monkeypatch) if on_copy else by_run_command(place, line)

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
