"""Tell what models said, with the calls that they made, in lines for a person and in rows for machines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from wink.cli._calls import json_of_call
from wink.cli._changed import touched
from wink.cli._shorten import arguments, fit, visible

if TYPE_CHECKING:
    from wink.limits import TokenUsage
    from wink.record import CallView, PromptRow, RunRow, Said
    from wink.workspace import Workspace

_WIDTH: Final = 100
PROMPT_LINES: Final = 12
"""So many lines of a prompt are shown unless all of it is wanted."""


def said_in(opened: Workspace, calls: Iterable[CallView]) -> Iterator[CallView | tuple[str, Said]]:
    """Calls, oldest first, and before those that a run's turn begins with, that run and what the model said in it."""
    runs = opened.record.runs
    waiting: dict[str, list[Said]] = {}
    known = {f"r{row.number}": row for row in runs.rows()}
    for call in calls:
        if call.run and call.run not in waiting and call.run in known:
            number = known[call.run].number
            first = runs.turn_of(number, call.position)
            waiting[call.run] = list(reversed(runs.said(number, after=first - 1))) if first else []
        turns = waiting.get(call.run, [])
        while turns and turns[-1].position < call.position:
            yield call.run, turns.pop()
        yield call
    for run, turns in waiting.items():
        # What was said after the last of the calls: the answer, where the run was over then.
        yield from ((run, said) for said in reversed(turns) if known[run].state == "ended")


def turn_of(opened: Workspace, call: CallView) -> Said | None:
    """What the model said in the turn that made a call."""
    number = call.run.removeprefix("r")
    if not number.isascii() or not number.isdigit():
        return None
    runs = opened.record.runs
    turn = runs.turn_of(int(number), call.position)
    return next(iter(runs.said(int(number), after=turn - 1, limit=1)), None) if turn else None


def said_lines(said: Said, indent: str = "  ") -> Iterator[str]:
    """The words of a turn, whole."""
    if said.thinking:
        yield f"{indent}(thinking)"
        yield from _indented(said.thinking, f"{indent}| ")
    yield from _indented(said.text, indent)


def note_lines(said: Said, indent: str = "  ") -> Iterator[str]:
    """What the run said to the model after a turn."""
    if said.note:
        yield f"{indent}(the run told the model)"
        yield from _indented(said.note, f"{indent}> ")


def call_line(call: CallView, indent: str = "  ") -> str:
    """One call, on a line of a story."""
    changed = f"  [{touched(call.changes)}]" if call.changes and call.word in ("ok", "undone") else ""
    front = f"{indent}c{call.position}  {call.word}  "
    room = max(_WIDTH - len(front) - len(call.tool) - len(changed) - 1, 20)
    return f"{front}{fit(f'{call.tool} {arguments(call.values, room)}'.rstrip(), room + len(call.tool) + 1)}{changed}"


def run_lines(opened: Workspace, row: RunRow, *, prompts: bool) -> Iterator[str]:
    """A run from what it was asked to its answer; what is printed still has to be made `visible`."""
    table = opened.record.runs
    seconds = (row.changed_at - row.started_at).total_seconds()
    yield f"r{row.number}  {table.standing(row)}"
    yield f"{row.started_at.astimezone():%Y-%m-%d %H:%M:%S}, {seconds:.1f} s, session {row.session}"
    for model, turns, used in table.tokens(row.number):
        yield f"{model or 'a model'}: {turns} turn{'' if turns == 1 else 's'}, {tokens_text(used)}"
    if row.fork is not None:
        yield f"a copy of r{row.fork.run}, from its turn {row.fork.turn}"
    if row.problem:
        yield f"problem: {row.problem}"
    if row.task:
        yield "\nasked:"
        yield from _indented(row.task, "  ")
    for prompt in table.prompts(row.number):
        yield from _prompt(prompt, whole=prompts)
    after, has_any = 0, False
    while turns := opened.record.queries.story(row.number, after=after):
        for said, calls in turns:
            has_any = has_any or said is not None
            yield f"\n{'before anything that is kept of what was said' if said is None else f'turn {said.number}'}:"
            if said is not None:
                after = said.number
                yield from said_lines(said)
            yield from (call_line(call) for call in calls)
            if said is not None:
                yield from note_lines(said)
        if turns[-1].said is None:
            break
    if not has_any:
        yield "\nwhat the model said is not kept of this run"


def tokens_text(used: TokenUsage) -> str:
    """Tokens in words."""
    cached = f" ({used.cached_tokens:,} cached)" if used.cached_tokens else ""
    return f"{used.input_tokens:,} tokens in{cached}, {used.output_tokens:,} out"


def _prompt(prompt: PromptRow, *, whole: bool) -> Iterator[str]:
    lines = prompt.text.split("\n")
    shown = lines if whole else lines[:PROMPT_LINES]
    yield f"\nprompt {prompt.number}, {prompt.prompt}, {len(prompt.text):,} characters, {len(prompt.tools)} tools:"
    yield from (f"  {line}".rstrip() for line in shown)
    if len(shown) < len(lines):
        yield f"  … {len(lines) - len(shown)} more lines (--prompt shows them)"


def _indented(text: str, indent: str) -> Iterator[str]:
    if text:
        yield from (f"{indent}{visible(line)}".rstrip() for line in text.rstrip("\n").split("\n"))


def json_of_said(said: Said) -> dict[str, Any]:
    """A turn for machines."""
    used = said.usage
    return {
        "turn": said.number,
        "at": said.at.isoformat(),
        "model": said.model or None,
        "text": said.text,
        "thinking": said.thinking or None,
        "note": said.note or None,
        "tokens": {"input": used.input_tokens, "output": used.output_tokens, "cached": used.cached_tokens},
    }


def json_of_run(opened: Workspace, row: RunRow) -> dict[str, Any]:
    """A run for machines, whole."""
    table = opened.record.runs
    turns: list[dict[str, Any]] = []
    after = 0
    while found := opened.record.queries.story(row.number, after=after):
        for said, calls in found:
            told = {} if said is None else json_of_said(said)
            turns.append({**told, "calls": [json_of_call(call) for call in calls]})
            after = after if said is None else said.number
        if found[-1].said is None:
            break
    return {
        "run": f"r{row.number}",
        "state": table.standing(row),
        "session": row.session,
        "task": row.task or None,
        "problem": row.problem or None,
        "fork": None if row.fork is None else {"run": f"r{row.fork.run}", "turn": row.fork.turn},
        "started_at": row.started_at.isoformat(),
        "changed_at": row.changed_at.isoformat(),
        "prompts": [
            {"prompt": one.prompt, "text": one.text, "tools": list(one.tools)} for one in table.prompts(row.number)
        ],
        "turns": turns,
    }
