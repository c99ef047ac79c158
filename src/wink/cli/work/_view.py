"""Put what happens in a run into lines for a person."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Literal

from wink.adapters import ModelReplied, ModelTold, RequestFailed
from wink.cli._changed import source_first
from wink.cli._masked import masked_lines
from wink.cli._shorten import arguments, changed_lines, counts, diff_lines, fit, visible
from wink.cli._standing import shown_path
from wink.cli.work._story import Began, Differs, Ended, Suggested, TestsRan
from wink.dataclass import dataclass, replace
from wink.filesystem import FileChange
from wink.record import Role, role_of, word_of
from wink.runtime import ApprovalRequested, ToolInvoked

Tone = Role | Literal["plain", "title", "added", "removed", "place"]

WIDTH: Final = 100
"""How many columns lines take where nobody says how many there are."""
LABEL: Final = 13
"""The columns of the word at the beginning of a line, with the space after it."""
COMPLAINT_LINES: Final = 12
"""How many lines of a reply that says what is wrong are shown."""
FAILURES: Final = 5
"""How many of the tests that failed are named."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is shown: lines of one reply, changed lines of one call, and what is the same in no two runs."""

    reply: int = 6
    diff: int = 20
    times: bool = True


USUAL: Final = Limits()


@dataclass(frozen=True, slots=True)
class Line:
    """One line of output, and how it wants to look where there are colours.

    `label` is the word in front, in a column of its own; `aside` follows the text, for whoever looks closely.
    """

    text: str = ""
    tone: Tone = "plain"
    label: str = ""
    label_tone: Tone = "title"
    aside: str = ""

    def __str__(self) -> str:
        if not self.label:
            return f"{self.text}{self.aside and '  ' + self.aside}"
        return f"{self.label:<{LABEL}}{self.text}{self.aside and '  ' + self.aside}".rstrip()


def lines_of(event: object, *, width: int = WIDTH, limits: Limits = USUAL) -> tuple[Line, ...]:
    """What a person is shown of an event, with secrets masked; nothing for events that say nothing to a person."""
    width = max(width, 3 * LABEL)
    if isinstance(event, ToolInvoked):
        lines = tuple(_call(event, width - LABEL, limits))
    else:
        tell = _TELL.get(type(event))
        lines = () if tell is None else tuple(tell(event, width))
    texts, asides = masked_lines(line.text for line in lines), masked_lines(line.aside for line in lines)
    return tuple(replace(line, text=text, aside=aside) for line, text, aside in zip(lines, texts, asides, strict=True))


def ending(event: ToolInvoked) -> tuple[str, Tone]:
    """The word for how a call ended, as the record has it, and how it wants to look."""
    word = word_of(event.outcome or ("committed" if event.success else "rolled back"))
    return word, role_of(word)


def milliseconds(event: ToolInvoked) -> float:
    """How long a call took."""
    return event.duration.total_seconds() * 1000


def _model(event: ModelReplied, width: int) -> Iterable[Line]:
    if not event.turn.text.strip():
        return
    yield Line()
    label = "model"
    for paragraph in event.turn.text.strip().split("\n"):
        for text in textwrap.wrap(visible(paragraph), width - LABEL) or [""]:
            yield _beside(text, "title") if not label else Line(text, "title", label, "place")
            label = ""


def _told(event: ModelTold, width: int) -> Iterable[Line]:
    """What the run itself says to the model; only its first lines, since nobody here has to act on it."""
    texts = [text for text in event.note.splitlines() if text.strip()]
    yield Line(fit(texts[0], width - LABEL) if texts else "", "quiet", "told", "warning")
    yield from (_beside(fit(text, width - LABEL), "quiet") for text in texts[1:3])


def _failed(event: RequestFailed, width: int) -> Iterable[Line]:
    again = "" if event.retry_in is None else f"again in {event.retry_in:.1f} s" if event.retry_in else "again at once"
    yield Line(fit(event.problem, width - LABEL - len(again) - 2), "plain", "request", "warning", again)


def _call(event: ToolInvoked, room: int, limits: Limits) -> Iterable[Line]:
    word, tone = ending(event)
    name, took = fit(event.name, room), f"{milliseconds(event):.1f} ms" if limits.times else ""
    given = arguments(event.params, room - len(name) - len(took) - 4)
    yield Line(f"{name}  {given}".rstrip(), "plain", word, tone, took)
    if event.success:
        yield from _reply(event, room, limits.reply)
    else:
        yield from _complaint(event, room, tone)
    if event.change:
        if event.change.rolled_back:
            yield _beside("taken back; nothing of this stayed:", "warning")
        yield from _what_changed(event.change.files, room, limits.diff)


def _reply(event: ToolInvoked, room: int, limit: int) -> Iterable[Line]:
    lines = [text for text in event.rendered_output.splitlines() if text.strip()]
    if event.change:
        # What it did is shown below; a first line that only announces the rest has nothing to add.
        lines, limit = [text for text in lines[:1] if not text.rstrip().endswith(":")], 1
    shown = lines if len(lines) <= limit else lines[: max(limit - 2, 1)]
    yield from (_beside(fit(text, room), "quiet") for text in shown)
    if len(shown) < len(lines) and limit > 1:
        yield _beside(f"… {len(lines) - len(shown)} more lines", "quiet")


