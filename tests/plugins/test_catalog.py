"""Using what plugins offer, and what happens when that is not possible."""

import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

from wink import errors
from wink.errors import (
    AmbiguousOffer,
    BindingConflict,
    InvalidOption,
    OfferBroken,
    OfferNotFound,
    OfferUnavailable,
    PromptValidationError,
)
from wink.plugins import Catalog, PluginWarning, Settings
from wink.prompt import Prompt, PromptTemplate, SectionVisibility
from wink.session import Session

NOTES = {"wink.sections": {"notes.notebook": "fake_notes:notebook"}}
POLICY = """
from wink.policies import SequentialDependencyPolicy

def order(*, first="lint"):
    return SequentialDependencyPolicy({"deploy": [first]})
"""


def test_a_full_name_is_used_with_options(site: Any) -> None:
    """A template configures what it uses."""
    site.add(entry_points=NOTES)

    section = site.catalog().use("section", "notes.notebook", title="Diary")

    assert section.title == "Diary"


def test_a_short_name_is_enough_where_it_is_the_only_one(site: Any) -> None:
    """Most people have one plan."""
    site.add(entry_points=NOTES)

    assert site.catalog().use("section", "notebook").key == "notebook"


def test_a_short_name_that_fits_two_offers_is_not_guessed(site: Any) -> None:
    """Which of two sections a model sees must not depend on what else is installed."""
    site.add(entry_points=NOTES)
    site.add("other", entry_points={"wink.sections": {"diary.notebook": "fake_notes:notebook"}})

    with pytest.raises(AmbiguousOffer, match=r"'diary\.notebook' or 'notes\.notebook'; give the full name"):
        site.catalog().use("section", "notebook")


def test_a_disabled_plugin_does_not_make_a_short_name_ambiguous(site: Any) -> None:
    """Only enabled offers count."""
    site.add(entry_points=NOTES)
    site.add("other", entry_points={"wink.sections": {"diary.notebook": "fake_notes:notebook"}})

    assert site.catalog(Settings(disable=["diary"])).use("section", "notebook").key == "notebook"


def test_an_unknown_offer_lists_what_looks_like_it(site: Any) -> None:
    """The remedy for a typing error is the right name."""
    site.add(entry_points=NOTES)

    with pytest.raises(OfferNotFound) as raised:
        site.catalog().use("section", "notes.notebok")

    assert raised.value.close == ("notes.notebook",)
    assert str(raised.value).endswith("did you mean 'notes.notebook'?")


def test_an_offer_of_another_kind_is_pointed_out(site: Any) -> None:
    """Asking for a policy where there is a section of that name is the likeliest mistake."""
    site.add(entry_points=NOTES)

    with pytest.raises(OfferNotFound, match=r"there is a section 'notes\.notebook'"):
        site.catalog().use("policy", "notes.notebook")


@pytest.mark.parametrize("name", ["notes.notebook", "notebook"])
def test_a_disabled_offer_says_where_it_was_switched_off(site: Any, name: str) -> None:
    """Whoever disabled it may have been somebody else."""
    site.add(entry_points=NOTES)

    with pytest.raises(OfferUnavailable, match=r"is disabled: Settings disable = \[\"notes\"\]") as raised:
        site.catalog(Settings(disable={"notes"})).use("section", name)

    assert raised.value.state == "disabled"
    assert "fake_notes" not in sys.modules


@pytest.mark.parametrize(
    "source",
    [
        "import nowhere_to_be_found",
        "raise SystemExit(2)",
        "raise BaseException('odd')",
        "class E(Exception):\n    def __str__(self): raise RuntimeError\nraise E",
        "def notebook(:",
        "import fake_notes; fake_notes.notebook",
        "from fake_notes import notebook",
        "notebook = 3",
        "other = 3",
        "def notebook(): return 3",
        "def notebook(): raise SystemExit",
        "async def notebook(): return 3",
        "from wink.prompt import Section\ndef notebook(): return Section",
        "def notebook(*, settings): return settings",
    ],
)
def test_whatever_a_plugin_does_wrong_is_one_error(site: Any, source: str) -> None:
    """Nothing that a stranger's package raises may end a run, or look like wink's own failure."""
    site.add(entry_points=NOTES, modules={"fake_notes": source})

    with pytest.raises(OfferBroken, match=r"section 'notes\.notebook' of wink-notes is broken: ."):
        site.catalog().use("section", "notes.notebook")


