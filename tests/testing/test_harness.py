"""The harness and its fixtures: what a test of a plugin can say and ask."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, cast

import pytest

from wink.adapters import ScriptedAdapter
from wink.errors import OfferNotFound, PromptEvaluationError
from wink.filesystem import InMemoryFilesystem
from wink.limits import Budget, BudgetTracker, TokenUsage
from wink.plugins import Settings, hookimpl
from wink.policies import PolicyDecision
from wink.prompt import MarkdownSection, Section
from wink.resources import Binding
from wink.runtime import ToolInvoked
from wink.testing import FrozenDeadline, Harness, PluginCatalog, ToolCall, UndeclaredEffects, fake_distribution
from wink.tools import Tool, ToolContext, ToolResult

pytest_plugins = ["pytester"]


@dataclass(frozen=True)
class Add:
    """A note."""

    text: str


@dataclass(frozen=True)
class NotesSettings:
    """What a user may set."""

    file: str = "notes.md"


@dataclass(frozen=True)
class Topic:
    """What the notes are about."""

    name: str


class Diary:
    """A resource of the plugin."""


def add(params: Add, *, context: ToolContext) -> ToolResult[Add]:
    """Add a note."""
    context.filesystem.append("notes.md", params.text)
    return ToolResult("added", params, exclude_value_from_context=True)


async def aadd(params: Add, *, context: ToolContext) -> ToolResult[Add]:
    """Add a note."""
    await asyncio.sleep(0)
    return add(params, context=context)


def peek(params: None, *, context: ToolContext) -> ToolResult[None]:
    """Look around the handle."""
    open("/etc/passwd").close()
    return ToolResult("looked", None)


def diary(params: None, *, context: ToolContext) -> ToolResult[None]:
    """Look into the diary."""
    return ToolResult(type(context.resources.get(Diary)).__name__, None)


ADD = Tool[Add, Add]("notes_add", "Add a note.", add)


def notebook(*, settings: Any = None, title: str = "Notebook") -> Section[Any]:
    """Let the agent keep notes."""
    file = "notes.md" if settings is None else settings.file
    return MarkdownSection(title=title, key="notebook", template=f"Notes are in {file}.", tools=[ADD])


class NoNotes:
    """Denies all."""

    name = "no-notes"

    def check(self, tool: Any, params: Any, *, context: Any) -> PolicyDecision:
        return PolicyDecision.deny("no notes today")

    def on_result(self, tool: Any, params: Any, result: Any, *, context: Any) -> None:
        """Nothing."""


# -- calls


def test_a_call_goes_through_json_and_leaves_everything_to_be_asked_about(harness: Harness) -> None:
    """The very path that a model's call takes."""
    harness.use(ADD)
    reply = harness.call("notes_add", text="hi")
    assert (reply.text, reply.success, harness.reply) == ("added", True, reply)
    assert harness.events.names() == ["ToolInvoked"]
    assert harness.events.latest(ToolInvoked).params == Add("hi")
    assert harness.tree() == {"notes.md": "hi"}
    assert harness.read("notes.md") == "hi"
    assert harness.session[Add].latest() == Add("hi")
    assert harness.state() == {Add: (Add("hi"),)}
    assert harness.tools == ("notes_add",)


def test_asynchronous_handlers_are_called_alike(harness: Harness) -> None:
    """With a loop of the test's own or without one."""
    harness.use(Tool[Add, Add]("notes_add", "Add a note.", aadd))
    assert harness.call("notes_add", text="a").success
    assert asyncio.run(harness.acall("notes_add", text="b")).success
    assert harness.read("notes.md") == "ab"


def test_what_a_model_may_send_can_be_sent(harness: Harness) -> None:
    """Text that is no JSON, several calls of one turn, and whole runs."""
    harness.use(ADD)
    assert not harness.send(ToolCall("notes_add", '{"text": 1')).success
    assert not harness.call("notes_add", words="hi").success
    assert not harness.call("no_such_tool").success
    assert [reply.success for reply in harness.batch(*[ToolCall("notes_add", {"text": "x"})] * 2)] == [True, True]
    response = harness.run([ToolCall("notes_add", '{"text": "y"}')], "Done.")
    assert response.text == "Done."
    assert harness.read("notes.md") == "xxy"
    assert len(harness.replies) == 5


