"""The files in which overrides are kept: who may write what, and what becomes of files that are not what they should be."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plugins.overrides.tests.demo import FIRST, Hit, Query, template, wide

from wink.errors import PromptOverrideError, PromptOverrideWarning
from wink.prompt import MarkdownSection, Prompt, PromptTemplate
from wink.prompt.overrides import PromptDescriptor
from wink_overrides import LocalPromptOverridesStore, PromptOverride, SectionOverride, ToolExampleOverride, ToolOverride

PLACE = Path(".wink/prompts/overrides/demo/notes/fix")
NAMES = {"ns": "demo/notes", "prompt_key": "fix", "tag": "latest"}


@pytest.fixture
def store(tmp_path: Path) -> LocalPromptOverridesStore:
    return LocalPromptOverridesStore(tmp_path)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the tag `latest` of the demo template is kept."""
    path = tmp_path / PLACE / "latest.json"
    path.parent.mkdir(parents=True)
    return path


def descriptor_of(one: PromptTemplate[Any] | None = None) -> PromptDescriptor:
    return PromptDescriptor.from_prompt(one or template())


# Reading and writing.


def test_a_text_is_kept_where_people_find_it(store: LocalPromptOverridesStore, tmp_path: Path) -> None:
    """As JSON that they can read, edit and compare, in the directory that the names say."""
    stored = store.set_section_override(template(), path="task/rules", body="Vorsicht:\n'$issue'", tag="v1.2")

    path = tmp_path / PLACE / "v1.2.json"
    assert store.path(ns="demo/notes", prompt_key="fix", tag="v1.2") == str(path)
    assert json.loads(path.read_text()) == {
        "version": 1,
        "ns": "demo/notes",
        "prompt_key": "fix",
        "tag": "v1.2",
        "sections": {
            "task/rules": {
                "expected_hash": descriptor_of().sections[1].content_hash,
                "body": "Vorsicht:\n'$issue'",
            }
        },
        "tools": {},
    }
    assert os.listdir(path.parent) == ["v1.2.json"]
    assert store.resolve(descriptor_of(), "v1.2") == stored
    assert store.resolve(descriptor_of()) is None


def test_nothing_is_made_by_looking(store: LocalPromptOverridesStore, tmp_path: Path) -> None:
    """A run in a directory without overrides leaves it as it was."""
    Prompt(template(), store).render()
    store.tags(ns="demo/notes", prompt_key="fix")
    store.load(**NAMES)
    assert not store.delete(**NAMES)

    assert os.listdir(tmp_path) == []


def test_the_place_is_as_private_as_a_workspace_makes_it(store: LocalPromptOverridesStore, tmp_path: Path) -> None:
    """A workspace keeps its record there later, with what an agent read and wrote."""
    store.seed(template())

    assert (tmp_path / ".wink").stat().st_mode & 0o777 == 0o700


def test_parts_are_added_to_what_the_tag_says(store: LocalPromptOverridesStore) -> None:
    """Section by section and tool by tool; the later one counts."""
    one = template()
    store.set_section_override(one, path="task", body="First.")
    store.store(one, ToolOverride("search", "", "Find."))
    store.set_section_override(one, path="task", body="Second.")
    store.upsert(
        descriptor_of(one), PromptOverride("demo/notes", "fix", sections={"tools": SectionOverride("", "With care.")})
    )

    found = store.resolve(descriptor_of(one))

    assert found is not None
    assert {path: section.body for path, section in found.sections.items()} == {
        ("task",): "Second.",
        ("tools",): "With care.",
    }
    assert found.tool_overrides["search"].description == "Find."


def test_what_is_written_again_is_not_written(store: LocalPromptOverridesStore, tmp_path: Path) -> None:
    """The file's time tells when something changed."""
    store.set_section_override(template(), path="task", body="Other.")
    before = (tmp_path / PLACE / "latest.json").stat()
    store.set_section_override(template(), path="task", body="Other.")

    assert (tmp_path / PLACE / "latest.json").stat().st_ino == before.st_ino


