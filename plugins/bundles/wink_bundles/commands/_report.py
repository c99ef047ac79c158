"""Put a session into one page that a person can read anywhere: no scripts, nothing from elsewhere, everything as text."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator
from html import escape
from typing import TYPE_CHECKING, Any, Final

from wink.cli import arguments, decided, diff_lines, visible
from wink.filesystem import FileChange, FileVersion
from wink.record import Masking, moment, role_of, task_of, values_of, word_of
from wink_bundles.commands._report_style import STYLE

if TYPE_CHECKING:
    from wink_bundles import Call, Change, Exported, Run, Side, Turn

_LINES: Final = 400
"""So many lines of one diff or reply are shown."""
_HEAD: Final = (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">'
)


def report(session: Exported, undone: Container[int], masking: Masking) -> str:
    """The page; `undone` are the transactions that are taken back."""
    return "".join(_page(session, undone, masking))


def _page(session: Exported, undone: Container[int], masking: Masking) -> Iterator[str]:
    yield f"{_HEAD}<title>Session {_text(session.session)}</title><style>{STYLE}</style></head><body><main>"
    changed = sorted({change.path for call in session.calls if call.committed for change in call.changes})
    tokens = sum(run.input_tokens + run.output_tokens for run in session.runs)
    yield f"<h1>Session {_text(session.session)}</h1><p>"
    parts = [f"{len(session.calls)} calls", f"{len(changed)} paths changed", f"{len(session.runs)} runs"]
    parts += [f"{tokens:,} tokens"] if tokens else []
    if session.calls:
        parts.append(f"{_when(session.calls[0].started_at)} to {_when(session.calls[-1].started_at)}")
    yield f"{' · '.join(parts)}. Secrets are masked.</p>"
    if session.runs:
        yield "<h2>Runs</h2>"
        for run in session.runs:
            yield from _run(run)
    yield "<h2>Calls</h2>"
    if not session.calls:
        yield "<p>None.</p>"
    turns = sorted(((one.position, run.number, one) for run in session.runs for one in run.said), key=lambda at: at[:2])
    for call in session.calls:
        while turns and turns[0][0] < call.number:
            yield from _turn(*turns.pop(0)[1:])
        yield from _call(call, call.transaction in undone, masking)
    for _, run, turn in turns:
        yield from _turn(run, turn)
    yield "</main></body></html>\n"


def _run(run: Run) -> Iterator[str]:
    yield f'<section class="run"><h3>r{run.number} {_text(run.state)}</h3>'
    used = f"{run.turns} turns, {run.input_tokens:,} tokens in, {run.output_tokens:,} out"
    seconds = (run.changed_at - run.started_at) / 1_000_000
    yield f"<p>{_text(task_of(run.plan))}</p><p class=quiet>{_when(run.started_at)} · {seconds:.1f} s · {used}</p>"
    if run.problem:
        yield f"<p class=bad>{_text(run.problem)}</p>"
    for one in run.prompts:
        yield f"<details><summary>prompt {one.number}, {len(one.text):,} characters</summary>{_pre(one.text)}"
        yield f"<p class=quiet>tools: {_text(', '.join(one.tools))}</p></details>"
    yield "</section>"


def _turn(run: int, turn: Turn) -> Iterator[str]:
    if not (turn.text or turn.thinking or turn.note):
        return
    yield f'<section class="said" id="r{run}.{turn.number}"><h3>r{run}, turn {turn.number} <small>{_text(turn.model)}</small></h3>'
    if turn.thinking:
        yield f"<details><summary>thinking, {len(turn.thinking):,} characters</summary>{_pre(turn.thinking)}</details>"
    yield _pre(turn.text) if turn.text else ""
    if turn.note:
        yield f"<details><summary>the run told the model</summary>{_pre(turn.note)}</details>"
    yield "</section>"


def _call(call: Call, is_undone: bool, masking: Masking) -> Iterator[str]:
    word, given = word_of(call.outcome, committed=call.committed, undone=is_undone), values_of(call.arguments)
    yield f'<section class="call" id="c{call.number}"><h3><a href="#c{call.number}">c{call.number}</a> '
    yield f'<span class="{role_of(word)}">{_text(word)}</span> <code>{_text(call.tool)}</code> <small>{_text(arguments(given, 80))}</small></h3>'
    facts = [
        _when(call.started_at),
        f"{call.duration / 1000:.1f} ms",
        call.run,
        f"a{call.approval}" if call.approval else "",
    ]
    yield f"<p class=quiet>{_text(' · '.join(fact for fact in facts if fact))}</p>"
    for line in decided(one for one in call.decisions if not one[1] or one[2]):
        yield f"<p>{_text(line)}</p>"
    yield f"<details><summary>arguments</summary>{_pre(_pretty(given))}</details>"
    yield f"<details><summary>reply, {len(call.reply):,} characters</summary>{_pre(call.reply)}</details>"
    if call.error:
        yield f"<details><summary>error</summary>{_pre(call.error)}</details>"
    if call.changes and not call.committed:
        yield "<p class=quiet>It was taken back; it had changed:</p>"
    for change in call.changes:
        yield from _diff(change, masking)
    yield "</section>"


def _diff(change: Change, masking: Masking) -> Iterator[str]:
    made = _change(change)
    origin = f", from {change.moved_from}" if change.moved_from else ""
    yield f"<details open><summary>{made.kind} <code>{_text(change.path)}</code>{_text(origin)}</summary><pre class=diff>"
    lines = diff_lines(masking.text(made.diff()))
    for line in lines[:_LINES]:
        tone = "at" if line.startswith("@@") else "add" if line[:1] == "+" else "del" if line[:1] == "-" else ""
        yield f'<span class="{tone}">{_text(line)}</span>\n' if tone else f"{_text(line)}\n"
    if len(lines) > _LINES:
        yield f"<i>… {len(lines) - _LINES} more lines</i>"
    yield "</pre></details>"


def _change(change: Change) -> FileChange:
    return FileChange(change.path, _version(change.before), _version(change.after), change.moved_from)


def _version(side: Side | None) -> FileVersion | None:
    if side is None:
        return None
    if side.content is None:
        return FileVersion(side.kind, side.size, side.mode, side.target, find_digest=lambda: side.digest)
    content = side.content.encode()
    return FileVersion(side.kind, side.size, side.mode, side.target, lambda: content)


def _pretty(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, indent=2, ensure_ascii=False)


def _pre(text: str) -> str:
    lines = text.split("\n")
    more = f"\n<i>… {len(lines) - _LINES} more lines</i>" if len(lines) > _LINES else ""
    return f"<pre>{_text(chr(10).join(lines[:_LINES]))}{more}</pre>"


def _text(text: str) -> str:
    """Text as text: no markup, nothing that turns the direction of writing, no control characters."""
    return escape(visible(text))


def _when(at: int) -> str:
    return f"{moment(at):%Y-%m-%d %H:%M:%S} UTC"