@pytest.mark.wink(fs="disk")
def test_files_can_be_real(harness: Harness) -> None:
    """In a workspace, which keeps a record, and which a person writes to as well."""
    harness.use(ADD)
    harness.write("docs/a.txt", "by hand")
    harness.write("b.bin", b"\xff")
    assert harness.call("notes_add", text="hi").success
    assert harness.workspace is not None
    assert [call.tool for call in harness.workspace.calls()] == ["notes_add"]
    assert harness.tree() == {"b.bin": b"\xff", "docs/a.txt": "by hand", "notes.md": "hi"}
    harness.workspace.undo()
    assert "notes.md" not in harness.tree()


def test_what_the_prompt_needs_can_be_bound(harness: Harness) -> None:
    """Parameters and resources; later ones win."""
    harness.use(MarkdownSection[Topic](title="Notes", template="About ${name}."))
    harness.use(Tool[None, None]("diary", "Look.", diary))
    harness.bind(Topic("birds"), resources={Diary: Diary()})
    harness.bind(Topic("fish"))
    assert "About fish." in harness.text
    assert harness.call("diary").text == "Diary"


def test_a_policy_of_the_test_governs_every_tool(harness: Harness) -> None:
    """As one of a template would."""
    harness.use(notebook())
    harness.use(NoNotes())
    assert "no notes today" in harness.call("notes_add", text="x").text
    assert harness.events.latest(ToolInvoked).outcome == "denied"


def test_limits_are_the_tests(harness: Harness) -> None:
    """The time passes when the test says so."""
    harness.use(ADD)
    harness.deadline = FrozenDeadline(30)
    assert harness.call("notes_add", text="x").success
    harness.deadline.advance(31)
    with pytest.raises(PromptEvaluationError):
        harness.call("notes_add", text="x")
    harness.deadline, harness.budget = None, BudgetTracker(Budget(max_total_tokens=1))
    harness.budget.record(TokenUsage(input_tokens=2))
    with pytest.raises(PromptEvaluationError):
        harness.call("notes_add", text="x")
    assert harness.events.names() == ["ToolInvoked"] * 3


def test_a_handler_that_goes_around_its_handle_fails_the_test(harness: Harness) -> None:
    """Whatever it replies."""
    harness.use(Tool[None, None]("peek", "Look.", peek))
    with pytest.raises(UndeclaredEffects, match=r"opens '/etc/passwd' to read it, at testing/test_harness\.py:"):
        harness.call("peek")


@pytest.mark.wink(audit=False)
def test_the_audit_can_be_switched_off(harness: Harness) -> None:
    """For a test that is about something else."""
    harness.use(Tool[None, None]("peek", "Look.", peek))
    assert harness.call("peek").text == "looked"


def test_misuse_is_told(harness: Harness) -> None:
    """With what to do instead."""
    with pytest.raises(LookupError, match=r"harness\.call"):
        _ = harness.reply
    with pytest.raises(TypeError, match="no section, tool, policy"):
        harness.use(7)
    with pytest.raises(TypeError, match="has a name"):
        cast("Any", harness).use("section")
    with pytest.raises(TypeError, match="options are for offers"):
        cast("Any", harness).use(ADD, title="x")
    with pytest.raises(LookupError, match="there was no ToolInvoked"):
        harness.events.latest(ToolInvoked)
    with pytest.raises(TypeError, match="not both"):
        Harness(root="/tmp", filesystem=InMemoryFilesystem())


def test_other_files_and_adapters_can_be_used(harness: Harness) -> None:
    """What a tool gets is what the test has put there."""
    files = InMemoryFilesystem()
    files.write("notes.md", "old")
    harness.use(files)
    harness.use(ADD)
    adapter = ScriptedAdapter([])
    harness.use(adapter)
    assert harness.adapter is adapter
    assert harness.call("notes_add", text="!").success
    assert files.read("notes.md").content == "old!"


# -- plugins


class Hooks:
    """What a plugin has to say."""

    heard: list[object]

    @hookimpl
    def wink_settings(self) -> type[Any]:
        return NotesSettings

    @hookimpl
    def wink_resources(self) -> list[Any]:
        return [Binding(Diary, lambda _: Diary())]

    @hookimpl
    def wink_subscribe(self, session: Any) -> None:
        session.dispatcher.subscribe(ToolInvoked, self.heard.append)


def test_a_plugin_of_the_test_comes_with_settings_resources_and_subscribers(
    harness: Harness, plugin_catalog: PluginCatalog
) -> None:
    """Though nothing of it was installed, and nothing else is there."""
    hooks = Hooks()
    hooks.heard = []
    plugin_catalog.add("section", "notes.notebook", notebook)
    plugin_catalog.add("policy", "notes.none", NoNotes)
    plugin_catalog.add_hooks("notes", hooks)
    plugin_catalog.settings = Settings(plugins={"notes": {"file": "diary.md"}})
    assert [plugin.name for plugin in plugin_catalog.catalog.plugins] == ["notes"]
    made = harness.use("section", "notes.notebook", title="My notes")
    harness.use(Tool[None, None]("diary", "Look.", diary))
    assert made.title == "My notes"
    assert "diary.md" in harness.text
    assert harness.call("diary").text == "Diary"
    assert len(hooks.heard) == 1
    harness.use("policy", "notes.none")
    assert not harness.call("notes_add", text="x").success
    with pytest.raises(OfferNotFound):
        harness.use("section", "files.files")


