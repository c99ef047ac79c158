"""A person is asked about a host that is not listed; the answer is for that host, of that program, and nothing gets out before."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pytest
from plugins.sandbox.tests.conftest import Place, Ran
from plugins.sandbox.tests.network.conftest import Good, Names, Trap
from plugins.sandbox.tests.network.test_attacks import attacked, facts

from wink.errors import UnknownApproval
from wink.runtime import Answer, ApprovalRequest, answer_approval, pending_approvals
from wink.workspace import Workspace
from wink_sandbox import People, Traffic
from wink_sandbox.network._asking import MOST, TOOL, WAITING

__all__ = ["attacked", "facts"]

Says = Callable[[dict[str, Any]], Answer | None]
HOW = "import http.client as h, sys\n"
GET = """
def get(host, port):
    c = h.HTTPConnection('127.0.0.1', 3128, timeout=30)
    c.request('GET', f'http://{host}:{port}/', headers={'Host': f'{host}:{port}'})
    r = c.getresponse()
    return r.status, r.read().decode()
"""


class Person:
    """Answers requests as they come, and keeps which there were."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.asked: list[dict[str, Any]] = []
        self.most_at_once = 0
        self.says: Says = lambda arguments: None
        self._seen = set[str]()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._answer, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def look(self) -> tuple[ApprovalRequest, ...]:
        found = pending_approvals(self.workspace)
        self.most_at_once = max(self.most_at_once, len(found))
        return found

    def _answer(self) -> None:
        while not self._over.wait(0.02):
            for request in self.look():
                if request.id in self._seen:
                    continue
                self._seen.add(request.id)
                arguments = json.loads(request.arguments)
                assert request.tool == TOOL
                self.asked.append(arguments)
                answer = self.says(arguments)
                if answer is not None:
                    answer_approval(self.workspace, request.id, answer)


def yes(arguments: dict[str, Any], **edited: Any) -> Answer:
    return Answer(True, "", json.dumps({**arguments, **edited}) if edited else None)


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    (tmp_path / "asked").mkdir()
    with Workspace.open(tmp_path / "asked") as workspace, Person(workspace) as made:
        yield made


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def people(person: Person, told: list[str]) -> People:
    return People(person.workspace.record.approvals, "default", "a test", told.append, "give --network {}", seconds=20)


@pytest.fixture
def run(place: Place, names: Names) -> Callable[..., Ran]:
    """Run a piece of Python, for which `get(host, port)` asks the proxy."""
    names.known |= {"good.test": ["127.0.0.1"], "localhost": ["127.0.0.1"], "other.test": ["127.0.0.1"]}

    def run(script: str, people: People, *listed: str) -> Ran:
        sandbox = replace(place.sandbox, profile=replace(place.sandbox.profile, network=listed or False), people=people)
        ran = place.run([sys.executable, "-c", HOW + GET + script], sandbox=sandbox)
        assert ran.ended.status == 0, ran.ended.stderr.text()
        return ran

    return run


def traffic_of(ran: Ran) -> Traffic:
    assert ran.ended.traffic is not None
    return ran.ended.traffic


def test_an_approved_host_is_reached_and_the_request_is_recorded(
    run: Callable[..., Ran], people: People, person: Person, serve: Callable[..., int], told: list[str]
) -> None:
    port = serve()
    person.says = yes

    ran = run(f"print(*get('localhost', {port})); print(*get('localhost', {port}))", people)

    assert ran.stdout == "200 welcome\n200 welcome\n"
    assert person.asked == [{"host": "localhost", "lasts": "run", "port": port}]
    (contact,) = traffic_of(ran).contacts
    assert (contact.outcome, contact.times, contact.asked) == ("allowed", 2, "a1")
    assert f"localhost:{port} allowed, as a1 was approved, " in next(iter(traffic_of(ran).lines()))
    assert [line.partition(":")[0] for line in told] == ["a1"]
    assert people.remembered == {("localhost", port)}


def test_once_is_for_one_connection(
    run: Callable[..., Ran], people: People, person: Person, serve: Callable[..., int]
) -> None:
    port = serve()
    person.says = lambda arguments: yes(arguments, lasts="once") if len(person.asked) == 1 else Answer(False, "enough")

    ran = run(f"print(get('localhost', {port})[0]); print(*get('localhost', {port}))", people)

    assert ran.stdout.startswith("200\n403 wink: ")
    assert "a person denied it: enough" in ran.stdout
    assert len(person.asked) == 2
    assert people.remembered == set()