def test_ctrl_c_during_an_import_is_the_users(site: Any) -> None:
    """A slow import must be possible to interrupt."""
    site.add(entry_points=NOTES, modules={"fake_notes": "import signal\nsignal.raise_signal(signal.SIGINT)"})

    with pytest.raises(KeyboardInterrupt):
        site.catalog().use("section", "notes.notebook")


def test_a_broken_offer_keeps_the_original_error(site: Any) -> None:
    """The author needs the traceback."""
    site.add(entry_points=NOTES, modules={"fake_notes": "1 / 0"})
    catalog = site.catalog()

    with pytest.raises(OfferBroken) as raised:
        catalog.use("section", "notes.notebook")

    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    assert catalog.plugins[0].error is raised.value.__cause__


def test_one_broken_offer_leaves_its_siblings_usable(site: Any) -> None:
    """Half a plugin is better than none, when it is only sections."""
    site.add(entry_points={"wink.sections": {"notes.notebook": "fake_notes:notebook", "notes.bad": "fake_notes:gone"}})
    catalog = site.catalog()

    with pytest.warns(PluginWarning, match="gone"):
        sections = catalog.sections()

    assert [section.key for section in sections] == ["notebook"]
    assert catalog.plugins[0].state == "broken"


@pytest.mark.parametrize(
    ("options", "problem"),
    [({"titel": "x"}, "no option 'titel'; it takes title"), ({"rename": {"ls": "dir"}}, "no tool 'ls'; it takes none")],
)
def test_wrong_options_are_the_callers_mistake(site: Any, options: dict[str, Any], problem: str) -> None:
    """A misspelt option must not look like a broken plugin."""
    site.add(entry_points=NOTES)

    with pytest.raises(InvalidOption) as raised:
        site.catalog().use("section", "notes.notebook", **options)

    assert problem in str(raised.value)


def test_an_option_that_is_needed_is_named(site: Any) -> None:
    """The factory's signature is known, so the error can say what to pass."""
    site.add(entry_points=NOTES, modules={"fake_notes": "def notebook(*, path): ..."})

    with pytest.raises(InvalidOption, match="option 'path' is needed; it takes path"):
        site.catalog().use("section", "notes.notebook")


def test_a_factory_may_use_offers_of_other_plugins(site: Any) -> None:
    """A section that wants another plugin's policy gets it as the user's settings have it."""
    site.add(
        entry_points={"wink.sections": {"notes.notebook": "fake_notes:notebook"}},
        modules={
            "fake_notes": """
            from wink.prompt import Section
            def notebook(*, catalog):
                return Section("Notebook", policies=[catalog.use("policy", "rules.order")])
            """
        },
    )
    site.add(
        "rules", entry_points={"wink.policies": {"rules.order": "fake_rules:order"}}, modules={"fake_rules": POLICY}
    )

    (policy,) = site.catalog().use("section", "notebook").policies()

    assert policy.name == "sequential_dependency"
    with pytest.raises(OfferBroken, match=r"policy 'rules\.order' is disabled"):
        site.catalog(Settings(disable={"rules"})).use("section", "notebook")


def test_a_policy_is_never_left_out(site: Any) -> None:
    """A rule that is silently missing is worse than no agent."""
    site.add(
        "rules", entry_points={"wink.policies": {"rules.order": "fake_rules:order"}}, modules={"fake_rules": "1 / 0"}
    )

    with pytest.raises(OfferBroken):
        site.catalog().policies()
    with pytest.raises(OfferBroken):
        site.catalog().use("policy", "order")


def test_a_policy_in_conflict_is_never_left_out(site: Any) -> None:
    """Not even when another distribution could stand in for it."""
    points = {"wink.policies": {"rules.order": "fake_rules:order"}}
    site.add("rules", entry_points=points, modules={"fake_rules": POLICY})
    site.add("rules-too", entry_points=points, modules={"fake_rules": POLICY})

    with pytest.raises(OfferUnavailable, match="rules-too"):
        site.catalog().policies()