def test_installed_plugins_are_used_by_name(harness: Harness) -> None:
    """As a template would."""
    harness.use("section", "files.files", rename={"write_file": "put"})
    assert harness.call("put", file_path="a.txt", content="x").success
    assert harness.tree() == {"a.txt": "x"}


def test_a_distribution_can_be_written_for_a_test(plugin_catalog: PluginCatalog) -> None:
    """With modules that are gone afterwards."""
    plugin_catalog.install(
        "wink-birds",
        "2.0",
        entry_points={"wink.sections": {"birds.list": "wink_birds_of_a_test:birds"}},
        modules={"wink_birds_of_a_test": "from wink.prompt import Section\ndef birds(): return Section('Birds')"},
    )
    (plugin,) = plugin_catalog.catalog.plugins
    assert (plugin.name, plugin.version, plugin.state) == ("birds", "2.0", "available")
    assert plugin_catalog.use("section", "birds.list").title == "Birds"
    plugin_catalog.close()
    assert "wink_birds_of_a_test" not in sys.modules


def test_nothing_of_a_plugin_of_a_test_is_left() -> None:
    """Neither in the modules nor on the path."""
    before = set(sys.modules), list(sys.path)
    with fake_distribution("wink-birds", modules={"wink_birds_of_a_test": "x = 1"}):
        __import__("wink_birds_of_a_test")
    assert (set(sys.modules), list(sys.path)) == before


# -- pytest


@pytest.mark.timeout(600)
def test_a_plugins_tests_ask_for_the_fixtures(pytester: pytest.Pytester) -> None:
    """With a line in `conftest.py`, strict markers and warnings as errors; also beside other imports of the kit."""
    pytester.makeini("[pytest]\naddopts = --strict-markers\nfilterwarnings = error\n")
    pytester.makeconftest(
        'pytest_plugins = ["wink.testing"]\nfrom wink.testing import fake_distribution, ToolContract\n'
    )
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.wink(fs="disk")
        class TestDisk:
            def test_disk(self, harness):
                assert harness.workspace is not None

            @pytest.mark.wink(fs="memory")
            def test_the_nearest_marker_counts(self, harness):
                assert harness.workspace is None

        @pytest.mark.wink(fs="tape")
        def test_misspelt(harness):
            pass

        @pytest.mark.wink(disk=True)
        def test_unknown(harness):
            pass

        def test_catalog(plugin_catalog, harness):
            assert plugin_catalog.catalog.plugins == ()
        """
    )
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    done.assert_outcomes(passed=3, errors=2)
    done.stdout.fnmatch_lines(["*fs is 'memory' or 'disk'*", "*takes fs=, audit= and allow=, not*disk*"])
    help_text = pytester.runpytest_subprocess("--markers").stdout.str()
    assert "@pytest.mark.wink(fs='memory', audit=True, allow=())" in help_text


def test_nothing_of_it_is_there_unless_it_is_asked_for(pytester: pytest.Pytester) -> None:
    """An installed wink costs a test run nothing: it has no `pytest11` entry point."""
    pytester.makepyfile(
        """
        import sys, pytest

        def test_nothing(request):
            assert "wink.testing" not in sys.modules
            with pytest.raises(pytest.FixtureLookupError):
                request.getfixturevalue("harness")
        """
    )
    pytester.runpytest_subprocess("-p", "no:cacheprovider", "-W", "default").assert_outcomes(passed=1)


def test_importing_the_kit_is_cheap() -> None:
    """Neither pytest nor hypothesis, nor anything that wink puts off, is loaded before it is used."""
    program = "import sys, json, wink.testing; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    heavy = {"pytest", "hypothesis", "pydantic", "asyncio", "fsspec", "git", "sqlite3", "wink.adapters", "wink.plugins"}
    assert not heavy & set(json.loads(done.stdout))


def test_every_name_can_be_imported() -> None:
    """Those that come later, too."""
    import wink.testing as kit

    for name in kit.__all__:
        assert getattr(kit, name) is not None
    with pytest.raises(AttributeError):
        kit.no_such_name
