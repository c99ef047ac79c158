"""Say which call wrote each line of a file, from the record and from what it keeps of what calls replaced.

The contents of the file are gone through from the newest to the oldest: what one has and the one before it lacks was written
in between, by the call that made the one of the other, or by somebody else where no call did. Rules of this module:

* What an undo, a redo or a restore brought back is the work of whoever wrote it first.
* A content that is not kept is skipped, and what may have been written by several is told as that.
* A content that was put together from a call's arguments counts where it has the SHA-256 that the record knows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, cast

from wink.errors import WinkError
from wink.filesystem import COMPARED_BYTES, FileVersion, quoted_path, workspace_path
from wink.filesystem.diffs import FileDiff, changed_blocks, lines_of
from wink_history._path_history import NOTHING, PathHistories

if TYPE_CHECKING:
    from wink.filesystem.diffs import Block
    from wink.record import CallView, Turn
    from wink.workspace import Workspace
    from wink_history._path_history import PathHistory

_BETWEEN: Final = "between"
"""The tool of a call that stands for what somebody changed while no call of an attached agent was open."""
_GUESSED: Final = "guessed"


class BlameError(WinkError):
    """It cannot be said who wrote the lines of `path`; `reason` goes on after the path, and says why."""

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(path, reason)

    def __str__(self) -> str:
        return f"{quoted_path(self.path or '.')} {self.reason}"


class Author(NamedTuple):
    """Who wrote a line.

    `call` did where `by` is `"call"`; with `is_guess` it may be another's that ran at the same time, and with that somebody may be a call. `"others"` is somebody who
    is no call, after one call and before another, each by its number; None for `after` is before them all, and for `before`
    until now. `"before"` is before wink had to do with the file, or before the call `before`, the first that is kept.
    `"unknown"` is one of `calls`, or somebody in the same sense: what the file was in between is not kept. `turn` is the turn
    of an attached agent that the call belongs to, and `tried` the name of the try that it accepted.
    """

    by: Literal["call", "others", "before", "unknown"]
    call: CallView | None = None
    after: int | None = None
    before: int | None = None
    calls: tuple[int, ...] = ()
    turn: Turn | None = None
    tried: str | None = None
    is_guess: bool = False

    @property
    def name(self) -> str:
        """Which call, as `c7`; of several with a question mark each."""
        if self.by == "unknown":
            first, *others = (f"c{number}?" for number in sorted(self.calls))
            return first if not others else f"{first}-{others[-1]}"
        return f"c{self.calls[0]}" if self.by == "call" else ""

    @property
    def told(self) -> str:
        """The rest, in words."""
        if self.by == "before":
            return "before wink" if self.before is None else f"before c{self.before}"
        guess = ", guessed" if self.is_guess else ""
        if self.call is None or self.by != "call":
            return ("or " if self.by == "unknown" else "") + self._somebody + guess
        if self.turn is not None:
            return f"{self.turn.agent}, turn {self.turn.number}: {self.call.tool}{guess}"
        if self.tried is not None:
            return f"{self.call.tool} of the try {self.tried}{guess}"
        of = f"run {self.call.run}: " if self.call.run else ""
        of = of or (f"{self.call.session}: " if self.call.session != "default" else "")
        return f"{of}{self.call.tool}{guess}"

    @property
    def _somebody(self) -> str:
        if self.after is None and self.before is None:
            return "no call" if self.by == "others" else "somebody"
        if self.after is None or self.before is None:
            return f"somebody since c{self.after}" if self.before is None else f"somebody before c{self.before}"
        return f"somebody between c{self.after} and c{self.before}"


class Line(NamedTuple):
    """A line of a file with who wrote it; `number` counts from 1, `text` has its newline."""

    number: int
    text: bytes
    author: Author


def blame(
    workspace: Workspace, path: str, *, at: int | None = None, first: int = 1, last: int | None = None
) -> tuple[Line, ...]:
    """The lines of a file from one number to another, each with who wrote it: as it is now, or as it was after the call `at`.

    Raises `BlameError` for what has no such lines, and for a content that is not kept; `PathRefused` and `UnknownCall`.
    """
    path = str(workspace_path(path))
    with PathHistories(workspace) as histories:
        history = histories.of(path)
        content, change = _beginning(workspace, history, at)
        lines = lines_of(content)
        last = len(lines) if last is None else last
        if not 1 <= first <= max(last, 1) or last > len(lines):
            line = f"{len(lines)} line{'' if len(lines) == 1 else 's'}"
            raise BlameError(path, f"has {line}, and no line {last if last > len(lines) else first}")
        walk = _Walk(content, len(lines), first - 1, last)
        _go_back(walk, histories, history, change, _Authors(workspace, histories))
    return tuple(Line(one + 1, lines[one], walk.found[one]) for one in range(first - 1, last))


def _beginning(workspace: Workspace, history: PathHistory, at: int | None) -> tuple[bytes, int]:
    """The content that is asked for, and the number of the change that it came after."""
    path, change = history.path, len(history) - 1
    until = None if at is None else workspace.call(at).transaction
    if at is None and workspace.record.imported is None:
        try:
            version = history.present
        except OSError as error:
            raise BlameError(path, f"cannot be read: {error.strerror}") from error
        if version is None and change < 0:
            raise BlameError(path, "is not there, and no call has changed it")
        if version is None:
            raise BlameError(
                path, f"is not there; c{history.number(change)} changed it last: --at names an earlier call"
            )
        return _text(path, version, history.found(len(history))), change
    if change < 0:
        raise BlameError(path, "was changed by no call, so that only what it is now is known; leave --at away")
    if until is not None:
        change = history.last_until(until)
    version = history.version(max(change, 0), is_left=change >= 0)
    if version is None:
        raise BlameError(path, f"was not there after c{at}" if at is not None else "is not there")
    return _text(path, version, history.left(change) if change >= 0 else history.found(0)), change


def _text(path: str, version: FileVersion, content: bytes | None) -> bytes:
    """The content of a text; raises `BlameError` for anything else."""
    if version.kind == "directory":
        raise BlameError(path, "is a directory; name a file in it")
    if version.kind != "file":
        raise BlameError(path, "is a link, and has no lines" if version.kind == "link" else "is no file")
    if version.size > COMPARED_BYTES:
        raise BlameError(path, f"has {version.size} bytes, and lines are compared up to {COMPARED_BYTES}")
    if content is None:
        raise BlameError(path, "cannot be read, or is not kept as it was then")
    whole = FileVersion("file", len(content), 0o644, load=lambda: content)
    if content and not FileDiff(path, path, None, whole).is_text:
        raise BlameError(path, "is no text, and has no lines")
    return content


def _go_back(walk: _Walk, histories: PathHistories, history: PathHistory, change: int, authors: _Authors) -> None:
    """Give every line its author, from the last change of the file back to the first."""
    # Which calls may have written what the content has and the next older one that is kept lacks, and who found the content.
    calls: list[int] = []
    before: int | None = None
    while walk.left:
        if change < 0:
            walk.become(NOTHING, partial(authors.first, calls, before, is_changed=len(history) > 0))
            return
        number = history.number(change)
        left = history.left(change, walk.content)
        if left is not None:
            walk.become(left, partial(authors.others, calls, number, before))
            calls, before = [], number
        came_from, last = histories.before(history, change)
        found = came_from.found(last)
        is_back = came_from is history and last < change
        if found is None and left is not None and is_back and came_from.is_of_size(last, len(left)):
            found = left  # what the change brought back
        history, change = came_from, last
        calls.append(number)
        if found is not None:
            is_alone = left is not None
            who = partial(authors.call, number) if is_alone else partial(authors.others, calls, number, before)
            walk.become(found, who)
            calls, before = [], history.number(change)
        change -= 1


class _Authors:
    """Makes authors, each once."""

    def __init__(self, workspace: Workspace, histories: PathHistories) -> None:
        self._histories = histories
        kept = workspace.record.forgetting.first()
        self._first = kept[0] if kept is not None and kept[0] > 1 else None
        self._turns = {one.run: one for one in workspace.record.queries.turns()}
        self._calls: dict[int, Author] = {}

    def call(self, number: int) -> Author:
        """The call of a number; somebody, where it only tells of what somebody did."""
        if number not in self._calls:
            self._calls[number] = self._made(number)
        return self._calls[number]

    def others(self, calls: Sequence[int], after: int, before: int | None) -> Author:
        """Somebody who is no call, or one of the calls that cannot be told from them."""
        return Author("unknown" if calls else "others", None, after, before, tuple(calls))

    def first(self, calls: Sequence[int], before: int | None, *, is_changed: bool) -> Author:
        """Whoever wrote what the first call found; of a file that calls have not changed nobody knows whether that was before wink."""
        if calls:
            return Author("unknown", None, None, before, tuple(calls))
        return Author("before" if is_changed or self._first is not None else "others", before=self._first)

    def _made(self, number: int) -> Author:
        call = self._histories.call(number)
        if call is None:
            return Author("unknown", None, None, None, (number,))
        is_guess = (call.error or "").startswith(_GUESSED)
        if call.tool == _BETWEEN and call.transaction_id.startswith(f"{_BETWEEN}-"):
            return Author("others", call, call.position - 1 or None, call.position, is_guess=is_guess)
        tried = None
        if call.tool == "accept" and call.transaction_id.startswith("accept-"):
            said = call.values
            tried = str(cast("Mapping[str, Any]", said).get("try", "")) if isinstance(said, Mapping) else ""
        return Author("call", call, None, None, (number,), self._turns.get(call.run), tried, is_guess)


class _Walk:
    """The lines that are asked for, while the content that they are in becomes older."""

    def __init__(self, content: bytes, length: int, first: int, last: int) -> None:
        self.content = content
        # By line of the content as it is by now: which line that is asked for it is.
        self._asked: list[int | None] = [at if first <= at < last else None for at in range(length)]
        self.left = last - first
        self.found: dict[int, Author] = {}

    def become(self, older: bytes, who: Callable[[], Author]) -> None:
        """Go back to an older content; the lines that it lacks are those of `who`, which is asked if there are any."""
        wrote: list[int] = []
        for block in reversed(_blocks(older, self.content)):
            wrote += [at for at in self._asked[block.new : block.new_end] if at is not None]
            self._asked[block.new : block.new_end] = [None] * (block.old_end - block.old)
        if wrote:
            self.found.update(dict.fromkeys(wrote, who()))
            self.left -= len(wrote)
        self.content = older


def _blocks(old: bytes, new: bytes) -> list[Block]:
    """How one text becomes the other, by lines; what is alike at both ends is passed over without being split."""
    if old == new:
        return []
    most = min(len(old), len(new))
    start = old.rfind(b"\n", 0, _alike(old, new, most)) + 1
    most -= start
    end = _alike(old, new, most, from_end=True)
    whole = old.find(b"\n", len(old) - end) + 1 if end else 0
    end = len(old) - whole if whole else 0
    before = old.count(b"\n", 0, start)
    inner = changed_blocks(lines_of(old[start : len(old) - end]), lines_of(new[start : len(new) - end]))
    return [type(one)(*(number + before for number in one)) for one in inner]


def _alike(one: bytes, other: bytes, most: int, *, from_end: bool = False) -> int:
    """How many of at most so many bytes are alike at the beginning, or at the end; halves are compared, not bytes."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if from_end:
            is_same = one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]
        else:
            is_same = one[low:middle] == other[low:middle]
        low, high = (middle, high) if is_same else (low, middle - 1)
    return low
