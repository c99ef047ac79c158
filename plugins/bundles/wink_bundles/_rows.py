"""What one session is in a bundle: its rows, the same for whoever writes and for whoever reads one."""

from __future__ import annotations

from typing import Any, Final, Literal

from wink.dataclass import dataclass
from wink.transactions import Outcome

FORMAT: Final = 4
"""The format of bundles; those of format 1 lack what models said, those of format 2 digests, and those of format 3 the chain."""

Kind = Literal["file", "directory", "link", "other"]


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a change; `content` is text of up to 16 MiB, with secrets masked, `digest` the SHA-256 of what is not there."""

    kind: Kind
    size: int
    mode: int
    target: str | None
    content: str | None
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """What a call did to one path."""

    path: str
    moved_from: str | None
    before: Side | None
    after: Side | None


@dataclass(frozen=True, slots=True)
class Call:
    """A call under its own number; times in microseconds. Calls inside another one share its transaction and changes."""

    number: int
    transaction: int
    committed: bool
    call_id: str
    tool: str
    prompt: str
    outcome: Outcome
    started_at: int
    duration: int
    effects: str
    run: str
    approval: int
    error: str | None
    arguments: str
    reply: str
    decisions: tuple[tuple[str, bool, str | None, bool], ...]
    changes: tuple[Change, ...]
    takes_back: tuple[int, ...]
    plugin: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened beside calls."""

    number: int
    position: int
    at: int
    kind: str
    run: int
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as a run was sent it."""

    number: int
    position: int
    at: int
    prompt: str
    text: str
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """What a model said in one turn of a run."""

    number: int
    position: int
    at: int
    model: str
    text: str
    thinking: str
    note: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int


@dataclass(frozen=True, slots=True)
class Run:
    """A run with its prompts, and what the model said."""

    number: int
    plan: str
    state: Literal["running", "suspended", "stopped", "ended"]
    problem: str
    started_at: int
    changed_at: int
    attempt: int
    turns: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    prompts: tuple[Prompt, ...]
    said: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class Slice:
    """What a session holds of one type, as JSON."""

    type: str
    policy: str
    items: tuple[tuple[str | None, str], ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an entry: its text and its salt, where the text is empty for one that stands with a call, or only the commitment."""

    commitment: str = ""
    salt: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """An entry of the record's chain, of whichever session: its position, its hash, and its pieces; of the first only the hash."""

    position: int
    entry: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Member:
    """A file in a bundle."""

    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What the git history in a bundle does not have, and why."""

    call: int
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a bundle says of itself; `created_at` and `exported_at` in microseconds."""

    format: int
    wink: str
    session: str
    session_id: str
    created_at: int
    exported_at: int
    calls: int
    files: dict[str, Member]
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True, slots=True)
class Exported:
    """One session with all that is told of it."""

    session: str
    session_id: str
    created_at: int
    calls: tuple[Call, ...]
    events: tuple[Event, ...]
    runs: tuple[Run, ...]
    slices: tuple[Slice, ...]
    chain: tuple[Link, ...] = ()
