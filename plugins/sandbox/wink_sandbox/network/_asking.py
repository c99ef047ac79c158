"""Ask a person about a host that is not listed, while the connection of the program that wants it is held.

Rules of this module:

* A program cannot be parked, so a question has an end: who wanted the host is refused then. The request stays as long as the
  program runs, and an answer that comes late holds for what the program asks from then on; with the program it goes.
* An answer is for the host and port of its own request, of one program. It adds to what is listed, and to nothing else: a name
  that leads to an address which is not public is refused as ever, and it is not looked up before.
* The program chooses the host: only names and addresses are asked about, short enough to be shown whole, and few of them.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from wink.dataclass import dataclass, field
from wink.errors import WinkError
from wink.session import ApprovalRow, ApprovalRows, ApprovalState, ApprovalStore
from wink_sandbox.network._addresses import address_of, is_public
from wink_sandbox.network._at_hand import said_by
from wink_sandbox.network._traffic import Meter, place_of

if TYPE_CHECKING:
    from wink_sandbox.network._addresses import Address
    from wink_sandbox.network._at_hand import Person

TOOL: Final = "network access"
"""What a request calls itself: no tool can have this name."""

LASTS: Final = ("once", "run", "always")
"""How long an approval holds: for the connections that wait for it, or until the program has ended; `always` tells the person what to list, too."""

SECONDS: Final = 60.0
"""So long a connection waits for an answer."""

WAITING: Final = 5
"""So many requests of one program wait at a time."""

MOST: Final = 50
"""So many requests one program makes."""

_LONGEST: Final = 100
_LOOK: Final = 0.2
_GONE: Final = "its request does not stand any more"


class Said(NamedTuple):
    """What a person said: whether the host may be reached, for how long, and why not."""

    allowed: bool
    lasts: str = "run"
    note: str = ""


@dataclass(frozen=True, slots=True)
class People:
    """Who is asked about the hosts of one program, by requests in `store` that `wink approve` answers; without a store there is a `refusal`.

    `who` wants a host, `tell` is called with a line for each request, from another thread. `hint` says how to list a host, which stands for `{}` in
    it. `refusal` says why nobody can be asked; then nobody is. `remembered` are the hosts that were approved for the run: those that are
    approved for it now are added. `person` is asked as well, who is at a client or an editor; the first answer counts.
    """

    store: ApprovalStore | None
    session: str
    who: str
    tell: Callable[[str], object]
    hint: str
    run: str = ""
    call_id: str = ""
    refusal: str = ""
    remembered: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])
    seconds: float = SECONDS
    person: Person | None = None

    def ask(self, host: str, port: int) -> Request:
        """Make a request, and tell of it; raises `WinkError` where none can be kept."""
        assert self.store is not None, "where nobody can be asked, it is said why"
        place = place_of(host, port)
        address = address_of(host)
        is_near = host.split(".")[-1] == "localhost" if address is None else not is_public(address)
        near = ", and not on the public internet" if is_near else ""
        reason = f"{self.who} wants to connect to {place}, which is not listed{near}"
        arguments = _json({"host": host, "lasts": LASTS[1], "port": port})
        policies = _json([["network", reason]])
        # Bound to this program, and to no state of any file: `nested` says that nobody else can compare it.
        facts = _json({"nested": True, "program": token_hex(16)})
        row = ApprovalRow(
            number=0,
            session=self.session,
            run=self.run,
            call_id=self.call_id,
            tool=TOOL,
            effects="network",
            arguments=arguments,
            policies=policies,
            facts=facts,
            fingerprint=sha256(_json([TOOL, arguments, policies, facts]).encode()).hexdigest(),
        )
        request = Request(self.store, self.store.ask(row), host, port, reason)
        self.tell(
            f"{request.id}: {reason}; answer within {self.seconds:g} s: `wink approve {request.id}` for this run, with lasts=once or lasts=always for less or more, "
            f"or `wink deny {request.id}`"
        )
        return request


class Request:
    """One question, as it is kept."""

    def __init__(self, store: ApprovalStore, row: ApprovalRow, host: str, port: int, reason: str) -> None:
        self._store, self._row, self._reason = store, row, reason
        self._host, self._port = host, port
        self.id: Final = f"a{row.number}"

    def said(self) -> Said | None:
        """The answer, which is used up; None while there is none. Raises `WinkError` where it cannot be read."""
        row = self._store.find(self._row.number)
        if row is None or row.fingerprint != self._row.fingerprint or not row.is_live:
            return Said(False, note=_GONE)
        if row.state == "pending" or (row.state == "approved" and not self._store.claim(row.number)):
            return None
        self._end("used", ("claimed", "denied"))
        if row.state == "denied":
            return Said(False, note=f"a person denied it{f': {row.note}' if row.note else ''}")
        given: Any = json.loads(row.edited or row.arguments)
        lasts = given.pop("lasts", None)
        if given != {"host": self._host, "port": self._port} or lasts not in LASTS:
            return Said(False, note=f"the answer is not for this host, or for something else than {', '.join(LASTS)}")
        return Said(True, lasts)

    async def put_to(self, person: Person) -> bool:
        """Keep what they answer, unless somebody has answered before; whether they said anything."""
        answer = await said_by(person, self._row, self._reason)
        if answer is None:
            return False
        row = self._store.find(self._row.number)
        if row is not None and row.state == "pending":
            note, edited = answer.note.strip(), answer.arguments
            self._store.answer(self._row, approved=answer.approved, note=note, edited=edited, edited_facts=None)
        return True

    def withdraw(self) -> None:
        """Nobody needs an answer any more; one that is given counts for nothing."""
        self._end("replaced", ApprovalRow.LIVE)

    def _end(self, state: ApprovalState, states: tuple[str, ...]) -> None:
        def work(rows: ApprovalRows) -> None:
            row = rows.get(self._row.number)
            if row is not None and row.state in states and row.fingerprint == self._row.fingerprint:
                rows.put(replace(row, state=state))

        self._store.change(work)


class _Held:
    """A request, and the connections that wait for it."""

    def __init__(self, request: Request, until: float, answer: asyncio.Future[Said]) -> None:
        self.request, self.until, self.answer = request, until, answer
        self.task: asyncio.Task[None] | None = None


class Asking:
    """The questions of one program, as far as they are bounded."""

    def __init__(self, people: People, meter: Meter) -> None:
        self._people, self._meter = people, meter
        self._held: dict[tuple[str, int], _Held] = {}
        self._allowed = set[tuple[str, int]]()
        self._number = 0

    async def refusal(self, host: str | Address, port: int, called: str) -> str:
        """Why a host may not be reached that is not listed; empty where a person lets it be. `called` is how the program wrote it."""
        key = str(host), port
        if key in self._allowed or key in self._people.remembered:
            return ""
        held = self._held.get(key)
        if held is None:
            if problem := self._problem(key):
                return problem
            try:
                held = self._ask(key)
            except (WinkError, OSError) as error:
                return self._not_asked(key, f"nobody can be asked: {error}")
        self._meter.asked[called, port] = held.request.id
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout_at(max(held.until, loop.time())):
                said = await asyncio.shield(held.answer)
        except TimeoutError:
            return f"not listed, and nobody has answered {held.request.id} within {self._people.seconds:g} s"
        if said.allowed and said.lasts == LASTS[0] and self._held.get(key) is held:
            del self._held[key]
        return "" if said.allowed else said.note

    async def close(self) -> None:
        """The program has ended, and what waits is withdrawn."""
        tasks = [held.task for held in self._held.values() if held.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _problem(self, key: tuple[str, int]) -> str:
        """Why this is not asked about."""
        if self._people.refusal and (self._people.person is None or self._people.store is None):
            return self._not_asked(key, self._people.refusal)
        if len(key[0]) > _LONGEST:
            return "not listed, and too long a name to be asked about"
        if self._number >= MOST:
            return self._not_asked(key, f"the program has asked for {MOST} hosts already")
        if sum(not held.answer.done() for held in self._held.values()) >= WAITING:
            return self._not_asked(key, f"{WAITING} other requests of the program wait for an answer")
        return ""

    def _not_asked(self, key: tuple[str, int], why: str) -> str:
        return f"not listed, and {why}; {self._people.hint.format(place_of(*key))}"

    def _ask(self, key: tuple[str, int]) -> _Held:
        loop = asyncio.get_running_loop()
        self._number += 1
        request = self._people.ask(*key)
        held = self._held[key] = _Held(request, loop.time() + self._people.seconds, loop.create_future())
        held.task = loop.create_task(self._wait(key, held))
        return held

    async def _wait(self, key: tuple[str, int], held: _Held) -> None:
        person = self._people.person
        asking = None if person is None else asyncio.create_task(held.request.put_to(person))
        try:
            while (said := held.request.said()) is None:
                # Where nobody else can answer, nothing is waited for.
                if self._people.refusal and asking is not None and asking.done() and not asking.result():
                    held.request.withdraw()
                    said = Said(False, note=self._not_asked(key, self._people.refusal))
                    break
                await asyncio.sleep(_LOOK)
        except asyncio.CancelledError:
            held.request.withdraw()
            raise
        except (WinkError, OSError) as error:
            said = Said(False, note=f"not listed, and the answer cannot be read: {error}")
        finally:
            if asking is not None:
                asking.cancel()
        if said.allowed and said.lasts != LASTS[0]:
            self._allowed.add(key)
            self._people.remembered.add(key)
        held.answer.set_result(said)


def has_terminal() -> bool:
    """Whether a terminal belongs to this process, at which a person may be."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
