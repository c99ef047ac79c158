"""Scripts of model turns: what they can say, and how each mistake in one is told."""

from __future__ import annotations

import pytest
from tests.adapters.test_loop import call, fail, note, prompt_of

from wink.adapters import Expectation, ModelTurn, ScriptedAdapter, ScriptedTurn, parse_script
from wink.errors import ScriptError, ScriptMismatch
from wink.runtime import ToolCall, ToolReply
from wink.session import Session
from wink.tools import ToolResult

FULL = """
task = "Fix it."

[[turn]]
text = "  I look first.  "

[[turn.call]]
tool = "note"
arguments = { text = "one" }
expect = { success = true, contains = ["noted", "one"], lacks = "two" }

[[turn.call]]
tool = "note"
arguments = "{not json"
expect = { success = false }

[[turn]]
text = "Done."
"""


def test_a_script_says_everything_that_a_model_can() -> None:
    """Text, tables as arguments, and a raw string where a model's bad JSON is wanted."""
    script = parse_script(FULL, name="full.toml")

    assert (script.name, script.task) == ("full.toml", "Fix it.")
    assert [turn.turn.text for turn in script.turns] == ["I look first.", "Done."]
    assert [one.arguments for one in script.turns[0].turn.calls] == ['{"text": "one"}', "{not json"]
    assert script.turns[0].expectations == (
        Expectation(True, ("noted", "one"), ("two",)),
        Expectation(False),
    )


def test_a_script_can_be_played_twice() -> None:
    """Each evaluation begins at the first turn, and expectations are checked each time."""
    adapter = ScriptedAdapter.from_script(parse_script(FULL))

    for _ in range(2):
        assert adapter.evaluate(prompt_of(note), session=Session()).text == "Done."


def turn(text: str) -> str:
    return f'[[turn]]\n[[turn.call]]\ntool = "ls"\n{text}'


MISTAKES = [
    ("[[turn", "s: not valid TOML: "),
    ("", "s: has no turns; begin one with [[turn]]"),
    ("turns = []", "s: does not know 'turns'; it takes task, turn"),
    ("task = 1\n[[turn]]\ntext = 'x'", "s: task must be a string"),
    ("turn = 1", "s: turn must be a list of tables; write [[turn]]"),
    ("turn = [1]", "s: turn must be a list of tables; write [[turn]]"),
    ("[[turn]]\ntext = 1", "s, turn 1: text must be a string"),
    ("[[turn]]", "s, turn 1: says nothing; give it a text or a [[turn.call]]"),
    ("[[turn]]\ntxt = 'x'", "s, turn 1: does not know 'txt'; it takes call, text"),
    ("[[turn]]\ncall = 1", "s, turn 1: call must be a list of tables; write [[turn.call]]"),
    ("[[turn]]\n[[turn.call]]", 's, turn 1, call 1: needs the name of a tool: tool = "…"'),
    ("[[turn]]\n[[turn.call]]\ntool = 1", "s, turn 1, call 1: tool must be a string"),
    (turn("args = {}"), "s, turn 1, call 1: does not know 'args'; it takes arguments, expect, tool"),
    (turn("arguments = 1"), "s, turn 1, call 1: arguments must be a table, or a string with JSON"),
    (turn("arguments = { at = 2020-01-01 }"), "s, turn 1, call 1: arguments that JSON cannot express: "),
    (turn("arguments = { at = nan }"), "s, turn 1, call 1: arguments that JSON cannot express: "),
    (turn("expect = 1"), "s, turn 1, call 1: expect must be a table"),
    (turn("expect = { ok = true }"), "s, turn 1, call 1, expect: does not know 'ok'; it takes contains, "),
    (turn("expect = { success = 1 }"), "s, turn 1, call 1: expect.success must be true or false"),
    (turn("expect = { equals = 1 }"), "s, turn 1, call 1: expect.equals must be a string"),
    (turn("expect = { contains = 1 }"), "s, turn 1, call 1: expect.contains must be a string or a list of strings"),
    (turn("expect = { lacks = [1] }"), "s, turn 1, call 1: expect.lacks must be a string or a list of strings"),
    ("[[turn]]\ntext = 'x'\n[[turn]]\ntext = 'y'", "s, turn 1: calls no tool, so the run would end here; "),
]


@pytest.mark.parametrize(("text", "expected"), MISTAKES, ids=[expected[:50] for _, expected in MISTAKES])
def test_a_mistake_is_told_with_its_place(text: str, expected: str) -> None:
    """A person wrote the script by hand, and fixes it by what this says."""
    with pytest.raises(ScriptError) as raised:
        parse_script(text, name="s")

    assert str(raised.value).startswith(expected)


def reply(text: str = "a b", *, success: bool = True) -> ToolReply:
    return ToolReply("1", "ls", text, success, ToolResult(text))


@pytest.mark.parametrize(
    ("expectation", "expected"),
    [
        (Expectation(), None),
        (Expectation(True, ("a", "b"), ("c",), "a b"), None),
        (Expectation(False), "expected a failure, but the call succeeded: a b"),
        (Expectation(contains=("a", "c")), "expected a reply with 'c' in it, but got: a b"),
        (Expectation(lacks=("c", "b")), "expected a reply without 'b', but got: a b"),
        (Expectation(equals="a"), "expected the reply 'a', but got: a b"),
    ],
)
def test_an_expectation_says_how_a_reply_differs(expectation: Expectation, expected: str | None) -> None:
    """All that it says must hold."""
    assert expectation.problem(reply()) == expected


def test_a_failure_where_success_was_expected_shows_the_reply() -> None:
    """It is the first thing that one wants to know."""
    assert Expectation(True).problem(reply("no", success=False)) == "expected success, but the call failed: no"


@pytest.mark.parametrize("last", [False, True], ids=["with a turn after it", "as the last turn"])
def test_a_run_that_goes_another_way_is_stopped(last: bool) -> None:
    """Also after the last turn: what it expects is checked before the evaluation ends."""
    turns = [ScriptedTurn(ModelTurn(calls=(call("note"), call("fail"))), (Expectation(True), Expectation(True)))]
    adapter = ScriptedAdapter(turns if last else [*turns, "Done."], name="run.toml")

    with pytest.raises(ScriptMismatch) as raised:
        adapter.evaluate(prompt_of(note, fail), session=Session())

    assert raised.value.where == "run.toml, turn 1, call 2 (fail)"
    assert raised.value.problem.startswith("expected success, but the call failed: fail failed with ValueError")


def test_turns_may_be_given_in_python() -> None:
    """Text, a call, several calls, a turn, or a function of the conversation."""
    adapter = ScriptedAdapter(
        [
            call("note", "1"),
            [call("note", "2"), call("note", "3")],
            ModelTurn(calls=(call("note", "4"),)),
            lambda conversation: ModelTurn(f"{len(conversation.exchanges)} exchanges"),
        ]
    )
    session = Session()

    response = adapter.evaluate(prompt_of(note), session=session)

    assert response.text == "3 exchanges"
    assert isinstance(adapter.turns[0], ModelTurn)


def test_an_adapter_that_has_nothing_left_to_say_ends_the_run() -> None:
    """With an empty text, rather than with an error in the middle of somebody's test."""
    assert ScriptedAdapter([ToolCall("note", "{}")]).evaluate(prompt_of(note), session=Session()).text == ""
