"""The tools of the notebook."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from wink import Session, Tool, ToolContext, ToolExample, ToolResult, ToolValidationError

from wink_notes._clock import Clock
from wink_notes._file import write_page
from wink_notes._notebook import DropNote, Mishap, Notebook, NoteWritten
from wink_notes._settings import NotesSettings

LATEST_MISHAPS = 3


@dataclass(frozen=True, slots=True)
class AddNote:
    """Write a note down."""

    text: str = field(metadata={"description": "What to remember, in a sentence or two."})
    topic: str = field(
        default="",
        metadata={
            "description": "What it is about: a file's path, a module, a word. May be left out."
        },
    )

    def __post_init__(self) -> None:
        """Refuse what would make no line; the message is for the model."""
        if not self.text.strip():
            raise ToolValidationError("text must not be blank; say what to remember")
        if len(self.topic.splitlines()) > 1:
            raise ToolValidationError("topic is one line; put the rest into text")


@dataclass(frozen=True, slots=True)
class FindNotes:
    """Look notes up."""

    words: str = field(
        default="",
        metadata={
            "description": "Words that all have to occur in a note; leave them out to see all."
        },
    )


class NotebookTools:
    """Handlers that share the plugin's settings; all that they keep is in the session."""

    def __init__(self, settings: NotesSettings) -> None:
        """Handlers for these settings."""
        self._settings = settings

    def add(self, params: AddNote, *, context: ToolContext) -> ToolResult[None]:
        """Write a note down, in the session and in the file: both, or neither."""
        if len(params.text) > self._settings.max_characters:
            limit = self._settings.max_characters
            raise ToolValidationError(f"text has {len(params.text)} characters; keep it to {limit}")
        clock = context.resources.get_optional(Clock) or Clock()
        context.session.dispatch(
            NoteWritten(params.text.strip(), params.topic.strip(), clock.today())
        )
        notebook = notebook_of(context.session)
        write_page(context.filesystem, self._settings.file, notebook)
        return ToolResult.ok(None, f"Noted as {notebook.last_number}.")

    def find(self, params: FindNotes, *, context: ToolContext) -> ToolResult[None]:
        """Show notes, and what went wrong lately."""
        notebook = notebook_of(context.session)
        words = params.words.split()
        found = notebook.find(words)
        lines = [note.render() for note in found]
        if not found:
            lines = ["No note has all these words." if words else "There are no notes yet."]
        mishaps = () if words else context.session[Mishap].all()[-LATEST_MISHAPS:]
        if mishaps:
            lines += [
                "",
                "Calls that failed lately:",
                *(f"{one.tool}: {one.reply}" for one in mishaps),
            ]
        return ToolResult.ok(None, "\n".join(lines))

    def drop(self, params: DropNote, *, context: ToolContext) -> ToolResult[None]:
        """Strike a note out."""
        notebook = notebook_of(context.session)
        if notebook.note(params.number) is None:
            numbers = ", ".join(str(note.number) for note in notebook.notes) or "none yet"
            raise ToolValidationError(f"there is no note {params.number}; the notes are: {numbers}")
        context.session.dispatch(params)
        write_page(context.filesystem, self._settings.file, notebook_of(context.session))
        return ToolResult.ok(None, f"Note {params.number} is struck out.")


def notebook_of(session: Session) -> Notebook:
    """The session's notebook."""
    return session[Notebook].latest() or Notebook()


def notebook_tools(settings: NotesSettings) -> Sequence[Tool[Any, Any]]:
    """The tools, in the order in which a model meets them."""
    tools = NotebookTools(settings)
    return (
        Tool[AddNote, None](
            name="notes_add",
            description="Write a note down, for later and for whoever comes next.",
            handler=tools.add,
            examples=(
                ToolExample(
                    description="Remember a trap",
                    input=AddNote("The tests need a database that listens on port 5433.", "tests"),
                    output=None,
                ),
            ),
        ),
        Tool[FindNotes, None](
            name="notes_find",
            description="Show the notes that have all these words, or all notes.",
            handler=tools.find,
            effects="read",
        ),
        Tool[DropNote, None](
            name="notes_drop",
            description="Strike out a note that does not hold any more, and say why.",
            handler=tools.drop,
        ),
    )
