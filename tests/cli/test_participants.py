"""Hooks of the plugins that a command uses: resources for their tools, and subscribers for its session."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from wink.testing import fake_distribution

MODULES = {
    "wink_counting": """
        from dataclasses import dataclass
        from wink import MarkdownSection, Tool, ToolContext, ToolResult
        from wink.policies import SequentialDependencyPolicy

        class Counter:
            def __init__(self, step):
                self.step = step

        @dataclass(frozen=True)
        class Count:
            start: int

        @Tool.wrap
        def count(params: Count, *, context: ToolContext) -> ToolResult[None]:
            "Count on."
            return ToolResult.ok(None, str(params.start + context.resources.get(Counter).step))

        def section():
            "Count."
            return MarkdownSection(title="Counting", key="counting", template="Count.", tools=[count])
        """,
    "wink_counting.hooks": """
        from dataclasses import dataclass
        from wink import Binding, ToolInvoked
        from wink.plugins import hookimpl
        from wink_counting import Counter

        @dataclass(frozen=True)
        class CountingSettings:
            step: int = 1

        @hookimpl
        def wink_settings():
            return CountingSettings

        @hookimpl
        def wink_resources(settings):
            return [Binding(Counter, lambda resources: Counter(settings.step))]

        @hookimpl
        def wink_subscribe(session):
            session.dispatcher.subscribe(ToolInvoked, lambda event: print("heard", event.name))
        """,
}


@pytest.fixture(autouse=True)
def counting() -> Iterator[None]:
    """A plugin with all kinds of hooks, installed."""
    points = {
        "wink.sections": {"counting.counter": "wink_counting:section"},
        "wink.hooks": {"counting": "wink_counting.hooks"},
    }
    with fake_distribution("wink-counting", entry_points=points, modules=MODULES):
        yield


@pytest.mark.parametrize("name", ["counting.counter", "counter"])
def test_the_plugin_of_a_section_brings_its_resources_and_hears_of_calls(name: str, cli: Callable[..., Any]) -> None:
    """As in a program that asks the catalog for both."""
    done = cli("call", "count", "start=1", "--section", name)

    assert (done.status, done.out) == (0, "heard count\n2\n")


def test_its_settings_come_with_it(cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """The user's own file says what a step is."""
    (tmp_path / "config" / "wink").mkdir(parents=True)
    (tmp_path / "config" / "wink" / "wink.toml").write_text("[plugins.counting]\nstep = 5\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    assert cli("call", "count", "start=1", "--section", "counting.counter").out == "heard count\n6\n"


def test_a_plugin_that_is_not_used_hears_nothing(cli: Callable[..., Any]) -> None:
    """Installing a package changes nothing."""
    assert "heard" not in cli("call", "ls").out


def test_a_run_is_heard_of_too(cli: Callable[..., Any], script: Callable[[str], str]) -> None:
    """Each call once, whatever starts it."""
    path = script('[[turn]]\ntext = "I count."\n\n[[turn.call]]\ntool = "count"\narguments = {start = 1}\n')
    done = cli("run", "Count", "--model", f"scripted:{path}", "--section", "counting.counter")

    assert done.status == 0, done.err
    assert done.out.count("heard count") == 1