def test_parts_can_be_forgotten(store: LocalPromptOverridesStore, tmp_path: Path) -> None:
    """One, and then all; the file goes with the last."""
    one = template()
    store.set_section_override(one, path="task", body="Other.")
    store.store(one, ToolOverride("search", "", "Find."))

    assert store.delete(**NAMES, section="task")
    assert not store.delete(**NAMES, section="task")
    assert store.load(**NAMES) == PromptOverride(
        "demo/notes",
        "fix",
        tool_overrides={"search": ToolOverride("search", descriptor_of().tools[0].contract_hash, "Find.")},
    )
    assert store.delete(**NAMES, tool="search")
    assert os.listdir(tmp_path / PLACE) == []
    assert store.tags(ns="demo/notes", prompt_key="fix") == ()


def test_seeding_writes_what_the_code_says(store: LocalPromptOverridesStore) -> None:
    """So that people start from the text that there is; a rendering does not change by it."""
    one = template(summary="Short.")
    seeded = store.seed(Prompt(one), tag="start")

    assert {"/".join(path): section.body for path, section in seeded.sections.items()} == {
        "task": "Fix $issue.",
        "task/rules": "Be careful.",
        "tools": "",
        "closed/open": "Below.",
        "group/leaf": "A leaf costs $$2.",
    }
    assert seeded.sections[("task",)].summary == "Short."
    assert seeded.tool_overrides == {
        "search": ToolOverride(
            "search", descriptor_of(one).tools[0].contract_hash, "Search the notes.", {"text": "What to look for."}
        )
    }
    assert Prompt(one, store, "start").render().text == Prompt(one).render().text


def test_seeding_again_keeps_what_people_wrote(store: LocalPromptOverridesStore) -> None:
    """And adds what is new in the code."""
    store.set_section_override(template(), path="task", body="Ours.")
    extra = template(extra=(MarkdownSection("New", "Newer."),))

    seeded = store.seed(extra)

    assert seeded.sections[("task",)].body == "Ours."
    assert seeded.sections[("new",)].body == "Newer."
    assert store.seed(extra) == seeded


def test_the_tags_are_listed(store: LocalPromptOverridesStore, tmp_path: Path) -> None:
    """Those that there are files for, and nothing else that lies there."""
    for tag in ("latest", "b", "a.1"):
        store.seed(template(), tag=tag)
    (tmp_path / PLACE / "README.json").write_text("{}")
    (tmp_path / PLACE / "notes.txt").write_text("")

    assert store.tags(ns="demo/notes", prompt_key="fix") == ("a.1", "b", "latest")
    store.seed(wide(1))
    (tmp_path / PLACE / "linked").symlink_to(tmp_path)
    assert [("demo", "wide", "latest"), *(("demo/notes", "fix", tag) for tag in ("a.1", "b", "latest"))] == sorted(
        store.stored()
    )


# What is refused.


