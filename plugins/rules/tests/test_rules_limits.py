"""Rules about what has to come first, and how often something may succeed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugins.rules.tests.rules_world import World

from wink.errors import ReducerError
from wink.policies import RuleState
from wink.session import Session
from wink.workspace import Workspace
from wink_rules import Rule


def test_a_tool_waits_for_another_to_succeed() -> None:
    """The model reads what to call first."""
    world = World([Rule(tools="deploy", requires="run_tests", reason="nothing untested goes out")])

    reply = world.call("deploy")
    assert reply.text == "deploy needs run_tests to have succeeded first; call run_tests (nothing untested goes out)"
    assert world.call("run_tests").success
    assert world.call("deploy").success


def test_all_that_is_required_has_to_succeed() -> None:
    """One of several is not enough."""
    world = World([Rule(tools="deploy", requires=["run_tests", "other"])])
    world.call("run_tests")

    assert not world.call("deploy").success
    world.call("other")
    assert world.call("deploy").success


def test_a_failure_does_not_count() -> None:
    """Having tried is not having done."""
    world = World([Rule(tools="deploy", requires="read_file"), Rule(tools="read_file", at_most=1)])
    assert not world.call("read_file", path="missing").success

    assert not world.call("deploy").success
    world.files.write("a", "x")
    assert world.call("read_file", path="a").success
    assert world.call("deploy").success
    assert not world.call("read_file", path="a").success


def test_the_same_path_may_be_required() -> None:
    """Another file's reading is none of this one's; what is not there yet needs nothing."""
    world = World([Rule(tools=["write_file", "move_file"], requires="read_file", same_path=True)])
    world.files.write("a", "x")
    world.files.write("b", "x")

    assert world.call("read_file", path="./x/../a").success
    assert world.call("write_file", path="a").success
    assert (
        world.call("write_file", path="b").text
        == "write_file needs read_file to have succeeded for 'b' first; call read_file for it"
    )
    assert world.call("write_file", path="new").success
    assert world.call("move_file", source_path="a", target_path="c").success
    assert not world.call("move_file", source_path="b", target_path="d").success


@pytest.mark.parametrize("action", ["deny", "ask", "allow"])
def test_so_many_may_succeed(action: Any) -> None:
    """The call after the last one is denied, or a person's business."""
    rule = Rule(action, tools="run_tests", at_most=2)
    world = World([rule], default="deny" if action == "allow" else "allow")

    assert [world.call("run_tests").success for _ in range(3)] == [True, True, False]
    assert world.answer("run_tests") == ("ask" if action == "ask" else "deny")
    assert "may succeed 2 times in a session" in (world.decide("run_tests").reason or "")


def test_only_the_calls_that_a_limit_is_about_are_counted() -> None:
    """Arguments and paths choose what is counted."""
    world = World(
        [
            Rule(tools="write_file", paths="log/**", at_most=1),
            Rule(tools="deploy", arguments={"force": True}, at_most=1),
        ]
    )

    assert world.call("write_file", path="a").success
    assert world.call("write_file", path="log/a").success
    assert not world.call("write_file", path="log/b").success
    assert world.call("write_file", path="b").success
    assert [world.call("deploy", force=force).success for force in (False, True, True, False)] == [
        True,
        True,
        False,
        True,
    ]


def test_a_limit_says_nothing_of_what_keeps_to_it() -> None:
    """Where everything is denied by default, a limit alone allows nothing."""
    assert World([Rule(tools="run_tests", at_most=3)], default="deny").answer("run_tests") == "deny"


def test_two_limits_of_one_kind_of_calls_count_together() -> None:
    """A second file of settings may be stricter."""
    world = World([Rule(tools="run_tests", at_most=3), Rule(tools="run_tests", at_most=1)])

    assert [world.call("run_tests").success for _ in range(2)] == [True, False]


def test_memory_goes_back_with_the_session() -> None:
    """What was taken back has not happened."""
    world = World([Rule(tools="run_tests", at_most=1)])
    before = world.session.snapshot()
    world.call("run_tests")
    assert world.answer("run_tests") == "deny"

    world.session.restore(before)

    assert world.answer("run_tests") == "allow"


def test_memory_survives_the_process_and_is_undone_with_the_call(tmp_path: Path) -> None:
    """A limit that a restart lifted would be none; one that an undo did not lift would count what never was."""
    rules = [Rule(tools="write_file", at_most=1), Rule(tools="deploy", requires="write_file")]
    with Workspace.open(tmp_path) as workspace:
        world = _in(workspace, rules)
        assert world.call("write_file", path="a").success
    with Workspace.open(tmp_path) as workspace:
        world = _in(workspace, rules)
        assert not world.call("write_file", path="b").success
        assert world.answer("deploy") == "allow"

        workspace.undo()

        assert world.answer("deploy") == "deny"
        assert world.call("write_file", path="b").success


def _in(workspace: Workspace, rules: list[Rule]) -> World:
    world = World(rules, workspace.filesystem)
    world.session = workspace.session()
    from wink.runtime import ToolExecutor

    rendered = world.prompt.render(session=world.session)
    world.executor = ToolExecutor(prompt=world.prompt, rendered=rendered, session=world.session)
    return world


def test_a_call_that_fails_later_is_not_counted() -> None:
    """Counting is part of the call, and goes when the call goes."""
    world = World([Rule(tools="run_script", at_most=1), Rule("deny", paths="secret")])
    assert not world.call("run_script", command="write secret").success

    assert world.call("run_script", command="write open").success
    assert not world.call("run_script", command="write open").success


def test_the_last_one_is_not_taken_twice() -> None:
    """Two calls side by side may both have been let through; only one of them can be kept."""
    from wink_rules._memory import count_up

    session = Session()
    one, other = session.begin(), session.begin()
    for part in (one, other):
        token = part.enter()
        count_up(session, "key", 1, "once, and no more")
        part.exit(token)
    for part in (one, other):
        part.revoke()
    one.prepare()
    one.publish()

    with pytest.raises(ReducerError, match="once, and no more"):
        other.prepare()
    other.undo()
    assert session[RuleState].all() == (RuleState("key", 1),)


def test_calls_of_one_turn_are_counted_one_after_the_other() -> None:
    """Reads run side by side, and end in the model's order."""
    from wink.runtime import ToolCall

    world = World([Rule(tools="read_file", at_most=2)])
    world.files.write("a", "x")

    replies = world.executor.execute_batch([ToolCall("read_file", {"path": "a"})] * 4)

    assert [reply.success for reply in replies] == [True, True, False, False]


@given(st.lists(st.sampled_from(["run_tests", "other", "deploy"]), max_size=12), st.integers(1, 3))
def test_limits_hold_in_any_order_of_calls(calls: list[str], most: int) -> None:
    """Against the plainest bookkeeping there is."""
    world = World([Rule(tools="deploy", requires=["run_tests"]), Rule(tools=["deploy", "other"], at_most=most)])
    done: list[str] = []

    for name in calls:
        counted = len([one for one in done if one != "run_tests"])
        expected = (name != "deploy" or "run_tests" in done) and (name == "run_tests" or counted < most)
        assert world.call(name).success == expected
        if expected:
            done.append(name)
