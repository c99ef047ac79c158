"""What is asked of a record page by page, against what a reader of every row would find."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from plugins.ui.tests.scene import OWN, Agent, place_at

from wink.record import WORDS, CallFilter, CallView
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


def fits(call: CallView, wanted: CallFilter, undone: frozenset[int]) -> bool:
    """The plainest reading of a filter."""
    ending: str = call.outcome
    if ending == "committed":
        ending = "rolled back" if not call.committed else "undone" if call.transaction in undone else "ok"
    texts = (
        call.arguments,
        json.dumps(json.loads(call.arguments), ensure_ascii=False),
        call.rendered,
        call.tool,
        call.call_id,
        str(call.decisions),
        str(call.error),
        *(change.path for change in call.changes),
    )
    return (
        wanted.session in ("", None, call.session)
        and wanted.tool in ("", None, call.tool)
        and wanted.outcome in ("", None, ending)
        and ending == call.word
        and (not wanted.path or any(wanted.path.lower() in change.path.lower() for change in call.changes))
        and (not wanted.text or any(wanted.text.lower() in text.lower() for text in texts))
    )


WANTED = st.builds(
    CallFilter,
    session=st.sampled_from(["", None, "one", "three"]),
    tool=st.sampled_from(["", *TOOLS]),
    outcome=st.sampled_from(["", *WORDS]),
    path=st.sampled_from(["", "_", "%", "a.PY", "more/", "d/e"]),
    text=st.sampled_from(["", "100%", "ünïcode 3", "n_", "Unknown", "file_path"]),
)


def test_pages_hold_what_a_reader_of_every_row_finds(tmp_path: Path) -> None:
    """Whatever the filters are, page by page, newest first; nothing twice, nothing left out."""
    with Workspace.open(place_at(tmp_path / "p")) as workspace:
        worked(workspace, 4711, 60)
        calls, undone, queries = workspace.calls(), workspace.undone(), workspace.record.queries

        @settings(deadline=None, max_examples=150)
        @given(WANTED, st.integers(1, 9))
        def check(wanted: CallFilter, size: int) -> None:
            expected = [call.position for call in calls if fits(call, wanted, undone)]
            found: list[CallView] = []
            while page := queries.page(
                wanted, before=found[-1].position if found else None, limit=size, brief=True, width=9
            ):
                found += page
            assert [call.position for call in found] == expected
            assert queries.count(wanted) == len(expected)

        check()
        by_position = {call.position: call for call in calls}
        for line in queries.page(limit=None, brief=True, width=9):
            call = by_position[line.position]
            first = (call.arguments[:9], "", call.changes[:3])
            assert line == call._replace(arguments=first[0], rendered=first[1], changes=first[2])
            assert line.changed == len(call.changes)
        words = Counter(call.word for call in calls)
        assert {word: queries.count(CallFilter(outcome=word)) for word in words} == words


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
