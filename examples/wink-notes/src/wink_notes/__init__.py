"""Notes of an agent: kept in its session, written to NOTES.md, and there in the next run."""

from wink_notes._clock import Clock
from wink_notes._notebook import DropNote, Mishap, Note, Notebook, NoteWritten
from wink_notes._policy import Reason, SayWhyPolicy, say_why_policy
from wink_notes._section import NotebookSection, notebook_section
from wink_notes._settings import NotesSettings

__all__ = [
    "Clock",
    "DropNote",
    "Mishap",
    "Note",
    "NoteWritten",
    "Notebook",
    "NotebookSection",
    "NotesSettings",
    "Reason",
    "SayWhyPolicy",
    "notebook_section",
    "say_why_policy",
]