def test_policies_that_were_switched_off_are_left_out(site: Any) -> None:
    """That is what switching off means, and it is the user's word."""
    site.add(
        "rules", entry_points={"wink.policies": {"rules.order": "fake_rules:order"}}, modules={"fake_rules": POLICY}
    )

    assert [policy.name for policy in site.catalog().policies()] == ["sequential_dependency"]
    assert site.catalog(Settings(disable={"rules"})).policies() == ()


def test_filesystems_and_adapters_are_checked_too(site: Any) -> None:
    """Each kind has a shape that everything downstream relies on."""
    site.add(
        entry_points={
            "wink.filesystems": {"notes.memory": "fake_notes:memory", "notes.odd": "fake_notes:odd"},
            "wink.adapters": {"notes.chat": "fake_notes:chat", "notes.mute": "fake_notes:odd"},
        },
        modules={
            "fake_notes": """
            from wink.filesystem import InMemoryFilesystem as memory
            class chat:
                def evaluate(self, prompt, *, session): ...
            def odd(): return "odd"
            """
        },
    )
    catalog = site.catalog()

    assert catalog.use("filesystem", "memory").root is not None
    assert callable(catalog.use("adapter", "chat").evaluate)
    for kind, name in (("filesystem", "odd"), ("adapter", "mute")):
        with pytest.raises(OfferBroken, match="returned str, not a"):
            catalog.use(kind, name)


def test_a_distribution_inside_the_workspace_is_ignored(site: Any) -> None:
    """An agent that can write files can write a `.dist-info` directory too."""
    site.add(entry_points=NOTES)

    catalog = site.catalog(workspace=site.path.parent)

    assert catalog.plugins == ()
    assert [one.distribution for one in catalog.ignored] == ["wink-notes"]
    with pytest.raises(OfferNotFound, match="an agent could have written it"):
        catalog.use("section", "notes.notebook")


