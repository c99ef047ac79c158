"""Every failure that is found in the wild, in use: the commands that work with plugins go on with all that is sound."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.plugins.test_in_the_wild import install_healthy
from tests.plugins.wild import CASES, GOOD, MAKING, Wild

from wink.plugins import Catalog
from wink.testing import fake_distribution

NOT_HERE = {
    "a fork that goes on": "its child keeps the ends of pipes that the tests wait for",
    "a killer": "it would end the process of the tests",
    "a thread": "no command of Python ends before its threads do",
    "no more warnings": "it silences the lines that are looked for",
}
"""Cases that only a process of their own shows."""
DEADLY = {
    "a hang",
    "a hard exit",
    "a crash",
    "a factory that ends the process",
    "a factory that hangs",
}

RIVALS = {
    # name of the distribution: what it offers, its module, what is said of it
    "thief": (
        "files.thief",
        GOOD,
        "name 'files' is that of a plugin of wink's own, which is used; thief 1.0 has to choose another",
    ),
    "same-tool": (
        "same-tool.a",
        MAKING + "def section(): return of(Tool[None, None]('ls', 'x', say))",
        "tool 'ls' comes from both section 'files' and section 'wild-x'",
    ),
    "same-key": (
        "same-key.a",
        MAKING + "def section(): return ToolsSection('Own', [], key='files')",
        "'Files' and 'Own' have the same key",
    ),
}
"""What is sound by itself, and cannot stand beside what is there."""


class Site:
    """An environment with everything in it, and commands that run in it, in fresh processes of one user's."""

    def __init__(self, place: Path) -> None:
        self.path, self.work, self.home = place / "site", place / "work", place / "home"
        for directory in (self.path, self.work, self.home):
            directory.mkdir()
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("WINK_", "XDG_"))}
        self.environment = {**kept, "PYTHONPATH": str(self.path), "HOME": str(self.home)}
        self.asked: list[str] = []

    def run(self, *arguments: str, input: str = "") -> subprocess.CompletedProcess[str]:
        """A command that asks for everything that can be asked for."""
        command, *more = arguments
        sections = [word for name in ("healthy.section", *self.asked) for word in ("--section", name)]
        return self.plain(command, *sections, *more, input=input)

    def plain(self, *arguments: str, input: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-P", "-m", "wink", *arguments],
            env=self.environment,
            cwd=self.work,
            input=input,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


def deaths(done: subprocess.CompletedProcess[str]) -> bool:
    """Whether a process ended without coming to its own end."""
    return "healthy_say" not in done.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """All failures at once; those that end a process have ended one each."""
    found = Site(tmp_path_factory.mktemp("use"))
    with ExitStack() as stack:
        for n, case in enumerate(CASES):
            if case.name not in NOT_HERE:
                case.install(found.path, n, stack)
        for name, (offer, source, _) in RIVALS.items():
            module = name.replace("-", "_")
            points = f"[wink.sections]\n{offer} = {module}:section\n"
            options = {"directory": found.path, "on_path": False}
            stack.enter_context(
                fake_distribution(name, entry_points=points, modules={module: source.replace("{n}", "x")}, **options)
            )  # type: ignore[arg-type]
        install_healthy(found.path, stack)
        sound = {f"wild-{n}" for n, case in enumerate(CASES) if case.loaded == "loaded"}
        for plugin in Catalog.installed(paths=[str(found.path)]).plugins:
            offers = [offer.name for offer in plugin.offers if offer.kind == "section"]
            if plugin.name != "healthy":
                found.asked += offers or ([] if plugin.name in sound else [f"{plugin.name}.a"])
        found.asked = sorted({name for name in found.asked if "." in name and name.isprintable()})
        for _ in range(len(DEADLY) + 1):
            done = found.run("tools")
            if not deaths(done):
                break
        yield found


def lines_of(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """What is said of each distribution."""
    said = re.findall(r"^wink: (plugin '.*?' of (\S+).* is left out: .*)$", done.stderr, re.MULTILINE)
    return {distribution: line for line, distribution in said}


def broken() -> list[tuple[int, Wild]]:
    """The cases of which nothing can be used."""
    return [
        (n, case)
        for n, case in enumerate(CASES)
        if case.name not in NOT_HERE and case.loaded in ("broken", "conflict", "incompatible") and case.name != "no dot"
    ]


def assert_explained(done: subprocess.CompletedProcess[str], *, watches: bool = True) -> None:
    """One line for each failure, and nothing else is said; a command that makes no call asks nobody to watch it."""
    said = lines_of(done)
    cases = [(n, case) for n, case in broken() if watches or case.name != "a subscription that fails"]
    missing = [case.name for n, case in cases if f"wild-dist-{n}" not in said]
    assert not missing, (missing, done.stderr)
    for n, case in cases:
        line = said[f"wild-dist-{n}"]
        assert line.isprintable(), (case.name, line)
        assert line.count(" is left out: ") == 1
        if case.name in DEADLY:
            assert f"`wink plugins retry wild-{n}` lets it in again" in line, line
    for name, (_, _, reason) in RIVALS.items():
        assert reason in said[name], said[name]
    assert "Traceback" not in done.stderr
    assert "UnicodeDecodeError" not in done.stderr
    assert len(re.findall(r"'wild-1' of", done.stderr)) == 1


def test_tools_lists_what_is_sound(site: Site) -> None:
    """And says of each tool which distribution it comes from."""
    done = site.run("tools", "--json")

    assert done.returncode == 0, done.stderr
    found = {tool["name"]: tool["plugin"] for tool in json.loads(done.stdout)}
    assert found["healthy_say"] == {"name": "healthy", "distribution": "healthy-plugin", "version": "1.0"}
    assert found["ls"]["distribution"] == "wink"
    assert_explained(done, watches=False)


def test_call_runs_what_is_sound_and_the_record_says_whose_it_was(site: Site) -> None:
    """Of theirs and of ours."""
    done = site.run("call", "healthy_say")
    wrong = site.run("call", "ls", "path=[3]")
    last = json.loads(site.plain("log", "--json").stdout.splitlines()[0] or "[]")

    assert (done.returncode, done.stdout) == (0, "well\n"), done.stderr
    assert_explained(done)
    assert "UnicodeDecodeError" not in wrong.stderr
    assert last
    shown = site.plain("show", "c1").stdout
    assert "offered by plugin healthy of healthy-plugin 1.0" in shown
    assert json.loads(site.plain("show", "c1", "--json").stdout)["plugin"]["version"] == "1.0"


def test_serve_answers_and_calls(site: Site) -> None:
    """A client sees the tools of what is sound."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    messages = (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "healthy_say", "arguments": {}}},
    )

    done = site.run("serve", input="".join(f"{json.dumps(message)}\n" for message in messages))

    replies = {reply["id"]: reply for reply in map(json.loads, done.stdout.splitlines()) if "id" in reply}
    assert {"healthy_say", "ls"} <= {tool["name"] for tool in replies[2]["result"]["tools"]}, done.stderr
    assert "well" in json.dumps(replies[3])
    assert_explained(done)


def test_run_goes_on(site: Site) -> None:
    """A model has what is sound."""
    (site.work / "turns.toml").write_text('[[turn]]\n[[turn.call]]\ntool = "healthy_say"\n[[turn]]\ntext = "Done."\n')

    done = site.run("run", "Say it", "--model", "scripted:turns.toml")

    assert done.returncode == 0, done.stderr
    assert "healthy_say" in done.stdout
    assert_explained(done)


def test_the_page_opens(site: Site) -> None:
    """It shows what was done, in the midst of packages whose metadata no library can read."""
    command = [sys.executable, "-P", "-m", "wink", "ui", "--no-open"]
    with subprocess.Popen(command, env=site.environment, cwd=site.work, stdout=subprocess.PIPE, text=True) as page:
        assert page.stdout is not None
        url = page.stdout.readline()
        page.send_signal(signal.SIGINT)

    assert url.startswith("http://127.0.0.1:")


def test_the_table_tells_distribution_version_and_state(site: Site) -> None:
    """Of each that is kept out, also how to try it again."""
    said = json.loads(site.plain("plugins", "--json").stdout)["plugins"]
    table = site.plain("plugins").stdout

    deadly = {f"wild-dist-{n}" for n, case in enumerate(CASES) if case.name in DEADLY}
    assert {one["distribution"] for one in said if one["state"] == "quarantined"} == deadly
    assert "DISTRIBUTION" in table
    assert re.search(r"^healthy +healthy-plugin +1\.0 +available", table, re.MULTILINE)


def test_export_schema_imports_the_one_that_is_named(site: Site) -> None:
    """What is not asked for is not imported: it may be slow, or end the process."""
    (site.path / "loud_module.py").write_text(f"open({str(site.home / 'imported')!r}, 'w')\n{GOOD}")
    info = site.path / "loud-1.0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "entry_points.txt").write_text(
        "[wink.sections]\nloud.a = loud_module:section\n[wink.hooks]\nloud = loud_module\n"
    )

    done = site.plain("plugins", "export-schema", "healthy")

    tools = json.loads(done.stdout)["tools"]
    assert [(tool["name"], tool["distribution"], tool["version"]) for tool in tools] == [
        ("healthy_say", "healthy-plugin", "1.0")
    ]
    assert not (site.home / "imported").exists()


def test_what_was_kept_out_is_let_in_again(site: Site) -> None:
    """By a person, who may have fixed it."""
    n = next(n for n, case in enumerate(CASES) if case.name == "a hard exit")
    again = site.plain("plugins", "retry", f"wild-{n}")
    twice = site.plain("plugins", "retry", f"wild-{n}")
    states = {one["name"]: one["state"] for one in json.loads(site.plain("plugins", "--json").stdout)["plugins"]}
    source = MAKING + "def section(): return of(Tool[None, None]('fixed', 'x', say))"
    (site.path / f"wild_{n}.py").write_text(source.replace("{n}", str(n)))

    assert "is let in again" in again.stdout
    assert "was not kept out" in twice.stdout
    assert states[f"wild-{n}"] == "available"
    assert "fixed" in site.run("tools").stdout


LIBRARY = """
import sys
from dataclasses import dataclass
from wink.serde import parse
@dataclass
class Point:
    x: int
    y: "list[int]"
print(parse(Point, {"x": 1, "y": [2]}, coerce=True))
"""


def test_a_program_that_uses_wink_reads_arguments_among_broken_packages(site: Site) -> None:
    """Pydantic looks for plugins in every package when it makes its first validator, and raises where one is no UTF-8."""
    (site.path / "fifo-free").mkdir(exist_ok=True)
    with fake_distribution("alien", entry_points=b"\xff\xfe", directory=site.home / "other", on_path=False) as alien:
        environment = {**site.environment, "PYTHONPATH": alien.path}
        done = subprocess.run(
            [sys.executable, "-P", "-c", LIBRARY], env=environment, capture_output=True, text=True, check=False
        )

    assert done.stdout == "Point(x=1, y=[2])\n", done.stderr
