"""Turn the events of agents into turns and calls: what is open, what belongs to whom, what is a guess.

* A call is open from its before-event on. Many never get another one: whatever comes next of its session settles it, or the end
  of the agent's process.
* While several are open, nobody can tell who wrote what. A path that one of the others names is left to that; everything else
  goes to the call that ends, as a guess, and the record says so.
* What has changed while none was open is nobody's call: it is recorded as what happened between two. Where the session has a
  command running in the background it may be that one's: it stands in its turn, and is not taken back with it.
* A call whose beginning or end nobody has heard of was not alone for long: a person has worked meanwhile. So has one who was
  asked whether a file may be written. Such a call gets the paths that it names, and the rest is nobody's.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import count
from typing import Any, Final

from wink.dataclass import dataclass, field
from wink.limits import utc_now
from wink.workspace import Workspace
from wink_attach._agent import NOTHING, Agent, Event, Meaning, Verdict
from wink_attach._baseline import Entry
from wink_attach._judge import Judge
from wink_attach._keeper import Difference, Keeper
from wink_attach._naming import named_paths
from wink_attach._recorder import Recorder, Told

BETWEEN: Final = "between"
"""What stands in the record for the tool of a change that no call has made."""

_GUESSED: Final = "guessed"
_UNSETTLED: Final = "the agent told nothing of its end"
_UNSEEN: Final = "its beginning was not seen"
_SHOWN: Final = 20
_LONGEST: Final = 1 << 16
_UUID: Final = 36
_WHOLE: Final = 12
"""Characters that an id may have to be taken whole: goose counts its sessions of a day, as in `20261122_1`."""
_WAIT: Final = 1.5
"""Seconds that a call waits for the first look at the files, so that what it changes can be taken back."""


@dataclass(slots=True)
class Open:
    """A call that has begun and of whose end nobody has heard."""

    key: str
    agent: str
    session: str
    call_id: str
    tool: str
    arguments: str
    effects: str
    run: str
    subagent: str
    started: datetime
    pid: int = 0
    overlapped: bool = False
    named: Sequence[str] = ()
    met: Mapping[str, Entry | None] = field(default_factory=dict[str, "Entry | None"])
    """What had changed, while calls of other sessions were open, when it began."""

    def names(self, path: str) -> bool:
        """Whether its arguments name a path."""
        return path in self.named

    def has_met(self, one: Difference) -> bool:
        """Whether this was so when it began."""
        if one.path not in self.met:
            return False
        before = self.met[one.path]
        return before == one.after or (before is not None and one.after is not None and before.is_same_as(one.after))

    def own(self, found: Sequence[Difference]) -> list[Difference]:
        """What it names, the directories made on the way there, and what was in those that are gone."""
        named = [one for one in found if self.names(one.path)]
        gone = [f"{one.path}/" for one in named if one.after is None or not one.after.status.is_directory]
        on_the_way = {one.path[:at] for one in named for at, sign in enumerate(one.path) if sign == "/"}
        return [
            one
            for one in found
            if self.names(one.path)
            or (one.before is None and one.path in on_the_way)
            or (one.after is None and one.path.startswith(tuple(gone)))
            or (one.is_beside and any(path.startswith(f"{one.path}/") for path in self.named))
        ]


@dataclass(slots=True)
class _Session:
    """What is known of an agent's session."""

    run: str = ""
    background: set[str] = field(default_factory=set[str])


