"""Every failure that is found in the wild is one explained line, and every healthy plugin goes on working."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plugins.wild import CASES, GOOD, Wild

from wink.plugins import Catalog, PluginInfo
from wink.prompt import Prompt, PromptTemplate
from wink.runtime import ToolCall, ToolExecutor
from wink.session import Session
from wink.testing import fake_distribution

HEALTHY = "[wink.sections]\nhealthy.section = healthy_plugin:section\n"


def install_healthy(directory: Path, stack: ExitStack) -> None:
    stack.enter_context(
        fake_distribution(
            "healthy-plugin",
            entry_points=HEALTHY,
            modules={"healthy_plugin": GOOD},
            directory=directory,
            on_path=False,
        )
    )


def answer_of(catalog: Catalog) -> str:
    """What the healthy plugin's tool says, called as a model would call it."""
    prompt: Any = Prompt(PromptTemplate(ns="wild", key="wild", sections=[catalog.use("section", "healthy.section")]))
    session = Session()
    executor = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)
    return executor.execute(ToolCall("healthy_say", {})).text


def numbered(case: Wild, n: int, text: str) -> str:
    return text.replace("{n}", str(n))


def check(case: Wild, n: int, plugins: list[Any]) -> None:
    """Each plugin of the case is in the state that is expected, in one line that says why."""
    found = [plugin for plugin in plugins if plugin["name"] == numbered(case, n, case.plugin)]
    assert found, f"{case.name}: nothing is said of it"
    for plugin in found:
        assert plugin["state"] == case.loaded, (case.name, plugin)
        assert numbered(case, n, case.reason) in plugin["reason"], (case.name, plugin)
        assert bool(plugin["reason"]) == bool(case.reason), (case.name, plugin)
        assert any(numbered(case, n, case.note) in note for note in (*plugin["notes"], "")), (case.name, plugin)
        for line in (plugin["reason"], *plugin["notes"]):
            assert line.isprintable(), (case.name, line)
            assert len(line) < 700, (case.name, len(line))


def as_facts(plugins: tuple[PluginInfo, ...]) -> list[dict[str, Any]]:
    return [
        {"name": plugin.name, "state": plugin.state, "reason": plugin.reason, "notes": list(plugin.notes)}
        for plugin in plugins
    ]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory on the path for distributions, whose modules are forgotten afterwards."""
    place = tmp_path / "site"
    place.mkdir()
    monkeypatch.setattr(sys, "path", [str(place), *sys.path])
    before = set(sys.modules)
    yield place
    for name in set(sys.modules) - before:
        if name.startswith(("wild_", "healthy_")):
            del sys.modules[name]


IN_PROCESS = [(n, case) for n, case in enumerate(CASES) if not case.alone]


@pytest.mark.filterwarnings("ignore::wink.plugins.PluginWarning")
@pytest.mark.parametrize(("n", "case"), IN_PROCESS, ids=[case.name for _, case in IN_PROCESS])
def test_a_failure_is_one_explained_line(here: Path, n: int, case: Wild) -> None:
    """Also where everything is imported into one process: nothing escapes, and the neighbour works."""
    with ExitStack() as stack:
        case.install(here, n, stack)
        install_healthy(here, stack)
        catalog = Catalog.installed(paths=[str(here)])

        listed = {plugin.state for plugin in catalog.plugins if plugin.name == numbered(case, n, case.plugin)}
        assert listed == {case.listed or "available"}
        assert not [name for name in sys.modules if name.startswith(("wild_", "healthy_"))]

        where = os.getcwd()
        catalog.load_all()

        if not case.note or "put back" not in case.note:  # in this process that is said in the log
            check(case, n, as_facts(catalog.plugins))
        assert os.getcwd() == where
        assert str(here) in sys.path
        assert answer_of(catalog) == "well"
        assert "healthy.section" in [offer.name for offer in catalog.offers("section")]


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One environment that holds all failures at once, and a healthy plugin between them."""
    place = tmp_path_factory.mktemp("wild") / "site"
    place.mkdir()
    with ExitStack() as stack:
        for n, case in enumerate(CASES):
            case.install(place, n, stack)
        install_healthy(place, stack)
        yield place


