"""The notes as a page for people, in a file that may hold more than them."""

from itertools import groupby

from wink import Filesystem, ToolValidationError

from wink_notes._notebook import Notebook

BEGIN = (
    "<!-- notes of the agent: what stands between these marks is written anew with every note -->"
)
END = "<!-- end of the notes of the agent -->"


def page(notebook: Notebook) -> str:
    """The notes in Markdown, by topic, those without a topic first.

    >>> from wink_notes._notebook import NoteWritten
    >>> print(page(Notebook().with_written(NoteWritten("Dates are in UTC", "api", "2026-11-22"))))
    # Notes
    <BLANKLINE>
    ## api
    <BLANKLINE>
    1. Dates are in UTC (2026-11-22)
    """
    lines = ["# Notes"]
    by_topic = sorted(notebook.notes, key=lambda note: (note.topic, note.number))
    for topic, notes in groupby(by_topic, key=lambda note: note.topic):
        lines += ["", f"## {topic}", ""] if topic else [""]
        for note in notes:
            text = " ".join(note.text.split())
            lines.append(f"{note.number}. {text}" + (f" ({note.written})" if note.written else ""))
    # What is noted is text: a mark in it would end the notes for whoever reads the page next.
    return "\n".join(lines).replace("<!--", "&lt;!--")


def write_page(files: Filesystem, path: str, notebook: Notebook) -> None:
    """Put the notes between the marks in a file, which is made if need be; all else in it stays.

    It is one of the changes of the call: when the call is undone, so is the page.
    """
    if not path:
        return
    before, after = _around(files, path)
    files.write(path, f"{before}{BEGIN}\n{page(notebook)}\n{END}\n{after}")


def _around(files: Filesystem, path: str) -> tuple[str, str]:
    if not files.exists(path):
        return "", ""
    try:
        text = files.read_bytes(path).decode()
    except UnicodeDecodeError:
        raise ToolValidationError(
            f"{path} is not UTF-8 text, so that no notes can be put into it"
        ) from None
    before, begin, rest = text.partition(BEGIN + "\n")
    _, end, after = rest.partition(END + "\n")
    if begin and end:
        return before, after
    if BEGIN in text or END in text:
        raise ToolValidationError(
            f"the marks around the notes in {path} are damaged; fix or remove them"
        )
    return (text if text.endswith("\n") or not text else text + "\n") + ("\n" if text else ""), ""
