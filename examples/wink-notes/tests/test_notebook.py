"""The notebook, as an agent and the people around it use it."""

from pathlib import Path

import pytest
from wink import Catalog, ResourceRegistry, Section, Workspace
from wink.testing import Harness, SectionContract, ToolCall, ToolContract, fail_at_every_step

from wink_notes import Clock, Mishap, Note, Notebook, NotesSettings, notebook_section

PAGE = """\
<!-- notes of the agent: what stands between these marks is written anew with every note -->
# Notes

2. Dates are in UTC (2026-11-22)

## tests

1. They need a database (2026-11-22)
<!-- end of the notes of the agent -->
"""


class Sunday(Clock):
    """It is always the same day."""

    def today(self) -> str:
        """That day."""
        return "2026-11-22"


class TestNotebook(SectionContract):
    """What wink expects of every section."""

    @pytest.fixture
    def section(self) -> Section:
        """The section as a template would use it."""
        return notebook_section()


class TestAdd(ToolContract):
    """What wink expects of every tool: all that it did is undone when it fails."""

    tool = "notes_add"
    arguments = {"text": "They need a database", "topic": "tests"}
    files = {"NOTES.md": "# Mine\n"}

    @pytest.fixture
    def section(self) -> Section:
        """The section that brings the tool."""
        return notebook_section()


class TestFind(ToolContract):
    """Also of one that only looks."""

    tool = "notes_find"
    arguments = {"words": "database"}
    before = (ToolCall("notes_add", {"text": "They need a database"}),)

    @pytest.fixture
    def section(self) -> Section:
        """The section that brings the tool."""
        return notebook_section()


class TestDrop(ToolContract):
    """And of one that takes something away."""

    tool = "notes_drop"
    arguments = {"number": 1, "why": "they use SQLite now"}
    before = (ToolCall("notes_add", {"text": "They need a database"}),)

    @pytest.fixture
    def section(self) -> Section:
        """The section that brings the tool."""
        return notebook_section()


@pytest.fixture
def notebook(harness: Harness) -> Harness:
    """A session with the notebook, on a day that does not change."""
    harness.use("section", "notes.notebook")
    harness.bind(resources={Clock: Sunday()})
    return harness


def notes(harness: Harness) -> tuple[Note, ...]:
    """What is in the session's notebook."""
    found = harness.session[Notebook].latest()
    return found.notes if found else ()


def test_notes_are_in_the_session_and_on_a_page(notebook: Harness) -> None:
    """The agent searches the one, people read the other."""
    assert notebook.call("notes_add", text=" They need a database ", topic="tests").success
    assert notebook.call("notes_add", text="Dates are in UTC").text == "Noted as 2."

    assert [note.number for note in notes(notebook)] == [1, 2]
    assert notebook.tree() == {"NOTES.md": PAGE}


def test_they_are_found_by_all_of_their_words(notebook: Harness) -> None:
    """In text and topic, in whatever case."""
    notebook.call("notes_add", text="They need a database", topic="tests")
    notebook.call("notes_add", text="The database is on port 5433")

    assert (
        notebook.call("notes_find", words="DATABASE tests").text
        == "1. [tests] They need a database"
    )
    assert "5433" in notebook.call("notes_find", words="database").text
    assert notebook.call("notes_find", words="database moon").text == "No note has all these words."


def test_a_note_is_struck_out_with_a_reason_and_its_number_stays_free(notebook: Harness) -> None:
    """A number that meant one thing must not come to mean another."""
    notebook.call("notes_add", text="They need a database")
    assert "say why" in notebook.call("notes_drop", number=1, why=" ").text
    assert notebook.call("notes_drop", number=1, why="they use SQLite now").success
    assert notebook.call("notes_add", text="They use SQLite").text == "Noted as 2."

    assert notes(notebook) == (Note(2, "They use SQLite", written="2026-11-22"),)
    assert "database" not in notebook.read("NOTES.md")
    assert "the notes are: 2" in notebook.call("notes_drop", number=1, why="again").text