class Calls:
    """What the agents attached to one workspace are doing."""

    def __init__(self, workspace: Workspace, keeper: Keeper, judge: Judge, recorder: Recorder) -> None:
        self._workspace, self._keeper, self._judge, self._recorder = workspace, keeper, judge, recorder
        self._sessions: dict[str, _Session] = {}
        self._open: dict[str, Open] = {}
        self._ended: deque[str] = deque(maxlen=256)
        for known in keeper.baseline.calls():
            known["started"] = datetime.fromisoformat(known["started"])
            one = Open(**known)
            self._open[one.key] = one

    @property
    def open(self) -> Sequence[Open]:
        """The calls that are open."""
        return tuple(self._open.values())

    def heard(self, agent: Agent, payload: Mapping[str, Any], pid: int) -> bytes:
        """Take one event, and give what its hook is to print."""
        event = agent.event(payload)
        session = session_name(agent.name, event.session)
        if event.kind in ("start", "turn"):
            self.settle_dead()
        match event.kind:
            case "before":
                return self._before(agent, event, session, pid)
            case "after":
                self._after(agent, event, session)
            case "batch":
                self._settle(
                    [one for one in self._open.values() if one.session == session and one.call_id in event.calls]
                )
            case "turn" if not event.subagent:  # what an agent tells another one is no prompt of the person's
                return self._turn(agent, event, session)
            case "idle":
                self._settle(
                    [one for one in self._open.values() if (one.session, one.subagent) == (session, event.subagent)]
                )
            case "end":
                self._settle([one for one in self._open.values() if one.session == session])
                self._between(session)
                self._sessions.pop(session, None)
            case "start" | "turn" | "other":
                if not self._writing():
                    self._between(session)
        return agent.answer(event, NOTHING, "")

    def settle_dead(self) -> None:
        """Settle the calls of agents whose process has ended."""
        self._settle([one for one in self._open.values() if one.pid and not os.path.exists(f"/proc/{one.pid}")])

    def between(self) -> None:
        """Record what has changed while no call was open."""
        if not self._writing():
            self._between("default")

    # -- events

    def _turn(self, agent: Agent, event: Event, session: str) -> bytes:
        self._settle([one for one in self._open.values() if one.session == session])
        if not self._writing():
            self._between(session)
        known, baseline = self._session(session), self._keeper.baseline
        told = baseline.fact(f"told:{session}")  # kept, since a session that has ended may go on, before another helper
        position, paths = (self._recorder.position(), ()) if told is None else self._recorder.taken_back(int(told))
        baseline.note(f"told:{session}", str(position))
        known.background = set()
        number = self._workspace.record.turn(
            session, agent.name, event.prompt, conversation=event.session, mark=event.mark
        )
        known.run = f"t{number}"
        return agent.answer(event, NOTHING, _taken_back(paths))

    def _before(self, agent: Agent, event: Event, session: str, pid: int) -> bytes:
        if not self._writing():
            self._between(session)
        meaning = agent.meaning(event)
        verdict = self._judge.check(event, meaning, session)
        if verdict.action == "ask" and not agent.asks:
            verdict = Verdict(
                "deny", f"{verdict.reason}; it needs a person's approval, which cannot be had here", verdict.policy
            )
        one = self._opened(agent, event, meaning, session, pid)
        if one.key in self._open:
            if event.call_id:
                return agent.answer(event, verdict, "")  # told twice
            one.key = next(key for key in (f"{one.key}#{at}" for at in count(2)) if key not in self._open)
        if verdict.action == "deny":
            decision = verdict.policy, False, verdict.reason, False
            self._recorder.unchanged(
                self._told(one, "", "")._replace(outcome="denied", decisions=(decision,), reply=verdict.reason)
            )
            return agent.answer(event, verdict, "")
        if one.effects != "read" and self._keeper.has_work:
            self._keeper.read_now(self._named(event.arguments))
            self._keeper.work(_WAIT)
        if self._writing() and one.effects != "read":
            if any(other.session != session for other in self._writing()):
                one.met = {found.path: found.after for found in self._keeper.differences()}
            one.overlapped = True
            for other in self._open.values():
                other.overlapped = True
        self._open[one.key] = one
        self._keeper.baseline.begun(one.key, _row(one))
        return agent.answer(event, verdict, "")

    def _after(self, agent: Agent, event: Event, session: str) -> None:
        key = _key(session, event)
        if not event.call_id:  # of calls in the same words, the one that began first
            key = next((known for known in self._open if known.partition("#")[0] == key), key)
        one = self._open.pop(key, None)
        if one is None and event.call_id and key in self._ended:
            return  # hooks of the project and of the user's own settings tell it twice
        meaning = agent.meaning(event)
        failure = event.failure
        if one is None:
            one = self._opened(agent, event, meaning, session, 0)
            failure = "; ".join(filter(None, (failure, _UNSEEN)))
            self._end(one, event.reply or event.failure, failure, is_known=False)
            self._rest([one], _UNSEEN)
        else:
            self._end(one, event.reply or event.failure, failure)
        if event.is_moved_on:
            self._session(session).background.add(event.call_id)
        if not event.failure:
            self._judge.learn(event, meaning, session)

    # -- what is recorded

    def _settle(self, ended: Sequence[Open]) -> None:
        for one in list(ended):
            self._open.pop(one.key, None)
            self._end(one, "", _UNSETTLED, is_known=False)
        self._rest(ended, _UNSETTLED)

    def _rest(self, ended: Sequence[Open], why: str) -> None:
        """Record what may be a call's that has ended, and may be a person's."""
        tools = ", ".join(sorted({one.tool for one in ended if one.effects != "read"}))
        if tools and not self._writing():
            self._between(ended[0].session, f"{_GUESSED}: of {tools}, {why}")

    def _end(self, one: Open, reply: str, failure: str, *, is_known: bool = True) -> None:
        """Record a call that has ended, with what has changed and is not another's; unless `is_known` when, with what it names."""
        others = self._writing()
        guess = (
            f"{_GUESSED}: it ran at the same time as {', '.join(sorted({other.tool for other in others}))}"
            if others
            else ""
        )

        def choose(found: Sequence[Difference]) -> Sequence[Difference]:
            if not is_known or (one.effects == "workspace" and one.named):
                return one.own(found)
            return [
                each
                for each in found
                if one.names(each.path) or not (one.has_met(each) or any(other.names(each.path) for other in others))
            ]

        told = self._told(one, reply, failure)
        if one.effects == "read":
            self._recorder.unchanged(told)
        elif guess or one.overlapped:
            guess = guess or f"{_GUESSED}: another call ran at the same time"
            self._recorder.changed(told._replace(failure="; ".join(filter(None, (guess, failure)))), choose)
        else:
            self._recorder.changed(told, choose)
        self._keeper.baseline.ended(one.key)
        self._ended.append(one.key)

    def _between(self, session: str, guess: str = "") -> None:
        if not self._keeper.has_news():
            return
        last = next(iter(self._workspace.record.calls(None, 1)), None)
        known = self._sessions.get(session)
        arguments = json.dumps({"after": f"c{last.position}"} if last is not None else {})
        told = Told(BETWEEN, arguments, "default", effects="read")
        if known is not None and known.background:
            guess = guess or f"{_GUESSED}: a command in the background was running"
        if known is not None and guess:
            told = told._replace(session=session, run=known.run, failure=guess)
        self._recorder.changed(told, always=False)

    def _told(self, one: Open, reply: str, failure: str) -> Told:
        prompt = f"{one.agent} {one.subagent}".rstrip()
        return Told(
            one.tool,
            one.arguments,
            one.session,
            one.call_id,
            one.run,
            prompt,
            reply,
            failure,
            one.effects,
            one.started,
        )

    def _opened(self, agent: Agent, event: Event, meaning: Meaning, session: str, pid: int) -> Open:
        return Open(
            _key(session, event),
            agent.name,
            session,
            event.call_id,
            event.tool or "unknown",
            self._workspace.masking.text(arguments_text(event.arguments)),
            meaning.effects,
            self._session(session).run,
            event.subagent,
            utc_now(),
            pid,
            named=named_paths(
                self._workspace.root,
                event.directory,
                [one.arguments for one in (meaning, *meaning.also)],
                self._workspace.masking.text,
            ),
        )

    def _writing(self) -> list[Open]:
        """The open calls that may change files."""
        return [one for one in self._open.values() if one.effects != "read"]

    def _session(self, name: str) -> _Session:
        return self._sessions.setdefault(name, _Session())

    def _named(self, arguments: Mapping[str, Any]) -> list[str]:
        """The paths of the workspace that a call's arguments name as such."""
        root = self._workspace.root
        whole = [
            os.path.normpath(os.path.join(root, one))
            for one in arguments.values()
            if isinstance(one, str) and len(one) < 4096
        ]
        return [one[len(root) + 1 :] for one in whole if one.startswith(f"{root}/")]