def test_a_denied_host_is_asked_about_once(run: Callable[..., Ran], people: People, person: Person) -> None:
    person.says = lambda arguments: Answer(False)

    ran = run("for _ in range(3): print(get('denied.test', 80)[0])", people)

    assert ran.stdout == "403\n403\n403\n"
    assert len(person.asked) == 1
    (contact,) = traffic_of(ran).contacts
    assert (contact.outcome, contact.times, contact.asked) == ("refused: a person denied it", 3, "a1")


def test_nobody_answers_and_the_program_is_refused(
    run: Callable[..., Ran], people: People, person: Person, names: Names
) -> None:
    """The second time at once, and no name is looked up."""
    people = replace(people, seconds=0.3)

    ran = run("for _ in range(2): print(*get('silent.test', 80))", people)

    assert ran.stdout.count("not listed, and nobody has answered a1 within 0.3 s") == 2
    assert (len(person.asked), names.asked) == (1, [])
    assert person.look() == ()


def test_where_nobody_can_be_asked_nothing_is_asked(run: Callable[..., Ran], people: People, person: Person) -> None:
    ran = run("print(*get('any.test', 443))", replace(people, refusal="nobody can be asked: there is no terminal"))

    assert "there is no terminal; give --network any.test:443" in ran.stdout
    assert person.asked == []


def test_a_listed_host_needs_no_answer(
    run: Callable[..., Ran], people: People, person: Person, serve: Callable[..., int]
) -> None:
    port = serve()

    ran = run(f"print(get('good.test', {port})[0])", people, f"good.test:{port}", f"127.0.0.1:{port}")

    assert (ran.stdout, person.asked) == ("200\n", [])


# -- the person at a client


class AtClient:
    """Is asked in the same process, and keeps what about; `answer` may take as long as it likes."""

    def __init__(self, answer: Callable[[ApprovalRequest], Awaitable[Any]]) -> None:
        self._answer = answer
        self.asked: list[ApprovalRequest] = []
        self.withdrawn = 0

    async def __call__(self, request: ApprovalRequest) -> Any:
        self.asked.append(request)
        try:
            return await self._answer(request)
        except asyncio.CancelledError:
            self.withdrawn += 1
            raise


async def never(request: ApprovalRequest) -> None:
    await asyncio.sleep(1000)


def says(answer: object) -> Callable[[ApprovalRequest], Awaitable[Any]]:
    async def at_once(request: ApprovalRequest) -> object:
        return answer

    return at_once


@pytest.mark.parametrize("refusal", ["", "nobody can be asked: there is no terminal"])
def test_the_person_at_a_client_is_asked_too(
    run: Callable[..., Ran], people: People, serve: Callable[..., int], refusal: str
) -> None:
    """Also where no terminal is, and their answer is kept with the request as any other."""
    port, client = serve(), AtClient(says(Answer(True)))

    ran = run(f"print(*get('localhost', {port}))", replace(people, person=client, refusal=refusal))

    assert ran.stdout == "200 welcome\n"
    (request,) = client.asked
    assert (request.id, request.tool) == ("a1", TOOL)
    assert f"a test wants to connect to localhost:{port}, which is not listed" in request.reason
    (contact,) = traffic_of(ran).contacts
    assert (contact.outcome, contact.asked) == ("allowed", "a1")


def test_a_no_of_theirs_is_told_with_its_note(run: Callable[..., Ran], people: People) -> None:
    client = AtClient(says(Answer(False, "use the mirror")))

    ran = run("for _ in range(2): print(*get('other.test', 80))", replace(people, person=client))

    assert ran.stdout.count("a person denied it: use the mirror") == 2
    assert len(client.asked) == 1


def test_the_first_answer_counts_and_the_other_question_is_withdrawn(
    run: Callable[..., Ran], people: People, person: Person, serve: Callable[..., int]
) -> None:
    port, is_asked = serve(), threading.Event()

    async def wait(request: ApprovalRequest) -> None:
        is_asked.set()
        await never(request)

    def answer(arguments: dict[str, Any]) -> Answer:
        is_asked.wait(60)
        return yes(arguments)

    client, person.says = AtClient(wait), answer

    ran = run(f"print(*get('localhost', {port}))", replace(people, person=client))

    assert ran.stdout == "200 welcome\n"
    assert (len(client.asked), client.withdrawn) == (1, 1)