def test_what_people_write_around_the_notes_stays(notebook: Harness) -> None:
    """The file is theirs as well."""
    notebook.write("NOTES.md", "# Ours\n\nBring cake.")
    notebook.call("notes_add", text="Dates are in UTC")
    notebook.write("NOTES.md", notebook.read("NOTES.md") + "\nMore cake.\n")
    notebook.call("notes_add", text="The tests are slow")

    text = notebook.read("NOTES.md")
    assert text.startswith("# Ours\n\nBring cake.\n\n<!-- notes of the agent")
    assert text.endswith("<!-- end of the notes of the agent -->\n\nMore cake.\n")
    assert text.count("Dates are in UTC") == 1


def test_a_note_cannot_pretend_to_be_the_end_of_the_notes(notebook: Harness) -> None:
    """Or the page would grow a second tail with each note."""
    end = "<!-- end of the notes of the agent -->"
    notebook.call("notes_add", text=end, topic=end)
    notebook.call("notes_add", text="Dates are in UTC")

    text = notebook.read("NOTES.md")
    assert text.count(end) == 1
    assert text.endswith(f"{end}\n")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"\xff\xfe", "is not UTF-8 text"),
        (b"<!-- end of the notes of the agent -->\n", "are damaged; fix or remove them"),
    ],
)
def test_a_file_that_cannot_hold_notes_is_left_alone(
    notebook: Harness, content: bytes, problem: str
) -> None:
    """And the note is not kept either: half of it would be a lie."""
    notebook.write("NOTES.md", content)

    assert problem in notebook.call("notes_add", text="Dates are in UTC").text
    assert notes(notebook) == ()
    assert notebook.filesystem.read_bytes("NOTES.md") == content


def test_the_last_notes_are_in_the_prompt(notebook: Harness) -> None:
    """The next run begins where this one ended."""
    assert "Your notes" not in notebook.text
    for number in range(6):
        notebook.call("notes_add", text=f"Fact {number}")

    assert "The last 5 of your 6 notes:\n\n- 2. Fact 1\n" in notebook.text


def test_calls_that_failed_are_told_of(notebook: Harness) -> None:
    """The plugin's subscriber hears of every call; what failed lately may explain a note."""
    notebook.use("section", "files.files")
    notebook.call("read_file", file_path="nowhere.txt")

    assert [mishap.tool for mishap in notebook.session[Mishap].all()] == ["read_file"]
    assert "Calls that failed lately:\nread_file: " in notebook.call("notes_find").text


@pytest.mark.parametrize("tool", ["notes_add", "notes_drop"])
def test_session_and_file_never_disagree(notebook: Harness, tool: str) -> None:
    """Wherever the call breaks off, both are as they were."""
    notebook.call("notes_add", text="They need a database")
    arguments = {"text": "Dates are in UTC"} if tool == "notes_add" else {"number": 1, "why": "x"}
    fail_at_every_step(notebook, tool, **arguments)


def test_an_undo_takes_note_and_page_back(tmp_path: Path) -> None:
    """In a workspace, as `wink undo` does it, and another process finds the notes again."""
    with Harness(root=tmp_path) as harness:
        harness.use("section", "notes.notebook")
        harness.call("notes_add", text="They need a database")
        harness.call("notes_add", text="Dates are in UTC")
        assert harness.workspace is not None
        harness.workspace.undo()
    with Workspace.open(tmp_path) as again:
        found = again.session()[Notebook].latest()

    assert found is not None
    assert [note.text for note in found.notes] == ["They need a database"]
    assert "UTC" not in (tmp_path / "NOTES.md").read_text()


def test_settings_are_kept_to(harness: Harness) -> None:
    """No file, and short notes."""
    harness.use(notebook_section(settings=NotesSettings(file="", max_characters=10)))

    assert "keep it to 10" in harness.call("notes_add", text="Dates are in UTC").text
    assert harness.call("notes_add", text="UTC!").success
    assert harness.tree() == {}


def test_the_clock_is_bound_with_the_settings_zone() -> None:
    """`wink_resources` brings it, for every template that asks the catalog for resources."""
    registry = Catalog.installed().resources()
    assert isinstance(registry, ResourceRegistry)
    with registry.open() as resources:
        assert len(resources.get(Clock).today()) == len("2026-11-22")