def _complaint(event: ToolInvoked, room: int, tone: Tone) -> Iterable[Line]:
    """What went wrong, not cut short, unless it is a page long."""
    texts = [text for line in event.rendered_output.splitlines() for text in textwrap.wrap(visible(line), room)]
    yield from (_beside(text, tone) for text in texts[:COMPLAINT_LINES])
    if len(texts) > COMPLAINT_LINES:
        yield _beside(f"… {len(texts) - COMPLAINT_LINES} more lines", "quiet")


def _what_changed(changes: Sequence[FileChange], room: int, limit: int) -> Iterable[Line]:
    """The changed lines of each file; when there are many, each file gets its share."""
    share = max(limit // len(changes), 2)
    left = limit
    from wink.filesystem.diffs import file_diffs

    for index, diff in enumerate(file_diffs(changes)):
        if left <= 0:
            yield _beside(f"… {len(changes) - index} more files", "quiet")
            return
        lines = changed_lines(diff)
        yield _beside(f"{fit(shown_path(diff.new_path), room - 16)}  {counts(diff)}".rstrip(), "place")
        shown = lines if len(lines) <= share + 1 else lines[:share]
        yield from (_beside(fit(text, room), _tone_of_change(text)) for text in shown)
        if len(shown) < len(lines):
            yield _beside(f"     … {len(lines) - len(shown)} more lines", "quiet")
        left -= len(shown)


def _began(event: Began, width: int) -> Iterable[Line]:
    yield Line(visible(event.title), "title", aside=event.details)
    yield Line(f"  {visible(event.directory)}", "quiet")
    yield from (
        Line(text)
        for text in textwrap.wrap(visible(event.task), width - 2, initial_indent="  ", subsequent_indent="  ")
    )


def _requested(event: ApprovalRequested, width: int) -> Iterable[Line]:
    request = event.request
    room = width - LABEL
    given = arguments(json.loads(request.arguments), room - len(request.tool) - len(request.id) - 4)
    yield Line(fit(f"{request.id}  {request.tool}  {given}", room), "plain", "asked", "warning")
    yield from (_beside(text, "warning") for text in textwrap.wrap(visible(request.reason), room))


def _tests(event: TestsRan, width: int) -> Iterable[Line]:
    yield Line()
    tone: Tone = "good" if event.passed else "bad"
    yield Line(fit(event.outcome, width - LABEL), "plain", f"tests {'pass' if event.passed else 'fail'}", tone)
    yield from (_beside(fit(text, width - LABEL), "quiet") for text in event.failures[:FAILURES])
    if len(event.failures) > FAILURES:
        yield _beside(f"… {len(event.failures) - FAILURES} more", "quiet")


def _ended(event: Ended, width: int) -> Iterable[Line]:
    yield Line()
    yield Line(fit(_paths(event.changes), width - LABEL) or "nothing", "title", "changed", "title")
    if event.repository is not None:
        is_safe = event.repository == "untouched"
        yield Line(event.repository, "good" if is_safe else "bad", ".git", "title")


def _differs(event: Differs, width: int) -> Iterable[Line]:
    """The whole unified diff, each line as it is, but for the space that an empty line of context is marked with."""
    del width
    yield Line()
    from wink.filesystem.diffs import diff_text

    for text in diff_lines(diff_text(event.changes)):
        yield Line("" if text == " " else visible(text), _tone_of_diff(text))


def _suggested(event: Suggested, width: int) -> Iterable[Line]:
    del width
    yield Line()
    yield Line("Try next", "title")
    wide = max((len(command) for command, shows in event.commands if shows), default=0)
    for command, shows in event.commands:
        yield Line(f"  {visible(command):<{wide if shows else 0}}", aside=shows)


_TELL: Final[dict[type, Callable[[Any, int], Iterable[Line]]]] = {
    Began: _began,
    ApprovalRequested: _requested,
    TestsRan: _tests,
    ModelReplied: _model,
    ModelTold: _told,
    RequestFailed: _failed,
    Ended: _ended,
    Differs: _differs,
    Suggested: _suggested,
}


def _beside(text: str, tone: Tone) -> Line:
    """A line without a word in front."""
    return Line(text, tone, " ")


def _paths(changes: Sequence[FileChange]) -> str:
    names = ", ".join(shown_path(change.path) for change in source_first(changes)[:5])
    return names if len(changes) <= 5 else f"{names} and {len(changes) - 5} more"


def _tone_of_change(text: str) -> Tone:
    sign = text[5:6]
    return "added" if sign == "+" else "removed" if sign == "-" else "plain"


def _tone_of_diff(text: str) -> Tone:
    if text.startswith(("+++", "---", "diff --git ")):
        return "quiet"
    if text.startswith("@@"):
        return "place"
    if text.startswith("+"):
        return "added"
    return "removed" if text.startswith("-") else "plain"