def test_with_the_program_their_question_goes_too(run: Callable[..., Ran], people: People, person: Person) -> None:
    """It was refused before, when its time was over."""
    client = AtClient(never)

    ran = run("print(*get('silent.test', 80))", replace(people, person=client, seconds=0.3))

    assert "nobody has answered a1 within 0.3 s" in ran.stdout
    assert client.withdrawn == 1
    assert person.look() == ()


async def breaks(request: ApprovalRequest) -> None:
    raise ValueError("no window")


@pytest.mark.parametrize("answer", [says(None), says("yes"), says(Answer(True, "", "no JSON")), breaks])
def test_where_they_say_nothing_and_nobody_else_can_the_program_does_not_wait(
    run: Callable[..., Ran], people: People, person: Person, answer: Any
) -> None:
    """Clients without a window dismiss every question."""
    people = replace(people, person=AtClient(answer), refusal="nobody can be asked: there is no terminal", seconds=1000)

    ran = run("print(*get('any.test', 443))", people)

    assert "there is no terminal; give --network any.test:443" in ran.stdout
    assert person.look() == ()


def test_where_they_say_nothing_others_still_can(
    run: Callable[..., Ran], people: People, person: Person, serve: Callable[..., int]
) -> None:
    port = serve()
    person.says = yes

    ran = run(f"print(*get('localhost', {port}))", replace(people, person=AtClient(says(None))))

    assert ran.stdout == "200 welcome\n"


# -- attacks