@pytest.mark.parametrize(
    ("override", "complaint"),
    [
        (
            SectionOverride("", "Costs $ 5.", path=("task",)),
            "section 'task': line 1, 'Costs $ 5.', has a '$' that starts",
        ),
        (SectionOverride("", "Fix $isue.", path=("task",)), "section 'task': has no parameter for $isue"),
        (SectionOverride("0" * 64, "Other.", path=("task",)), "section 'task': was written for another text"),
        (SectionOverride("", "Other.", path=("closed",)), "section 'closed': accepts no overrides"),
        (SectionOverride("", "Other.", "Short.", ("task",)), "section 'task': has no summary in the code"),
        (SectionOverride("", "Other."), "which section is it? pass path= to SectionOverride"),
        (ToolOverride("search", "", "Für."), "tool 'search': the description has 'ü'"),
        (ToolOverride("serch", "", "Find."), "tool 'serch': accepts no overrides, or is not there; search can be"),
        (ToolOverride("search", "1" * 64, "Find."), "tool 'search': was written for another description or schema"),
        (
            ToolOverride("search", "", examples=(ToolExampleOverride.append("bad", {"text": 1}, []),)),
            "tool 'search': $.text: ",
        ),
        (PromptOverride("demo/other", "fix"), "is for demo/other:fix, not for demo/notes:fix"),
        ("Other.", "'Other.' is no override; give a SectionOverride, ToolOverride or PromptOverride"),
    ],
)
def test_what_could_not_be_used_is_not_stored(
    store: LocalPromptOverridesStore, tmp_path: Path, override: Any, complaint: str
) -> None:
    """Whoever writes it is there to fix it; at a rendering nobody is."""
    with pytest.raises(PromptOverrideError) as caught:
        store.store(template(), override)

    assert complaint in str(caught.value)
    assert not (tmp_path / ".wink").exists()


def test_all_that_is_wrong_is_said_at_once(store: LocalPromptOverridesStore) -> None:
    """With the template and the tag that it is about, as facts too."""
    override = PromptOverride(
        "demo/notes",
        "fix",
        "v2",
        {"task": SectionOverride("", "$a"), "closed": SectionOverride("", "b")},
        {"search": ToolOverride("search", "", "")},
    )
    with pytest.raises(PromptOverrideError) as caught:
        store.upsert(descriptor_of(), override)

    assert str(caught.value).startswith(
        "the overrides of demo/notes:fix under 'v2': cannot be stored: section 'task': "
    )
    assert len(caught.value.problems) == 3


@pytest.mark.parametrize(
    "names",
    [
        {"ns": "..", "prompt_key": "fix", "tag": "latest"},
        {"ns": "demo/../..", "prompt_key": "fix", "tag": "latest"},
        {"ns": "/etc", "prompt_key": "fix", "tag": "latest"},
        {"ns": "demo", "prompt_key": "a/b", "tag": "latest"},
        {"ns": "demo", "prompt_key": "", "tag": "latest"},
        {"ns": "demo", "prompt_key": "fix", "tag": "../latest"},
        {"ns": "demo", "prompt_key": "fix", "tag": "LATEST"},
        {"ns": "demo", "prompt_key": "fix", "tag": "a\0b"},
        {"ns": "demo", "prompt_key": "fix", "tag": "x" * 65},
        {"ns": "demo", "prompt_key": "fix", "tag": 7},
    ],
)
def test_names_cannot_lead_elsewhere(store: LocalPromptOverridesStore, names: Any) -> None:
    """Each part of the path is checked before anything is opened."""
    acts: list[Callable[[], object]] = [
        lambda: store.load(**names),
        lambda: store.delete(**names),
        lambda: store.path(**names),
        lambda: store.resolve(PromptDescriptor(names["ns"], names["prompt_key"], (), ()), names["tag"]),
    ]
    for act in acts:
        with pytest.raises(PromptOverrideError, match="cannot be a "):
            act()


