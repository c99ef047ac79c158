"""`--overrides TAG` asks whichever installed plugin keeps overrides, and only that one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Done

from wink.testing import fake_distribution

Cli = Callable[..., Done]

DONE = '[[turn]]\ntext = "Done."\n'
SOURCE = '''
import pathlib
from wink_overrides import PromptOverride, SectionOverride

pathlib.Path(__file__).with_suffix(".imported").touch()

class Store:
    """Says one thing, whatever the place."""
    def __init__(self, *, root_path):
        self.root_path = root_path
    def tags(self, *, ns, prompt_key):
        return ("loud",)
    def resolve(self, descriptor, tag="latest"):
        known = descriptor.section(("files",))
        text = f"LOUD WORDS for {self.root_path}"
        return PromptOverride(descriptor.ns, descriptor.key, tag, {known.path: SectionOverride(known.content_hash, text)})
    def upsert(self, descriptor, override): ...
    def delete(self, *, ns, prompt_key, tag): ...
    def store(self, prompt, override, *, tag="latest"): ...
    def seed(self, prompt, *, tag="latest"): ...

def seven(*, root_path):
    return 7
'''


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """Install a plugin that offers to keep overrides, in the place of wink's own; the directory of its module."""
    if find_spec("wink_overrides") is not None:  # it may have been taken out
        monkeypatch.setenv("WINK_DISABLE_PLUGINS", "overrides")
    with ExitStack() as stack:

        def add(plugin: str, name: str = "Store", source: str = SOURCE) -> Path:
            module = f"fake_{plugin}"
            points: Any = {"wink.overrides": {f"{plugin}.store": f"{module}:{name}"}}
            directory = tmp_path / "site"
            options: Any = {"entry_points": points, "modules": {module: source}, "directory": directory}
            stack.enter_context(fake_distribution(f"wink-{plugin}", "1.0", **options))
            return directory

        yield add


def run(cli: Cli, script: Callable[[str], str], *more: str) -> Done:
    """A run whose model is shown the prompt, and says nothing."""
    return cli("run", "Look.", "--model", f"scripted:{script(DONE)}", *more)


def test_a_stranger_s_store_is_asked(cli: Cli, place: Path, install: Callable[..., Path], script: Any) -> None:
    """By its entry point, with the workspace's directory; what it gives is what a model is told."""
    install("shouting")

    assert run(cli, script, "--overrides", "loud").status == 0

    from wink.workspace import Workspace

    with Workspace.open(place) as opened:
        (told,) = opened.record.runs.prompts(1)
    assert f"LOUD WORDS for {place}" in told.text


def test_it_is_not_imported_where_nobody_asks(cli: Cli, install: Callable[..., Path], script: Any) -> None:
    """Being installed changes nothing."""
    directory = install("shouting")

    assert run(cli, script).status == 0
    assert not (directory / "fake_shouting.imported").exists()


def test_a_tag_that_it_does_not_have_is_refused(cli: Cli, install: Callable[..., Path], script: Any) -> None:
    """With those that it has."""
    install("shouting")

    done = run(cli, script, "--overrides", "quiet")

    assert (done.status, done.out) == (2, "")
    assert done.err == ("wink: no overrides of wink:workspace are stored under 'quiet'; the tags are: loud\n")


@pytest.mark.parametrize(
    ("name", "source", "reason"),
    [
        ("Store", "import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("seven", SOURCE, "fake_broken:seven returned int, not a store of overrides"),
    ],
)
def test_a_broken_one_costs_one_line(
    cli: Cli, install: Callable[..., Path], script: Any, name: str, source: str, reason: str
) -> None:
    """And no run begins without the words that were asked for."""
    install("broken", name, source)

    done = run(cli, script, "--overrides", "loud")

    assert (done.status, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert reason in done.err


def test_of_two_none_is_taken_for_the_other(cli: Cli, install: Callable[..., Path], script: Any) -> None:
    """Nor imported."""
    directory = install("shouting")
    install("whispering")

    done = run(cli, script, "--overrides", "loud")

    assert done == Done(
        2,
        "",
        "wink: overrides are kept by shouting.store and by whispering.store, and none of them is taken for the other; "
        "disable one of them\n",
    )
    assert list(directory.glob("*.imported")) == []


def test_without_any_it_is_said(cli: Cli, install: Callable[..., Path], script: Any) -> None:
    """A model that is told other words than the user asked for is worse than none."""
    done = run(cli, script, "--overrides", "loud")

    assert done == Done(
        2,
        "",
        "wink: --overrides needs a plugin that keeps overrides, and none is in use; `wink plugins` lists all\n",
    )