def test_a_distribution_inside_the_current_directory_is_ignored(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """`python -m` puts the current directory on the path."""
    site.add(entry_points=NOTES)
    monkeypatch.chdir(site.path)

    assert site.catalog(paths=["", str(site.path)]).plugins == ()


def test_a_planted_distribution_hides_no_installed_one(site: Any, tmp_path: Path) -> None:
    """Otherwise an agent could make a policy disappear by writing a package of that name."""
    site.add(entry_points=NOTES, directory=tmp_path / "workspace", version="9")
    site.add(entry_points=NOTES)

    catalog = site.catalog(paths=[str(tmp_path / "workspace"), str(site.path)], workspace=tmp_path / "workspace")

    assert [plugin.version for plugin in catalog.plugins] == ["1.0"]


def test_the_interpreters_own_packages_count_wherever_they_are(
    site: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A virtual environment inside the project is where a person installs to."""
    site.add(entry_points=NOTES)
    monkeypatch.setattr("site.getsitepackages", lambda: [str(site.path)])

    assert [plugin.name for plugin in site.catalog(workspace=tmp_path).plugins] == ["notes"]


def test_a_package_planted_in_front_of_the_installed_one_is_refused(
    site: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The metadata may be the installed ones, and the code the agent's."""
    site.add(entry_points=NOTES)
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "fake_notes.py").write_text("raise SystemExit")
    monkeypatch.syspath_prepend(str(workspace))

    with pytest.raises(OfferBroken, match="would be imported from"):
        site.catalog(workspace=workspace).use("section", "notes.notebook")


TOOLS = """
from wink.policies import SequentialDependencyPolicy
from wink.prompt import ToolsSection
from wink.tools import Tool, ToolResult

def answer(params: None, *, context) -> ToolResult[None]:
    return ToolResult.ok(None)

def section():
    tools = [Tool[None, None](name, "Do it.", answer) for name in ("status", "commit")]
    return ToolsSection("Repo", tools, policies=[SequentialDependencyPolicy({"commit": ["status"]})])
"""


def test_renamed_tools_keep_their_policies(site: Any) -> None:
    """A rule of `{"commit": {"status"}}` means this section's tools, whatever they are called."""
    site.add(entry_points={"wink.sections": {"repo.repo": "fake_repo:section"}}, modules={"fake_repo": TOOLS})
    section = site.catalog().use("section", "repo", rename={"status": "git_status"})
    status, commit = section.tools()
    (policy,) = section.policies()
    session = Session()
    context: Any = type("Context", (), {"session": session})()
    theirs = status.replace(name="status")

    assert [tool.name for tool in section.tools()] == ["git_status", "commit"]
    denied = policy.check(commit, None, context=context)
    assert not denied.allowed
    assert denied.reason.endswith("(status is called git_status here)")

    # A tool of another section that is called `status` is why the renaming was wanted.
    policy.on_result(theirs, None, status.handler(None, context=context), context=context)
    assert not policy.check(commit, None, context=context).allowed

    policy.on_result(status, None, status.handler(None, context=context), context=context)
    assert policy.check(commit, None, context=context).allowed


def test_a_renamed_section_is_still_of_its_type(site: Any) -> None:
    """Prompts find sections by type, and clones of it must keep the names."""
    from wink.prompt import ToolsSection

    site.add(entry_points={"wink.sections": {"repo.repo": "fake_repo:section"}}, modules={"fake_repo": TOOLS})
    catalog = site.catalog()

    renamed = catalog.use("section", "repo", rename={"status": "git_status"})

    assert isinstance(renamed, ToolsSection)
    assert [tool.name for tool in renamed.clone().tools()] == ["git_status", "commit"]
    assert [tool.name for tool in catalog.use("section", "repo").tools()] == ["status", "commit"]


def test_catalogs_share_nothing() -> None:
    """There is no global registry that one test, or one agent, could spoil for another."""
    assert Catalog().plugins == ()
    assert Catalog().sections() == ()
    assert Catalog().policies() == ()


@pytest.mark.parametrize(
    "error",
    [
        errors.AmbiguousOffer("section", "plan", ["a.plan", "b.plan"]),
        BindingConflict("Clock", "a", "b"),
        InvalidOption("section", "a.b", "no option 'x'", ["y"]),
        OfferBroken("section", "a.b", "dist", "why"),
        OfferNotFound("section", "a.b", ["a.c"], "hint"),
        OfferUnavailable("section", "a.b", "conflict", "why"),
        errors.PluginLoadError("a", "dist", "why"),
        errors.SettingsError("wink.toml", ["$.plugins: must be a table"]),
        errors.UnknownPlugin("a", ["b"]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_survive_pickling(error: errors.WinkError) -> None:
    """They cross process boundaries when prompts are evaluated elsewhere."""
    copy = pickle.loads(pickle.dumps(error))

    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


def test_every_section_can_be_summarised_where_it_is_used(site: Any) -> None:
    """How much of it a model is shown at first is a matter of the template, not of the plugin."""
    site.add(entry_points=NOTES)
    catalog = site.catalog()

    section = catalog.use("section", "notes.notebook", summary="Notes.", visibility=SectionVisibility.SUMMARY)

    prompt = Prompt(PromptTemplate(ns="t", key="t", sections=[section]))
    assert prompt.render().summarised == ("notebook",)
    assert "Notes." in prompt.render().text
    assert catalog.use("section", "notes.notebook").summary is None
    with pytest.raises(PromptValidationError, match="has no summary"):
        catalog.use("section", "notes.notebook", visibility=SectionVisibility.SUMMARY)


def test_a_factory_that_has_such_an_option_keeps_it(site: Any) -> None:
    """What `summary` means there is its own affair."""
    source = "from wink.prompt import MarkdownSection\n"
    source += "def notebook(*, summary): return MarkdownSection(title='N', template=f'with {summary}', key='n')"
    site.add(entry_points=NOTES, modules={"fake_notes": source})

    section = site.catalog().use("section", "notes.notebook", summary="words")

    assert (section.summary, section.render_body(None)) == (None, "with words")


def test_a_policy_has_no_summary(site: Any) -> None:
    """Only sections are shown."""
    site.add(
        entry_points={"wink.policies": {"notes.order": "fake_notes:order"}}, modules={"fake_notes": "def order(): ..."}
    )

    with pytest.raises(InvalidOption, match="no option 'summary'"):
        site.catalog().use("policy", "notes.order", summary="x")