def test_the_whole_table_of_attacks_holds_where_a_person_denies(
    place: Place, attacked: Callable[..., list[str]], trap: Trap, people: People, person: Person, names: Names
) -> None:
    """What is asked about is whatever the attacker asks for; it gets no further than where nobody is asked."""
    person.says = lambda arguments: Answer(False)
    place.sandbox = replace(place.sandbox, people=people)

    lines = attacked("good.test:{good}", "good.test:{tls}", "127.0.0.1:{good}", "127.0.0.1:{tls}")

    assert [line for line in lines if not line.startswith("held ")] == ["GOOD", "TLS"]
    assert trap.seen == []
    assert set(names.asked) <= {"good.test"}
    assert 0 < len(person.asked) <= MOST
    assert all(set(asked["host"]) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_.:") for asked in person.asked)


def test_a_flood_of_hosts_makes_few_requests(run: Callable[..., Ran], people: People, person: Person) -> None:
    script = """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(100) as pool:
    said = list(pool.map(lambda n: get(f'h{n}.test', 80), range(1000)))
print(len(said), {status for status, _ in said}, sum('other requests of the program wait' in text for _, text in said))
"""
    ran = run(script, replace(people, seconds=1))

    assert ran.stdout == f"1000 {{403}} {1000 - WAITING}\n"
    assert len(person.asked) == person.most_at_once == WAITING
    assert traffic_of(ran).more == 900
    assert person.look() == (), "with the program its requests go"


def test_one_after_the_other_there_is_an_end_too(run: Callable[..., Ran], people: People, person: Person) -> None:
    person.says = lambda arguments: Answer(False)

    ran = run(f"print([get(f'h{{n}}.test', 80)[1] for n in range({MOST + 5})][-1])", people)

    assert f"the program has asked for {MOST} hosts already; give --network h{MOST + 4}.test:80" in ran.stdout
    assert len(person.asked) == MOST


def test_a_hostile_name_is_never_shown(
    run: Callable[..., Ran], people: People, person: Person, told: list[str]
) -> None:
    """Only what is a name, and short enough to be seen whole, comes before a person."""
    script = r"""
import socket
names = [b'evil.test\x1b[2Jpypi.org', b'pypi.org\x0aapproved a1', b'\xe2\x80\xaegro.ipyp', b'pypi.org%20', b'a b.test', b'<b>.test',
         b'pypi.org' + b'.aaaaaaa' * 20 + b'.evil.test', b'$(id).test', b'pypi.org\x00.evil.test', b'-', b'']
for name in names:
    with socket.create_connection(('127.0.0.1', 3128)) as s:
        s.sendall(b'\x05\x01\x00'); s.recv(2)
        s.sendall(bytes((5, 1, 0, 3, len(name))) + name + b'\x01\xbb')
        print(s.recv(2)[1:].hex())
"""
    ran = run(script, people)

    assert set(ran.stdout.split()) == {"02"}
    assert (person.asked, told) == ([], [])
    assert all(line.isprintable() for line in traffic_of(ran).lines())


def test_an_answer_is_good_for_its_own_host_and_port(
    run: Callable[..., Ran], people: People, person: Person, serve: Callable[..., int]
) -> None:
    port, other = serve(), serve()
    script = f"print(*(get(*one)[0] for one in [('localhost', {port}), ('LOCALHOST.', {port}), ('localhost', {other}), ('127.0.0.1', {port})]))"
    # By its address it is another host.
    person.says = lambda arguments: (
        yes(arguments) if (arguments["host"], arguments["port"]) == ("localhost", port) else Answer(False)
    )

    ran = run(script, people)

    assert ran.stdout == "200 200 403 403\n"
    assert [(one["host"], one["port"]) for one in person.asked] == [
        ("localhost", port),
        ("localhost", other),
        ("127.0.0.1", port),
    ]


@pytest.mark.parametrize("edited", [{"host": "good.test"}, {"port": 1}, {"lasts": "ever"}, {"more": 1}])
def test_an_answer_for_another_host_is_none(
    run: Callable[..., Ran], people: People, person: Person, serve: Callable[..., int], edited: dict[str, Any]
) -> None:
    port = serve()
    person.says = lambda arguments: yes(arguments, **edited)

    ran = run(f"print(*get('localhost', {port}))", people)

    assert "the answer is not for this host" in ran.stdout
    assert people.remembered == set()


def test_an_approved_name_leads_to_no_private_address(
    run: Callable[..., Ran], people: People, person: Person, trap: Trap, names: Names
) -> None:
    """A name is what was shown; where it leads to is looked at as ever."""
    names.known["rebind.test"] = ["127.0.0.1", "169.254.169.254"]
    person.says = yes

    ran = run(f"print(*get('rebind.test', {trap.port}))", people)

    assert "which is not public, and not listed" in ran.stdout
    assert trap.seen == []


def test_an_answer_after_the_end_of_the_program_is_for_nothing(
    run: Callable[..., Ran], people: People, person: Person, serve: Callable[..., int]
) -> None:
    port = serve()
    ran = run(f"print(get('localhost', {port})[0])", replace(people, seconds=0.2))

    with pytest.raises(UnknownApproval, match="a1 does not stand any more"):
        answer_approval(person.workspace, "a1", Answer(True))
    person.says = lambda arguments: Answer(False)
    again = run(f"print(get('localhost', {port})[0])", people)

    assert (ran.stdout, again.stdout) == ("403\n", "403\n")
    assert len(person.asked) == 2


def test_an_answer_that_comes_late_holds_for_what_comes_then(
    run: Callable[..., Ran], people: People, person: Person, serve: Callable[..., int]
) -> None:
    """The program need not be started anew: the person answers when it has been refused, which it tells a listed server."""
    is_refused = threading.Event()

    class Listed(Good):
        def do_GET(self) -> None:
            is_refused.set()
            super().do_GET()

    def answer(arguments: dict[str, Any]) -> Answer:
        is_refused.wait(60)
        return yes(arguments)

    person.says, port, listed = answer, serve(), serve(handler=Listed)
    script = f"""
print(get('localhost', {port})[0], get('127.0.0.1', {listed})[0], flush=True)
while get('localhost', {port})[0] != 200:
    pass
print('reached')
"""
    ran = run(script, replace(people, seconds=0.2), f"127.0.0.1:{listed}")

    assert ran.stdout == "403 200\nreached\n"
    assert len(person.asked) == 1


def test_of_two_programs_at_once_only_the_one_that_was_approved_gets_through(
    run: Callable[..., Ran], people: People, person: Person, serve: Callable[..., int], tmp_path: Path
) -> None:
    """Both ask for the same host; each has a request of its own."""
    (tmp_path / "second").mkdir()
    second = Place(tmp_path / "second")
    port, found = serve(), dict[str, str]()
    person.says = lambda arguments: yes(arguments) if len(person.asked) == 1 else Answer(False)
    both = threading.Barrier(2)

    def one(name: str, where: Place) -> None:
        profile = replace(where.sandbox.profile, network=False)
        sandbox = replace(where.sandbox, profile=profile, people=replace(people, remembered=set()))
        both.wait()
        ran = where.run([sys.executable, "-c", HOW + GET + f"print(get('localhost', {port})[0])"], sandbox=sandbox)
        found[name] = ran.stdout

    (tmp_path / "first").mkdir()
    first = Place(tmp_path / "first")
    threads = [threading.Thread(target=one, args=pair) for pair in (("first", first), ("second", second))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    first.files.close()
    second.files.close()

    assert sorted(found.values()) == ["200\n", "403\n"]
    assert len(person.asked) == 2