def test_a_place_that_cannot_be_written_is_named(
    store: LocalPromptOverridesStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a directory that is only for reading, say; the reason alone says nothing."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(PromptOverrideError) as raised:
        store.seed(template())
    place = tmp_path.joinpath(*PLACE.parts[:3])
    assert str(raised.value) == f"cannot write to {str(place)!r}: Permission denied"


def test_links_are_not_followed(store: LocalPromptOverridesStore, tmp_path: Path) -> None:
    """At any place on the way, for reading as for writing: the directory may be somebody else's work."""
    one = template()
    store.seed(one)
    elsewhere = tmp_path / "elsewhere"
    path = tmp_path / PLACE / "latest.json"
    for inner in (path, *list(path.parents)[: len(PLACE.parts)]):
        inner.rename(elsewhere)
        inner.symlink_to(elsewhere)

        with pytest.warns(PromptOverrideWarning, match="a link, or a file in a directory's place, is in the way"):
            assert LocalPromptOverridesStore(tmp_path).resolve(descriptor_of()) is None
        with pytest.raises(PromptOverrideError, match="links are not followed"):
            store.set_section_override(one, path="task", body="Other.")

        inner.unlink()
        elsewhere.rename(inner)
    assert store.resolve(descriptor_of()) is not None


def test_the_root_may_be_a_link(store: LocalPromptOverridesStore, tmp_path: Path) -> None:
    """It is what the user named."""
    store.seed(template())
    (tmp_path / "link").symlink_to(tmp_path)

    assert LocalPromptOverridesStore(tmp_path / "link").resolve(descriptor_of()) is not None


def test_a_pipe_does_not_keep_the_run(store: LocalPromptOverridesStore, file: Path) -> None:
    """Opening one waits for a writer, if one lets it."""
    os.mkfifo(file)

    with pytest.warns(PromptOverrideWarning, match="is no regular file"):
        assert store.resolve(descriptor_of()) is None


# Files that are not what they should be.


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "is no JSON: line 1, column 1"),
        ("{\n  oops", "is no JSON: line 2, column 3"),
        ("[" * 100_000, "is no JSON"),
        ('{"version": NaN}', "is no JSON that could be read"),
        ("[]", "is no JSON object"),
        ("{}", 'says no format version that exists; write "version": 1'),
        ('{"version": true}', "says no format version that exists"),
        ('{"version": 2}', "has format version 2; this wink reads 1, a newer one is needed"),
        (
            '{"version": 1, "ns": "other"}',
            "says another 'ns' than its place, which is for 'demo/notes'; fix one of them",
        ),
        (b"\xff\xfe", "is no UTF-8 text"),
        (b" " * (8 * 1024 * 1024 + 1), "is longer than 8388608 bytes"),
    ],
)
def test_a_damaged_file_is_reported_once_and_kept(
    store: LocalPromptOverridesStore, file: Path, content: str | bytes, complaint: str
) -> None:
    """It breaks no run, and what somebody may want to fix is not written over."""
    data = content if isinstance(content, bytes) else content.encode()
    file.write_bytes(data)
    prompt = Prompt(template(), store)

    with pytest.warns(PromptOverrideWarning) as caught:
        texts = {prompt.render().text, prompt.render().text, Prompt(template(), store).render().text}

    assert texts == {Prompt(template()).render().text}
    (told,) = (str(one.message) for one in caught)
    assert f"{file} {complaint}" in told
    acts: list[Callable[[], object]] = [
        lambda: store.load(**NAMES),
        lambda: store.seed(template()),
        lambda: store.set_section_override(template(), path="task", body="Other."),
        lambda: store.delete(**NAMES, section="task"),
    ]
    for act in acts:
        with pytest.raises(PromptOverrideError, match=r"latest\.json"):
            act()
    assert file.read_bytes() == data
    assert store.delete(**NAMES)
    assert not file.exists()


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (lambda d: d["sections"]["task"].update(body=7), "section 'task': $.body: "),
        (lambda d: d["sections"]["task"].pop("expected_hash"), "section 'task': $.expected_hash: is required"),
        (lambda d: d["sections"]["task"].update(expected_hash="old"), "section 'task': $.expected_hash: "),
        (lambda d: d["sections"]["task"].update(titel="x"), "section 'task': $.titel: "),
        (lambda d: d["sections"]["task"].update(path=["a"]), "$.path: is said by the key of the entry; take it out"),
        (lambda d: d["sections"].update(task="Other."), "section 'task': must be an object"),
        (lambda d: d.update(sections=[]), "'sections' must be an object"),
        (lambda d: d.update(more=1), "the key 'more' means nothing; the keys are version, ns, prompt_key, tag,"),
        (lambda d: d["tools"]["search"].update(param_descriptions={"text": 3}), "tool 'search': $.param_descriptions"),
        (lambda d: d["tools"]["search"].update(examples=[{"action": "add"}]), "tool 'search': $.examples[0].action"),
        (lambda d: d["tools"]["search"].update(examples=[{"action": "remove"}]), "tool 'search': $.examples[0]"),
        (lambda d: d.update(task_examples={}), "'task_examples' must be a list"),
        (lambda d: d.update(task_examples=[{"action": "append"}]), "section 'task_examples[0]': needs a 'path'"),
        (
            lambda d: d.update(task_examples=[{"path": "task", "action": "append"}]),
            "section 'task': has no task examples",
        ),
    ],
)
def test_a_damaged_part_is_left_out_alone(
    store: LocalPromptOverridesStore, file: Path, edit: Callable[[Any], object], complaint: str
) -> None:
    """Where it is and what is wrong with it; the other parts count."""
    one = template()
    store.set_section_override(one, path="task/rules", body="Be bold.")
    store.set_section_override(one, path="task", body="Other.")
    store.store(one, ToolOverride("search", "", "Find."))
    document = json.loads(file.read_text())
    edit(document)
    file.write_text(json.dumps(document))

    with pytest.warns(PromptOverrideWarning) as caught:
        rendered = Prompt(one, store).render()

    assert [complaint in str(told.message) for told in caught] == [True]
    assert "Be bold." in rendered.text or "sections" in complaint
    if "task_examples" not in str(document):
        with pytest.raises(PromptOverrideError, match="is damaged"):
            store.load(**NAMES)


