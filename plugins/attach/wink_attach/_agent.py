"""What an agent is to wink: how its hooks are configured, how its events map to calls, how it is answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, Protocol, runtime_checkable

from wink.tools import Effects

Kind = Literal["start", "turn", "before", "after", "batch", "idle", "end", "other"]
"""What an event tells: a session has started, a person has asked for something, a call is about to run, has ended, several
have ended, the agent has nothing more to do, its session has ended, or something that needs no notice."""

Action = Literal["allow", "deny", "ask"]
"""What policies say of a call."""


class Event(NamedTuple):
    """One event of an agent. What it does not say is empty.

    `call_id` is the same before and after a call. `failure` says in words that a call failed, `reply` what it came to.
    `calls` are the ids of a batch. `is_moved_on` tells that the call goes on in the background after it has ended. `directory`
    is where the agent works, from which relative paths lead. `mark` is the agent's own id of a turn, by which it can come back.
    """

    kind: Kind
    session: str = ""
    call_id: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] = {}
    reply: str = ""
    failure: str = ""
    prompt: str = ""
    subagent: str = ""
    calls: tuple[str, ...] = ()
    is_moved_on: bool = False
    directory: str = ""
    mark: str = ""


class Meaning(NamedTuple):
    """What a call of an agent's own tool is to rules: a tool of wink's that does the same, where there is one, and its effects.

    `also` is what it is besides, and what denies one of them denies the call. `doubt` says in words that it does more to files
    than could be read out of it: where a rule is about paths it is denied then.
    `shows` is set where it shows lines of whatever files it finds: the directory or file it looks into, empty for where the
    agent works, and a glob that those files fit, empty for all. `unseen` says in words that it does what no event tells of: where
    rules deny or ask it is denied.
    """

    tool: str
    effects: Effects
    arguments: Mapping[str, Any]
    also: tuple[Meaning, ...] = ()
    doubt: str = ""
    shows: tuple[str, str] | None = None
    unseen: str = ""


class Verdict(NamedTuple):
    """What the policies say of a call, and why, for the model."""

    action: Action = "allow"
    reason: str = ""
    policy: str = ""


class Edit(NamedTuple):
    """What a file of an agent's configuration holds, None where there is none, and what it is to hold, None for no file.

    One that `is_beneath` lies in the workspace, where nothing is written through links. `memory` is what is to be known, when
    the hooks are taken out again, of how it was.
    """

    path: str
    before: str | None
    after: str | None
    is_beneath: bool = False
    memory: str = ""


class Scope(NamedTuple):
    """Where hooks are to be written: `root` is the workspace, None for all projects of the user."""

    root: str | None
    home: str
    environ: Mapping[str, str]


class Agent(Protocol):
    """An agent that can be attached: what a factory of an entry point in `wink.agents` gives."""

    @property
    def name(self) -> str:
        """What `wink attach` calls it: lower-case words joined by `-`."""
        ...

    @property
    def asks(self) -> bool:
        """Whether it has a dialog that shows a person what a policy asks about, and takes a denial for it elsewhere."""
        ...

    def event(self, payload: Mapping[str, Any]) -> Event:
        """Read what a hook was given; what is not known is `other`. Nothing in it can be trusted."""
        ...

    def meaning(self, event: Event) -> Meaning:
        """What a call is to rules."""
        ...

    def answer(self, event: Event, verdict: Verdict, note: str) -> bytes:
        """What the hook prints, with a `note` for the model where the event takes one; empty for nothing to say."""
        ...

    def attach(self, scope: Scope, command: Command) -> Edit:
        """The configuration with wink's hooks in it; the same as before where they are there. Raises `WrongInput`."""
        ...

    def detach(self, scope: Scope) -> Edit:
        """The configuration without wink's hooks. Raises `WrongInput`."""
        ...

    def once(
        self, scope: Scope, command: Command, place: str, words: Sequence[str]
    ) -> tuple[Sequence[str], Mapping[str, str]]:
        """The command line `words` that starts the agent, changed so that this run has wink's hooks, and variables to set.

        `place` is the path of a file that may be written for it, and is this user's alone. Raises `WrongInput` where there is no way.
        """
        ...


@runtime_checkable
class Trusting(Protocol):
    """An agent that skips hooks until the user trusts them; what `Agent` has besides, where that can be settled from outside."""

    def untrusted(self, scope: Scope) -> list[tuple[str, str]]:
        """The hooks of wink's that are skipped, by key and hash; raises `WrongInput`."""
        ...

    def trust(self, scope: Scope, hooks: Sequence[tuple[str, str]]) -> None:
        """Let the agent run these from now on; raises `WrongInput`."""
        ...


class Resumption(NamedTuple):
    """The command line that goes on with a conversation at a moment, and what is to be known of it besides, if anything.

    It is not `ready` where something is missing in it that the person has to give, as `note` says.
    """

    words: tuple[str, ...]
    note: str = ""
    is_ready: bool = True


@runtime_checkable
class Resuming(Protocol):
    """An agent whose conversation can be taken back to a moment from outside; what `Agent` has besides."""

    def resumed(
        self, scope: Scope, conversation: str, kept: str, gone: str, words: Sequence[str], *, in_place: bool
    ) -> Resumption:
        """What goes on after the turn marked `kept`, without the one marked `gone` that came next, and all after it.

        In a copy of the conversation, or `in_place`; `words` are the person's, for the end of the command line. Raises
        `WrongInput` where there is no way back.
        """
        ...


@runtime_checkable
class Limited(Protocol):
    """An agent with which not everything is possible; what `Agent` has besides."""

    @property
    def limits(self) -> Sequence[str]:
        """What is not, one line each, for whoever attaches it."""
        ...


class Command(Protocol):
    """The command line of a hook, quoted for a shell."""

    def __call__(self, agent: str, event: str, root: str | None) -> str:
        """For one event of an agent; `root` is the workspace, None where the agent says where it works."""
        ...


NOTHING: Final = Verdict()
"""No policy has anything against it."""


def text(value: object, most: int = 1 << 16) -> str:
    """A value that should be text, as such and not longer than `most` characters."""
    return value[:most] if isinstance(value, str) else ""


def mapping(value: object) -> Mapping[str, Any]:
    """A value that should be an object, as such."""
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]
