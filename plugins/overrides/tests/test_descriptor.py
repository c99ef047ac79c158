"""What of a prompt can be overridden, and the hashes that tell whether it has changed."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugins.overrides.tests.demo import FIRST, SECOND, search, template

from wink.errors import PromptOverrideError
from wink.prompt import MarkdownSection, Prompt, PromptTemplate, Section
from wink.prompt.overrides import PromptDescriptor, SectionDescriptor, value_hash
from wink.tools import Tool
from wink_overrides import LocalPromptOverridesStore


def described(**changes: Any) -> PromptDescriptor:
    return PromptDescriptor.from_prompt(template(**changes))


def hash_of(path: str, descriptor: PromptDescriptor) -> str:
    section = descriptor.section(tuple(path.split("/")))
    assert section is not None
    return section.content_hash


def contract(descriptor: PromptDescriptor) -> str:
    (tool,) = descriptor.tools_named("search")
    return tool.contract_hash


def test_it_lists_what_accepts_overrides() -> None:
    """Sections with a text of their own, by path and number; neither closed ones nor those that only group."""
    descriptor = described()

    assert (descriptor.ns, descriptor.key) == ("demo/notes", "fix")
    assert [("/".join(one.path), one.number) for one in descriptor.sections] == [
        ("task", "1"),
        ("task/rules", "1.1"),
        ("tools", "2"),
        ("closed/open", "3.1"),
        ("group/leaf", "4.1"),
    ]
    assert [(one.path, one.name, one.params) for one in descriptor.tools] == [(("tools",), "search", ("text", "limit"))]


def test_a_text_is_hashed_as_its_author_wrote_it() -> None:
    """SHA-256 of the UTF-8 of the template, without indentation: anybody can work it out."""
    descriptor = described(task="\n    Fix $issue.\n      Now.\n")

    assert hash_of("task", descriptor) == hashlib.sha256(b"Fix $issue.\n  Now.").hexdigest()


def test_the_placeholders_that_a_text_may_use_are_told() -> None:
    """Fields and properties of the parameters, also those of the section around."""
    descriptor = described()

    assert descriptor.section(("task", "rules")) == SectionDescriptor(
        ("task", "rules"), hashlib.sha256(b"Be careful.").hexdigest(), "1.1", ("issue", "loud")
    )
    leaf = descriptor.section(("group", "leaf"))
    assert leaf is not None
    assert leaf.params == ()


def test_a_summary_counts_with_its_text() -> None:
    """An override may replace both, so either one's change makes it stale."""
    plain, summed, other = (hash_of("task", described(summary=summary)) for summary in (None, "Fix it.", "Fix."))

    assert len({plain, summed, other}) == 3


def test_a_tool_is_hashed_over_what_a_model_is_told() -> None:
    """Description and schema, and nothing of the handler, the effects or the examples."""
    same = contract(described(tool=search()))

    assert contract(described(tool=search(examples=[FIRST]))) == same
    assert contract(described(tool=search(effects="read", timeout=3.0))) == same
    assert contract(described(tool=search("Search."))) != same
    assert contract(described(tool=search(param_descriptions={"limit": "How many."}))) != same
    assert contract(described(tool=search(extra="ignore"))) != same


def test_each_example_of_a_tool_has_its_hash() -> None:
    """So that a change of one leaves the overrides of the others."""
    (tool,) = described().tools
    (swapped,) = described(tool=search(examples=[SECOND, FIRST])).tools
    (changed,) = described(tool=search(examples=[FIRST, replace(SECOND, description="two")])).tools

    assert len(set(tool.examples)) == 2
    assert swapped.examples == tool.examples[::-1]
    assert changed.examples[0] == tool.examples[0]
    assert changed.examples[1] != tool.examples[1]


def test_a_section_that_is_off_is_described_too() -> None:
    """Overrides are kept for the template, whoever renders it now."""
    off = MarkdownSection("Off", "Not now.", enabled=lambda: False)

    assert described(extra=(off,)).section(("off",)) is not None