def test_what_a_file_says_cannot_play_with_a_terminal(store: LocalPromptOverridesStore, file: Path) -> None:
    """Its keys come up in messages."""
    head = {"version": 1, "ns": "demo/notes", "prompt_key": "fix", "tag": "latest"}
    file.write_text(json.dumps({**head, "sections": {"task\x1b[2J": {"\x1b]0;x\a": 1}}, "\x1b[31m": 1}))

    with pytest.warns(PromptOverrideWarning) as caught:
        Prompt(template(), store).render()
    with pytest.raises(PromptOverrideError) as error:
        store.load(**NAMES)

    assert len(caught) == 2
    assert all(str(one.message).isprintable() for one in caught)
    assert str(error.value).isprintable()


@pytest.mark.parametrize("depth", [50, 400, 5_000])
def test_an_example_may_be_as_deep_as_it_likes(store: LocalPromptOverridesStore, file: Path, depth: int) -> None:
    """It is of other types than the tool's, and no reason to end a run."""
    store.store(
        template(), ToolOverride("search", "", examples=(ToolExampleOverride.append("deep", {"text": "a"}, []),))
    )
    written = file.read_text()
    file.write_text(written.replace('"text": "a"', f'"text": {"[" * depth}{"]" * depth}'))

    with pytest.warns(PromptOverrideWarning) as caught:
        rendered = Prompt(template(), store).render()

    assert len(caught) == 1
    assert rendered.text == Prompt(template()).render().text


def test_half_a_character_is_kept(store: LocalPromptOverridesStore) -> None:
    """It is no UTF-8; JSON can say it."""
    one = template()
    store.set_section_override(one, path="task", body="half \ud83d")

    assert "half \ud83d" in Prompt(one, store).render().text


# The root.


def test_the_root_is_the_repository_around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or the current directory where there is none; settled when the store is made."""
    inner = tmp_path / "repository" / "a" / "b"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert LocalPromptOverridesStore().root == str(inner)

    (tmp_path / "repository" / ".git").write_text("gitdir: elsewhere")
    store = LocalPromptOverridesStore()
    monkeypatch.chdir(tmp_path)

    assert store.root == str(tmp_path / "repository")


# Many at once.


WRITER = """
import sys
root, number, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sys.path[:0] = sys.argv[4:]
from plugins.overrides.tests.demo import wide
from wink_overrides import LocalPromptOverridesStore
template = wide(8 * count)
store = LocalPromptOverridesStore(root)
sys.stdin.readline()
for index in range(number * count, (number + 1) * count):
    store.set_section_override(template, path=f"s{index}", body=f"Text {index}.")
