"""The section: what an agent is told about its notebook, with the latest notes in it."""

from typing import Any

from wink import MarkdownSection, Session

from wink_notes._notebook import Notebook
from wink_notes._settings import NotesSettings
from wink_notes._tools import notebook_of, notebook_tools

INSTRUCTIONS = """
You have a notebook, which outlives this run. Keep in it what cost you time to find out and will
be needed again: a decision and its reason, a trap, a command that works. Leave out what the code
says itself.

- `notes_add` writes a note down; give it a topic, such as the path of the file that it is about.
- `notes_find` shows notes. Look before you work something out for the second time.
- `notes_drop` strikes out a note that does not hold any more.
"""


class NotebookSection(MarkdownSection[Any]):
    """Instructions, three tools, and the session's latest notes."""

    def __init__(self, settings: NotesSettings, *, title: str = "Notebook") -> None:
        """A section for these settings."""
        super().__init__(
            title=title, key="notes", template=INSTRUCTIONS, tools=notebook_tools(settings)
        )
        self._settings = settings

    def install(self, session: Session) -> None:
        """Give the session a notebook; called once for each session, before its first rendering."""
        session.install(Notebook, initial=Notebook())

    def render_body(self, params: Any, *, session: Session | None = None) -> str:
        """The instructions, and what was noted last."""
        body = super().render_body(params, session=session)
        shown = self._settings.shown
        notes = notebook_of(session).notes if session is not None else ()
        if not notes or not shown:
            return body
        heading = (
            "Your notes:"
            if len(notes) <= shown
            else f"The last {shown} of your {len(notes)} notes:"
        )
        return "\n".join(
            [body, "", heading, "", *(f"- {note.render()}" for note in notes[-shown:])]
        )


def notebook_section(
    *, settings: NotesSettings | None = None, title: str = "Notebook"
) -> NotebookSection:
    """Let the agent keep notes, from one run to the next."""
    return NotebookSection(settings or NotesSettings(), title=title)