def wink(site: Path, *arguments: str, cwd: Path, allow: str | None = None) -> subprocess.CompletedProcess[str]:
    """`wink plugins …` in a fresh process that finds what is installed in `site`."""
    variables = {**os.environ, "PYTHONPATH": str(site), "PYTHONWARNINGS": "default"}
    return subprocess.run(
        [sys.executable, "-P", "-m", "wink", "plugins", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=cwd,
        env=variables if allow is None else {**variables, "WINK_PLUGINS": allow},
    )


def test_all_failures_at_once_leave_the_healthy_ones_alone(everything: Path, tmp_path: Path) -> None:
    """A fresh process tries a hundred plugins that hang, crash, exit and lie, and tells of each."""
    done = wink(everything, "--timeout", "8", "--json", "--load", cwd=tmp_path)
    plugins: list[dict[str, Any]] = json.loads(done.stdout)["plugins"]

    assert (done.returncode, done.stderr) == (0, "")
    for n, case in enumerate(CASES):
        check(case, n, plugins)
    states = {plugin["name"]: plugin["state"] for plugin in plugins}
    assert states["healthy"] == states["planning"] == "loaded"
    slow = next(n for n, case in enumerate(CASES) if case.name == "a slow import")
    assert {plugin["name"]: plugin["seconds"] for plugin in plugins}[f"wild-{slow}"] >= 1.1


def test_the_table_has_one_line_for_each(everything: Path, tmp_path: Path) -> None:
    """And imports none of them: the list of a broken environment is as quick as that of a sound one."""
    done = wink(everything, cwd=tmp_path)
    lines = [line.split() for line in done.stdout.splitlines()]
    named = {numbered(case, n, case.plugin) for n, case in enumerate(CASES)} | {"healthy", "planning"}

    assert (done.returncode, done.stderr) == (0, "")
    assert named <= {words[0] for words in lines if words}
    assert all(line.isprintable() for line in done.stdout.splitlines())


def test_check_fails_and_names_each(everything: Path, tmp_path: Path) -> None:
    """What CI runs; of other packages' plugins only those that are allowed are tried at all."""
    wanted = [numbered(case, n, case.plugin) for n, case in enumerate(CASES) if case.name in ("import error", "extras")]
    flags = [flag for name in ("healthy", *wanted) for flag in ("--plugin", name)]
    for cannot, status in ((False, 1), (True, 0)):
        off = ["--no-plugin", wanted[0]] if cannot else []
        done = wink(everything, *flags, *off, "check", "--json", cwd=tmp_path, allow="")
        states = {plugin["name"]: plugin["state"] for plugin in json.loads(done.stdout)["plugins"]}

        assert done.returncode == status, states
        assert states["planning"] == "loaded"  # wink's own stay
        assert states["healthy"] == states[wanted[1]] == "loaded"
        assert states[wanted[0]] == ("disabled" if cannot else "broken")


def facts(catalog: Catalog) -> list[Any]:
    return [
        [plugin.name, plugin.distribution, plugin.state, plugin.reason, plugin.offers] for plugin in catalog.plugins
    ]


@given(seed=st.integers(0, 2**32), order=st.randoms(use_true_random=False))
@settings(max_examples=15, deadline=None)
def test_the_order_never_depends_on_the_machine(everything: Path, seed: int, order: random.Random) -> None:
    """Directories are read in the order that the file system likes, and paths differ: what is said does not."""
    shuffled = random.Random(seed)

    def listdir(path: str) -> list[str]:
        names = os.listdir(path)
        shuffled.shuffle(names)
        return names

    extra = [str(everything.parent / name) for name in ("nowhere", "empty")]
    paths = [str(everything), *extra]
    order.shuffle(paths)
    with pytest.MonkeyPatch.context() as patch:
        before = facts(Catalog.installed(paths=[str(everything)]))
        patch.setattr("wink.plugins._metadata.os", _Os(listdir))
        after = facts(Catalog.installed(paths=paths))

    assert after == before


@given(order=st.permutations(["first", "second", "third"]))
@settings(max_examples=6, deadline=None)
def test_the_order_of_the_path_changes_no_more_than_what_hides_what(spread: Path, order: list[str]) -> None:
    """Where no distribution is there twice, it changes nothing: not the order, not who is in conflict, not a reason."""
    found = facts(Catalog.installed(paths=[str(spread / name) for name in order]))

    assert [plugin[:3] for plugin in found] == [
        ["alpha", "d0", "available"],
        ["alpha-hooks", "d2", "available"],
        ["beta", "d1", "conflict"],
        ["beta", "d3", "conflict"],
        ["gamma", "d4", "available"],
        ["zeta", "d5", "broken"],
    ]
    assert found == facts(Catalog.installed(paths=[str(spread / name) for name in ("first", "second", "third")]))


@pytest.fixture(scope="module")
def spread(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Distributions in three directories of the path."""
    place = tmp_path_factory.mktemp("spread")
    points = (
        "alpha.b = m:f\nalpha.a = m:f",
        "beta.a = m:f",
        "alpha-hooks.a = m:f",
        "beta.b = m:f",
        "gamma.a = m:f",
        "zeta.a",
    )
    for number, lines in enumerate(points):
        where = place / ("first", "second", "third")[number % 3]
        text = f"[wink.sections]\n{lines}\n"
        with fake_distribution(f"d{number}", entry_points=text, directory=where, on_path=False):
            pass
    return place


class _Os:
    """The `os` module with a `listdir` of another machine."""

    def __init__(self, listdir: Any) -> None:
        self.listdir = listdir

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)