"""


def test_eight_processes_lose_nothing(tmp_path: Path) -> None:
    """Each writes its own sections into the one file, all at the same time."""
    count = 5
    root = Path(__file__).parents[3]
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), str(number), str(count), str(root), *sys.path],
            stdin=subprocess.PIPE,
            text=True,
        )
        for number in range(8)
    ]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        assert writer.wait(timeout=100) == 0
        assert writer.stdin is not None
        writer.stdin.close()

    found = LocalPromptOverridesStore(tmp_path).resolve(PromptDescriptor.from_prompt(wide(8 * count)))

    assert found is not None
    assert {path: one.body for path, one in found.sections.items()} == {
        (f"s{index}",): f"Text {index}." for index in range(8 * count)
    }
    assert os.listdir(tmp_path / ".wink/prompts/overrides/demo/wide") == ["latest.json"]


def test_threads_lose_nothing_and_readers_see_whole_files(tmp_path: Path) -> None:
    """The lock is between threads too, and a file is replaced in one step."""
    one, store = wide(40), LocalPromptOverridesStore(tmp_path)
    descriptor = PromptDescriptor.from_prompt(one)
    seen: list[int] = []
    done = threading.Event()

    def write(number: int) -> None:
        for index in range(number * 10, number * 10 + 10):
            store.set_section_override(one, path=f"s{index}", body=f"Text {index}.")

    def read() -> None:
        while not done.is_set():
            found = store.resolve(descriptor)
            seen.append(0 if found is None else len(found.sections))

    reader = threading.Thread(target=read)
    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for thread in (reader, *writers):
            thread.start()
        for thread in writers:
            thread.join(60)
        done.set()
        reader.join(60)

    found = store.resolve(descriptor)
    assert found is not None
    assert len(found.sections) == 40
    assert seen == sorted(seen)


def test_what_a_killed_writer_left_is_cleared_away(store: LocalPromptOverridesStore, file: Path) -> None:
    """Half a file, which nobody has seen under its name."""
    half = file.with_name(".latest.writing")
    half.write_text('{"version"')

    assert store.resolve(descriptor_of()) is None
    store.set_section_override(template(), path="task", body="Other.")

    assert os.listdir(file.parent) == ["latest.json"]


@pytest.mark.parametrize("step", ["fsync", "rename"])
def test_a_disk_that_is_full_leaves_what_was_there(
    store: LocalPromptOverridesStore, file: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Until the last step nobody sees the new file; and the error is one of ours."""
    one = template()
    store.set_section_override(one, path="task", body="First.")
    before = file.read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, step, full)
        with pytest.raises(PromptOverrideError, match="No space left on device"):
            store.set_section_override(one, path="task", body="Second.")

    assert file.read_bytes() == before
    assert "First." in Prompt(one, store).render().text
    store.set_section_override(one, path="task", body="Third.")
    assert os.listdir(file.parent) == ["latest.json"]


# Any overrides, any files.