def test_it_is_worked_out_once_and_only_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rendering without a store does not pay for hashes of schemas."""
    made: list[str] = []
    original = Tool.schema
    monkeypatch.setattr(Tool, "schema", lambda self: made.append(self.name) or original(self))
    one = template()

    rendered = Prompt(one).render(check=False)
    assert made == []

    assert rendered.descriptor is Prompt(one).render(check=False).descriptor is PromptDescriptor.from_prompt(one)
    assert made == ["search"]


def test_overrides_do_not_change_the_hashes(tmp_path: Path) -> None:
    """They are the code's own: an override would make itself stale otherwise."""
    store = LocalPromptOverridesStore(tmp_path)
    prompt = Prompt(template(), store)
    store.set_section_override(prompt, path="task", body="Other.")

    assert prompt.render().descriptor == described()


def test_a_section_of_ones_own_can_be_overridden() -> None:
    """Whatever makes the text: two methods say what there is to replace, and replace it."""

    class Poem(Section[Any]):
        lines: Sequence[str] = ("Roses", "Violets")

        def template_text(self) -> str:
            return "\n".join(self.lines)

        def with_template_text(self, text: str) -> Poem:
            twin = Poem(self.title)
            twin.lines = text.splitlines()
            return twin

        def render_body(self, params: object) -> str:
            return " / ".join(self.lines)

    poem = PromptTemplate(ns="demo", key="poem", sections=[Poem("Poem")])

    assert hash_of("poem", PromptDescriptor.from_prompt(poem)) == hashlib.sha256(b"Roses\nViolets").hexdigest()


def test_only_prompts_can_be_described() -> None:
    """With a word about what else it was."""
    with pytest.raises(PromptOverrideError, match="'fix' is neither a prompt nor a template"):
        PromptDescriptor.from_prompt("fix")  # type: ignore[arg-type]


PRINTED = """
import json, sys
sys.path[:0] = sys.argv[1:]
from plugins.overrides.tests.demo import template
from wink.prompt.overrides import PromptDescriptor
from wink.serde import dump
print(json.dumps(dump(PromptDescriptor.from_prompt(template(summary="Short.")))))
"""


def test_another_process_has_the_same_hashes() -> None:
    """Whatever the seed of its hashes, and its working directory."""
    here = json.loads(json.dumps(_plain(described(summary="Short."))))
    root = Path(__file__).parents[3]
    for seed, *flags in (("1",), ("2", "-O")):
        done = subprocess.run(
            [sys.executable, *flags, "-c", PRINTED, str(root), *sys.path],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
            cwd="/",
        )
        assert json.loads(done.stdout) == here


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.booleans() | st.none(), min_size=1))
def test_a_hash_depends_on_what_is_said_only(value: dict[str, Any]) -> None:
    """Not on the order in which it is said; and every change of it shows."""
    name, one = next(iter(value.items()))
    again = json.loads(json.dumps(value))

    assert value_hash(dict(reversed(value.items()))) == value_hash(again) == value_hash(value)
    assert value_hash({**value, name: [one]}) != value_hash(value)
    assert value_hash({name: 1}) != value_hash({name: True})


def _plain(descriptor: PromptDescriptor) -> Any:
    from wink.serde import dump

    return dump(descriptor)


def test_the_hashes_are_those_of_before() -> None:
    """Written down once: a change here makes every override that anybody has stale, and needs a word in the changelog."""
    descriptor = described(task="Mend $issue.", summary="Short.")

    assert hash_of("task", descriptor) == "7104e43f935a7cbaf260a79b4c6d546f0c2a2fc08217af11bebdb00498f8e996"
    assert descriptor.tools[0].contract_hash == "059b5ee69b11b887a3c64e7c3e35a92807d1f129f988c4cca9cb165c54f2c07d"
    assert descriptor.tools[0].examples[0] == "32c7bf7e3b70807d6d0fe4dbb7c8643861aa27503b7cf59fb01d235443a6885c"