def session_name(agent: str, session: str) -> str:
    """The session of the record that an agent's session has.

    >>> session_name("claude-code", "a2c4-X"), session_name("codex", ""), session_name("goose", "20261122_12")
    ('claude-code-a2c4-x', 'codex', 'goose-20261122-12')
    """
    plain = re.sub(r"[^a-z0-9]+", "-", session.lower()).strip("-")
    if len(plain) > _WHOLE:
        # The first digits of an id that is made of the time are those of any other of that minute.
        plain = (
            (plain[-8:] if len(plain) == _UUID else plain[:8]).strip("-")
            if re.fullmatch(r"[0-9a-f-]+", plain)
            else hashlib.sha256(session.encode("utf-8", "replace")).hexdigest()[:8]
        )
    return f"{agent}-{plain}"[:64].rstrip("-")


def arguments_text(arguments: Mapping[str, Any]) -> str:
    """A call's arguments as JSON, with the middle of long texts left out.

    >>> len(arguments_text({"content": "x" * 1_000_000})) < 70_000
    True
    """
    try:
        found = json.dumps(arguments, ensure_ascii=False)
    except (ValueError, RecursionError):
        return "{}"
    if len(found) <= _LONGEST:
        return found.encode("utf-8", "replace").decode()
    half = _LONGEST // 4
    short = {
        name: f"{one[:half]} … {one[-half:]}" if isinstance(one, str) and len(one) > 2 * half else one
        for name, one in arguments.items()
    }
    found = json.dumps(short, ensure_ascii=False)
    return (
        found.encode("utf-8", "replace").decode()
        if len(found) <= 2 * _LONGEST
        else json.dumps({"shortened": found[:_LONGEST]})
    )


def _key(session: str, event: Event) -> str:
    """By what a call is known before and after; where the agent has no ids, by its tool and arguments."""
    own = event.call_id or hashlib.sha256(f"{event.tool}\0{arguments_text(event.arguments)}".encode()).hexdigest()[:16]
    return f"{session}/{own}"


def _row(one: Open) -> dict[str, Any]:
    names = (
        "key",
        "agent",
        "session",
        "call_id",
        "tool",
        "arguments",
        "effects",
        "run",
        "subagent",
        "pid",
        "overlapped",
        "named",
    )
    return {name: getattr(one, name) for name in names} | {"started": one.started.isoformat()}


def _taken_back(paths: Sequence[str]) -> str:
    """What an agent is told at its next prompt; nothing where nothing was taken back."""
    if not paths:
        return ""
    from wink.cli import visible

    named = ", ".join(visible(path) for path in paths[:_SHOWN]) + (
        f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    )
    return f"The user has taken changes back with wink since your last turn. These files are not what you left: {named}. Read them again."