_texts = st.text(st.characters(codec="utf-8"), max_size=30)
_words = st.text(st.sampled_from("abc XYZ.,"), min_size=1, max_size=20).filter(str.strip)
_sections = st.dictionaries(
    st.sampled_from([one.path for one in descriptor_of().sections]),
    st.builds(lambda text: SectionOverride("", text.replace("$", "$$")), _texts),
)
_examples = st.lists(
    st.builds(
        lambda about, text, lines: ToolExampleOverride.append(about, Query(text), [Hit(line) for line in lines]),
        _words,
        st.text(min_size=1, max_size=10),
        st.lists(st.integers(), max_size=3),
    ),
    max_size=3,
).map(tuple)
_tools = st.dictionaries(
    st.just("search"),
    st.builds(
        lambda description, words, examples: ToolOverride("search", "", description, words, examples),
        st.none() | _words,
        st.dictionaries(st.sampled_from(["text", "limit"]), _words),
        _examples,
    ),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(_sections, _tools)
def test_what_is_stored_comes_back(tmp_path: Path, sections: Any, tools: Any) -> None:
    """Any texts, with whatever characters, and the prompt says them."""
    one = template()
    store = LocalPromptOverridesStore(tmp_path)
    store.delete(**NAMES)

    stored = store.store(one, PromptOverride("demo/notes", "fix", "latest", sections, tools))
    rendered = Prompt(one, store).render()

    assert stored.sections.keys() == sections.keys()
    assert {path: text.body for path, text in stored.sections.items()} == {
        path: text.body for path, text in sections.items()
    }
    assert store.resolve(descriptor_of(one)) == (stored or None)
    assert LocalPromptOverridesStore(tmp_path).load(**NAMES) == (stored or None)
    for tool in tools.values():
        assert rendered.tools[0].description == (tool.description or "Search the notes.").strip()
        assert rendered.tools[0].examples[2:] == tuple(
            replace(
                FIRST,
                description=one.description,
                input=Query(one.input["text"]),
                output=[Hit(**hit) for hit in one.output],
            )
            for one in tool.examples
        )


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | _texts,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(_texts | st.sampled_from(["task", "search"]), inner, max_size=3)
    ),
    max_leaves=8,
)
_hash = st.sampled_from([descriptor_of().sections[0].content_hash, descriptor_of().tools[0].contract_hash, "0" * 64])
_entry = st.fixed_dictionaries(
    {},
    optional={
        "expected_hash": _hash | _json,
        "expected_contract_hash": _hash | _json,
        "body": _texts | _json,
        "summary": _json,
        "description": _texts | _json,
        "param_descriptions": st.dictionaries(st.sampled_from(["text", "limit", "x"]), _texts | _json) | _json,
        "examples": st.lists(
            st.fixed_dictionaries(
                {"action": st.sampled_from(["append", "replace", "remove"])},
                optional={"index": st.integers(-1, 3) | _json, "description": _texts, "input": _json, "output": _json},
            )
            | _json,
            max_size=3,
        )
        | _json,
    },
)
_file = st.fixed_dictionaries(
    {
        "version": st.just(1) | _json,
        "ns": st.just("demo/notes"),
        "prompt_key": st.just("fix"),
        "tag": st.just("latest"),
    },
    optional={
        "sections": st.dictionaries(st.sampled_from(["task", "tools", "closed", "", "/"]), _entry | _json) | _json,
        "tools": st.dictionaries(st.sampled_from(["search", "inside", ""]), _entry | _json) | _json,
        "task_examples": st.lists(_entry | _json) | _json,
    },
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200, deadline=None)
@given(_file.map(json.dumps) | _json.map(json.dumps) | _texts | st.binary(max_size=40))
def test_no_file_breaks_a_rendering(tmp_path: Path, content: str | bytes) -> None:
    """Whatever lies there, the prompt renders, with the same sections, the same tools, the same types."""
    path = tmp_path / PLACE / "latest.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    one = template()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rendered = Prompt(one, LocalPromptOverridesStore(tmp_path)).render()
    plain = Prompt(one).render()

    headings = [line for line in plain.text.splitlines() if line.startswith("#")]
    assert all(heading in rendered.text for heading in headings)
    assert [(tool.name, tool.params_type, tool.handler, tool.effects) for tool in rendered.tools] == [
        (tool.name, tool.params_type, tool.handler, tool.effects) for tool in plain.tools
    ]
    for tool in rendered.tools:
        tool.check()
