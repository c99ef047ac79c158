"""The notes of a session, and how they follow from what happens."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from wink import ToolValidationError
from wink.session import reducer


@dataclass(frozen=True, slots=True)
class Note:
    """One note. Its number means this note for as long as the session lives."""

    number: int
    text: str
    topic: str = ""
    written: str = ""

    def render(self) -> str:
        """The note in one line, as the model reads it."""
        return (
            f"{self.number}. [{self.topic}] {self.text}"
            if self.topic
            else f"{self.number}. {self.text}"
        )

    def is_about(self, words: Iterable[str]) -> bool:
        """Whether all the words occur in it, in whatever case."""
        text = f"{self.topic} {self.text}".casefold()
        return all(word.casefold() in text for word in words)


@dataclass(frozen=True, slots=True)
class NoteWritten:
    """Somebody wrote a note."""

    text: str
    topic: str = ""
    written: str = ""


@dataclass(frozen=True, slots=True)
class DropNote:
    """Strike a note out, and say why."""

    number: int = field(metadata={"description": "The note's number."})
    why: str = field(metadata={"description": "Why it does not hold any more, in one sentence."})

    def __post_init__(self) -> None:
        """A note that vanishes without a reason is one that nobody can trust to have been wrong."""
        if not self.why.strip():
            raise ToolValidationError(
                "why must not be blank; say why the note does not hold any more"
            )


@dataclass(frozen=True, slots=True)
class Mishap:
    """A call that failed: it happened, whatever is undone later, and so it belongs to a log."""

    tool: str
    reply: str


@dataclass(frozen=True, slots=True)
class Notebook:
    """All notes of a session, as one value that reducers replace.

    >>> notebook = Notebook().with_written(NoteWritten("The tests need a database", "tests"))
    >>> notebook.find(["DATABASE"])
    (Note(number=1, text='The tests need a database', topic='tests', written=''),)
    >>> notebook.without(DropNote(1, "they use SQLite now")).notes
    ()
    """

    notes: tuple[Note, ...] = ()
    last_number: int = 0

    @reducer(on=NoteWritten)
    def with_written(self, event: NoteWritten) -> "Notebook":
        """The notebook with one more note."""
        number = self.last_number + 1
        note = Note(number, event.text, event.topic, event.written)
        return replace(self, notes=(*self.notes, note), last_number=number)

    @reducer(on=DropNote)
    def without(self, event: DropNote) -> "Notebook":
        """The notebook without one note; its number is not given out again."""
        return replace(
            self, notes=tuple(note for note in self.notes if note.number != event.number)
        )

    def note(self, number: int) -> Note | None:
        """The note of this number, if it is there."""
        return next((note for note in self.notes if note.number == number), None)

    def find(self, words: Iterable[str]) -> tuple[Note, ...]:
        """The notes that all the words occur in, oldest first."""
        words = tuple(words)
        return tuple(note for note in self.notes if note.is_about(words))
