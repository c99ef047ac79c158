"""One round: servers on a workspace, clients without manners, and the look at what is left."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from plugins.mcp.tests.chaos.nursery import Nursery
from plugins.mcp.tests.chaos.oracle import difference, replay, tree
from plugins.mcp.tests.chaos.peer import Peer, start

from wink.errors import NothingToUndo, UndoConflict
from wink.workspace import Workspace

ENDS = ("kill", "kill", "kill", "term", "int", "eof", "vanish", "half", "stall")
GARBAGE = (
    b"\n\n \n", b"hello\n", b"{\n", b"[]\n", b"null\n", b"\xff\xfe\x00\n", b'{"jsonrpc":"2.0"}\n', b"[" * 2000 + b"\n",
    b'{"jsonrpc":"2.0","id":99001,"method":"no/such"}\n', b'{"jsonrpc":"2.0","method":"notifications/no/such"}\n',
    b'{"jsonrpc":"2.0","id":99002,"method":"tools/call","params":7}\n',
    b'{"jsonrpc":"2.0","id":99003,"method":"tools/call","params":{"name":"spread","arguments":"x"}}\n',
    b'{"jsonrpc":"2.0","id":99004,"result":{}}\n', b'{"jsonrpc":"2.0","id":{},"method":"ping"}\n',
    b'{"jsonrpc":"2.0","id":99005,"method":"tools/call","params":{"name":"\\ud800","arguments":{}}}\n',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12345}}\n',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled"}\n', b"x" * 1_000_000 + b"\n",
)  # fmt: skip

CONNECTION_CLOSED = -32000


class Inconsistent(AssertionError):
    """What was found must not be."""


@dataclass
class Tally:
    """What happened in a round."""

    counts: Counter[str] = field(default_factory=Counter[str])
    slowest_end: float = 0.0


class Life:
    """A workspace through several rounds, all of them drawn from one seed."""

    def __init__(self, root: str, environment: dict[str, str], seed: int) -> None:
        self.root, self.environment = root, environment
        self.random = random.Random(seed)
        self.seed = seed
        self.rounds = 0
        self._markers = 0
        self.words = ["serve", "--workspace", root, "--section", "chaos.tools"]
        self.nursery: Nursery | None = None

    def round(self) -> Tally:
        """Do one round; raises `Inconsistent`."""
        self.rounds += 1
        tally = Tally()
        peers = [self._peer(number) for number in range(1 if self.random.random() < 0.55 else 2)]
        try:
            for peer in peers:
                if not peer.greet():
                    raise Inconsistent(f"{peer.name} does not answer: {peer.said()}")
            self._check_answers_about_the_past(peers[0])
            self._play(peers, tally)
            ends = [(peer, self.random.choice(ENDS)) for peer in peers]
            for peer, end in ends:
                for _ in range(3):  # so that the end comes in the middle of something
                    peer.ask(*self._slow_call())
                time.sleep(0.25 * self.random.random())
                self._end(peer, end, tally)
            for peer, end in ends:
                self._see_off(peer, end, tally)
        finally:
            for peer in peers:
                if peer.process.poll() is None:
                    peer.process.kill()
                    peer.process.wait()
        self._look(peers, tally)
        return tally

    def last_look(self) -> None:
        """A new server starts and answers, and ends as it is told."""
        peer = self._peer(9)
        if not peer.greet():
            raise Inconsistent(f"the last server does not answer: {peer.said()}")
        self._check_answers_about_the_past(peer)
        peer.hang_up()
        if peer.ended() != 0:
            raise Inconsistent(f"the last server ended badly: {peer.said()}")

    # -- the play

    def _peer(self, number: int) -> Peer:
        name = f"r{self.rounds}p{number}"
        said = os.path.join(os.path.dirname(self.root), f"{name}.log")
        if self.rounds == 1:  # the others are forked, for speed
            return Peer(name, start(self.words, self.environment, said), said)
        if self.nursery is None:
            self.nursery = Nursery(self.environment)
        return Peer(name, self.nursery.start(self.words, said), said)

    def close(self) -> None:
        """End what was started for speed."""
        if self.nursery is not None:
            self.nursery.close()

    def _marker(self) -> str:
        self._markers += 1
        return f"m{self.seed}.{self._markers}"

    def _call(self) -> tuple[str, dict[str, Any]]:
        draw = self.random
        marker, pause = self._marker(), draw.choice((0.0, 0.001, 0.004, 0.012))
        tool = draw.choice(("spread", "spread_async", "spread", "fail_late", "bump", "bump", "swap", "big", "drop",
                            "write_file", "read_file", "planning_setup_plan"))  # fmt: skip
        match tool:
            case "bump":
                return tool, {"marker": marker, "name": draw.choice("ab"), "pause": pause}
            case "swap":
                return tool, {"marker": marker, "first": draw.randrange(5), "second": draw.randrange(5), "pause": pause}
            case "big":
                return tool, {"marker": marker, "name": draw.choice("xy"), "lines": draw.choice((1, 1000, 60_000))}
            case "drop":
                return tool, {"marker": marker, "name": draw.choice("xy")}
            case "write_file":
                return tool, {"file_path": f"new/{marker}.txt", "content": f"{marker}\n"}
            case "read_file":
                return tool, {"file_path": "group/0"}
            case "planning_setup_plan":
                return tool, {"objective": marker, "initial_steps": ["one", "two"]}
            case _:
                return tool, {"marker": marker, "count": draw.randint(1, 5), "pause": pause}

    def _slow_call(self) -> tuple[str, dict[str, Any]]:
        tool = self.random.choice(("spread", "spread", "spread_async", "fail_late"))
        return tool, {"marker": self._marker(), "count": 5, "pause": self.random.choice((0.005, 0.02, 0.05))}

    def _play(self, peers: list[Peer], tally: Tally) -> None:
        draw = self.random
        for _ in range(draw.randint(4, 14)):
            peer = draw.choice(peers)
            act = draw.choice(("calls", "calls", "calls", "cancel", "time out", "garbage", "wait", "half"))
            tally.counts[act] += 1
            if act == "calls":
                for _ in range(draw.randint(1, 4)):
                    peer.ask(*self._call())
            elif act == "cancel":
                if peer.asked:
                    peer.cancel(draw.choice(list(peer.asked)))
            elif act == "time out":
                numbers = [peer.ask(*self._call()) for _ in range(draw.randint(1, 3))]
                if not peer.wait(numbers, draw.random() * 0.03):
                    for number in numbers:
                        peer.cancel(number)
            elif act == "garbage":
                peer.send_bytes(draw.choice(GARBAGE))
            elif act == "wait":
                peer.wait(peer.open, draw.random() * 0.2)
            else:
                # A line in two parts, with a moment in between.
                tool, arguments = self._call()
                line = json.dumps({"jsonrpc": "2.0", "id": self._marker(), "method": "tools/call",
                                   "params": {"name": tool, "arguments": arguments}}).encode() + b"\n"  # fmt: skip
                cut = draw.randrange(len(line))
                peer.send_bytes(line[:cut])
                time.sleep(draw.random() * 0.01)
                peer.send_bytes(line[cut:])

    def _end(self, peer: Peer, end: str, tally: Tally) -> None:
        tally.counts[f"end: {end}"] += 1
        match end:
            case "kill":
                peer.signal(signal.SIGKILL)
            case "term":
                peer.signal(signal.SIGTERM)
            case "int":
                peer.signal(signal.SIGINT)
            case "eof":
                peer.hang_up()
            case "vanish":
                peer.hang_up(both=True)
            case "half":
                peer.send_bytes(b'{"jsonrpc":"2.0","id":5,"method":"tools/call","par')
                peer.hang_up()
            case _:
                peer.stop_listening()
                for _ in range(40):
                    peer.ask("read_file", {"file_path": "group/0"})
                time.sleep(0.01)
                peer.signal(self.random.choice((signal.SIGKILL, signal.SIGTERM)))

    def _see_off(self, peer: Peer, end: str, tally: Tally) -> None:
        began = time.monotonic()
        try:
            status = peer.ended()
        except TimeoutError as error:
            raise Inconsistent(f"{peer.name} after {end}: {error}; it said: {peer.said()}") from None
        if end not in ("kill", "stall"):
            tally.slowest_end = max(tally.slowest_end, time.monotonic() - began)
            if status not in (0, 130, 143, -signal.SIGTERM, -signal.SIGINT):
                raise Inconsistent(f"{peer.name} ended with status {status} after {end}: {peer.said()}")
        said = peer.said()
        if "Traceback" in said:
            raise Inconsistent(f"{peer.name} after {end} wrote a traceback: {said}")
        if peer.strange:
            raise Inconsistent(f"{peer.name} wrote what is no message: {peer.strange[:3]}")
        if peer.twice:
            raise Inconsistent(f"{peer.name} answered {peer.twice} twice")

    # -- the look

    def _look(self, peers: list[Peer], tally: Tally) -> None:
        with Workspace.open(self.root) as opened:
            tally.counts["recovered"] += len(opened.recovered)
            if opened.recover():
                raise Inconsistent("a second recovery found something to do")
            rows = opened.calls()[::-1]
            undone = opened.undone()
            expected, found = replay(rows, undone), tree(self.root)
            if expected != found:
                raise Inconsistent(f"files and record differ:\n{difference(expected, found)}")
            self._check_replies(peers, rows, tally)
            if self.random.random() < 0.7:
                self._undo(opened, tally)
        left = os.path.join(self.root, ".wink", "wal")
        if os.path.isdir(left) and os.listdir(left):
            raise Inconsistent(f".wink/wal still holds {os.listdir(left)}")
        if self.random.random() < 0.05:
            self._shell(tally)

    def _check_replies(self, peers: list[Peer], rows: Any, tally: Tally) -> None:
        """What a client was told has happened has, and what it was told has failed has not."""
        committed: Counter[str] = Counter()
        for row in rows:
            if row.committed:
                committed[_marker_of(row.arguments)] += 1
        for marker, times in committed.items():
            if marker and times > 1:
                raise Inconsistent(f"the call {marker} was committed {times} times")
        for peer in peers:
            for number, marker in peer.asked.items():
                answer = peer.answers.get(number)
                if answer is not None and answer.get("error", {}).get("code") == CONNECTION_CLOSED:
                    answer = (
                        None  # the SDK's word for a call whose end came with the end of the connection: no word on it
                    )
                if not marker or answer is None:
                    tally.counts["calls without an answer"] += answer is None
                    continue
                succeeded = "result" in answer and not answer["result"].get("isError")
                tally.counts["calls that succeeded" if succeeded else "calls that failed"] += 1
                if succeeded != bool(committed[marker]):
                    raise Inconsistent(f"{peer.name} was told {answer} of {marker}, committed: {committed[marker]}")

    def _undo(self, opened: Workspace, tally: Tally) -> None:
        """The last change can be taken back, and brought back."""
        try:
            opened.undo()
        except NothingToUndo:
            return
        except UndoConflict as error:
            last = [(row.position, row.tool, row.outcome) for row in opened.calls(limit=12)]
            raise Inconsistent(f"the last change cannot be undone: {error}; the last calls are {last}") from error
        tally.counts["undone"] += 1
        self._compare(opened, "undo")
        if self.random.random() < 0.5:
            opened.redo()
            self._compare(opened, "redo")

    def _compare(self, opened: Workspace, after: str) -> None:
        expected, found = replay(opened.calls()[::-1], opened.undone()), tree(self.root)
        if expected != found:
            raise Inconsistent(f"files and record differ after {after}:\n{difference(expected, found)}")

    def _shell(self, tally: Tally) -> None:
        """The commands that a person would use."""
        for words in (["log"], ["doctor"], ["undo"], ["recover"]):
            ended = subprocess.run(
                [sys.executable, "-m", "wink", *words, "--workspace", self.root],
                env=self.environment, capture_output=True, text=True, timeout=120, check=False,
            )  # fmt: skip
            tally.counts["commands"] += 1
            if ended.returncode not in (0, 1) or "Traceback" in ended.stderr:
                raise Inconsistent(f"wink {words[0]}: {ended.returncode}\n{ended.stdout}\n{ended.stderr}")
        with Workspace.open(self.root) as opened:
            self._compare(opened, "the shell")

    def _check_answers_about_the_past(self, peer: Peer) -> None:
        """A new server knows what is there."""
        number = peer.ask("ls", {})
        if not peer.wait([number], 60) or peer.answers[number]["result"].get("isError"):
            raise Inconsistent(f"{peer.name} does not list the workspace: {peer.answers.get(number)}; {peer.said()}")


def _marker_of(arguments: str) -> str:
    try:
        given = json.loads(arguments)
    except ValueError:
        return ""
    return str(given.get("marker", "")) if isinstance(given, dict) else ""
