"""What the page asks of the record, against what a reader of every row would find."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ui.scene import OWN, Agent, place_at

from wink.record import CallRow
from wink.record._browsing import Browsing, Line, Wanted
from wink.workspace import Workspace

TOOLS = ("write_file", "read_file", OWN, "none")
NAMES = ("a.py", "b_c.md", "d/e%.py", "notes.txt")


def worked(workspace: Workspace, seed: int, calls: int) -> None:
    """Calls of several sessions, some of which fail, are refused or undone, all of it by chance."""
    chance = Random(seed)
    agents = [Agent(workspace, name) for name in ("one", "two")]
    for number in range(calls):
        agent, name = chance.choice(agents), chance.choice(NAMES)
        what = chance.randrange(5)
        if what == 0:
            agent.call(OWN, files={name: f"{number}\n", f"more/{number}": "x"}, fails=chance.random() < 0.3)
        elif what == 1:
            agent.call("none", text=f"100% {number}")
        elif what == 2 and number:
            workspace.undo(dry_run=False) if _can_undo(workspace) else None
        else:
            agent.call("read_file", file_path=name)
            agent.call("write_file", file_path=name, content=f"ünïcode {number}\n")


def _can_undo(workspace: Workspace) -> bool:
    from wink.errors import NothingToUndo

    try:
        workspace.undo(dry_run=True)
    except NothingToUndo:
        return False
    return True


def fits(call: CallRow, wanted: Wanted, undone: frozenset[int]) -> bool:
    """The plainest reading of a filter."""
    ending = call.outcome
    if ending == "committed":
        ending = "rolled back" if not call.committed else "undone" if call.transaction in undone else "ok"
    texts = (
        call.arguments,
        json.dumps(json.loads(call.arguments), ensure_ascii=False),
        call.rendered,
        call.tool,
        call.call_id,
        str(call.decisions),
    )
    return (
        wanted.session in ("", call.session)
        and wanted.tool in ("", call.tool)
        and wanted.outcome in ("", ending)
        and (not wanted.path or any(wanted.path.lower() in change.path.lower() for change in call.changes))
        and (not wanted.text or any(wanted.text.lower() in text.lower() for text in texts))
    )


WANTED = st.builds(
    Wanted,
    session=st.sampled_from(["", "one", "three"]),
    tool=st.sampled_from(["", *TOOLS]),
    outcome=st.sampled_from(["", "ok", "undone", "rolled back", "refused", "denied"]),
    path=st.sampled_from(["", "_", "%", "a.PY", "more/", "d/e"]),
    text=st.sampled_from(["", "100%", "ünïcode 3", "n_", "Unknown", "file_path"]),
)


def test_pages_hold_what_a_reader_of_every_row_finds(tmp_path: Path) -> None:
    """Whatever the filters are, page by page, newest first; nothing twice, nothing left out."""
    with Workspace.open(place_at(tmp_path / "p")) as workspace:
        worked(workspace, 4711, 60)
        calls, undone, browsing = workspace.calls(), workspace.undone(), Browsing(workspace.record)

        @settings(deadline=None, max_examples=150)
        @given(WANTED, st.integers(1, 9))
        def check(wanted: Wanted, size: int) -> None:
            expected = [call.position for call in calls if fits(call, wanted, undone)]
            found: list[Line] = []
            while page := browsing.page(
                wanted, before=found[-1].position if found else None, limit=size, undone=undone
            ):
                found += page
            assert [line.position for line in found] == expected

        check()
        by_position = {call.position: call for call in calls}
        for line in browsing.page(Wanted(), limit=1000, undone=undone):
            call = by_position[line.position]
            assert line.changes == len(call.changes)
            assert line.paths == tuple((change.path, change.kind) for change in call.changes[:3])
            assert (line.session, line.tool, line.transaction) == (call.session, call.tool, call.transaction)
        assert sum(one.calls for one in browsing.sums()) == len(calls)
        assert sum(one.calls for one in browsing.sums(after=20)) == len(calls) - 20


def test_what_was_done_around_a_file_is_enough_to_show_every_diff(tmp_path: Path) -> None:
    """The few rows that a diff reads give the same content as all of them, also of files that were moved about."""
    with Workspace.open(place_at(tmp_path / "p")) as workspace:
        agent = Agent(workspace)
        agent.call("write_file", file_path="a.py", content="one\n")
        for source, target in (("a.py", "b.py"), ("b.py", "d/c.py"), ("d/c.py", "a.py"), ("a.py", "z.py")):
            agent.call("read_file", file_path=source)
            assert agent.call("move_file", source_path=source, target_path=target).success
            agent.call("read_file", file_path=target)
            agent.call("write_file", file_path=target, content=f"at {target}\n")
            agent.call(OWN, files={"other.txt": f"{target}\n"})
        workspace.fold()

        for call in workspace.calls():
            shown = [change.diff() for change in workspace.diff(call.position)]
            alone = [change.diff() for change in workspace.diff(call.position, call.position)]
            assert sorted(text for text in shown if "moved" not in text and "@@" in text) == sorted(
                text for text in alone if "moved" not in text and "@@" in text
            )
