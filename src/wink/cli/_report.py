"""Put a session into one page that a person can read anywhere: no scripts, nothing from elsewhere, everything as text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from typing import Any, Final, cast

from wink.cli._report_style import STYLE
from wink.cli._shorten import arguments, fit, visible
from wink.filesystem import FileChange, FileVersion
from wink.record import Masking, moment
from wink.workspace.bundles import Call, Change, Exported, Run, Side

_LINES: Final = 400
"""So many lines of one diff or reply are shown."""
_HEAD: Final = (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">'
)
_WORDS: Final = {
    "ok": "good",
    "undone": "past",
    "rolled back": "warn",
    "denied": "bad",
    "raised": "bad",
    "unknown": "bad",
}


def report(session: Exported, masking: Masking) -> str:
    """The page."""
    return "".join(_page(session, masking))


def _page(session: Exported, masking: Masking) -> Iterator[str]:
    taken_back = _taken_back(session)
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
    for call in session.calls:
        yield from _call(call, call.transaction in taken_back, masking)
    yield "</main></body></html>\n"


def _run(run: Run) -> Iterator[str]:
    try:
        task = str(json.loads(run.plan).get("task", ""))
    except (ValueError, AttributeError):
        task = ""
    yield f'<section class="run"><h3>r{run.number} {_text(run.state)}</h3>'
    used = f"{run.turns} turns, {run.input_tokens:,} tokens in, {run.output_tokens:,} out"
    seconds = (run.changed_at - run.started_at) / 1_000_000
    yield f"<p>{_text(task)}</p><p class=quiet>{_when(run.started_at)} · {seconds:.1f} s · {used}</p>"
    if run.problem:
        yield f"<p class=bad>{_text(run.problem)}</p>"
    for one in run.prompts:
        yield f"<details><summary>prompt {one.number}, {len(one.text):,} characters</summary>{_pre(one.text)}"
        yield f"<p class=quiet>tools: {_text(', '.join(one.tools))}</p></details>"
    yield "</section>"


def _call(call: Call, is_undone: bool, masking: Masking) -> Iterator[str]:
    word = call.outcome
    if word == "committed":
        word = "undone" if is_undone else "ok" if call.committed else "rolled back"  # type: ignore[assignment]
    given = _json(call.arguments)
    short = arguments(cast("object", given), 80) if isinstance(given, dict) else fit(str(given), 80)
    tone = _WORDS.get(word, "warn")
    yield f'<section class="call" id="c{call.number}"><h3><a href="#c{call.number}">c{call.number}</a> '
    yield f'<span class="{tone}">{_text(word)}</span> <code>{_text(call.tool)}</code> <small>{_text(short)}</small></h3>'
    facts = [
        _when(call.started_at),
        f"{call.duration / 1000:.1f} ms",
        call.run,
        f"a{call.approval}" if call.approval else "",
    ]
    yield f"<p class=quiet>{_text(' · '.join(fact for fact in facts if fact))}</p>"
    for policy, allowed, reason, asks in call.decisions:
        if not allowed or reason:
            said = "allowed" if allowed else "asked a person" if asks else "denied"
            yield f"<p>{_text(policy)}: {said}{_text(f', {reason}') if reason else ''}</p>"
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
    kind = "created" if change.before is None else "deleted" if change.after is None else "modified"
    origin = f", from {change.moved_from}" if change.moved_from else ""
    yield f"<details open><summary>{kind} <code>{_text(change.path)}</code>{_text(origin)}</summary><pre class=diff>"
    lines = masking.text(_change(change).diff()).splitlines()
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
    content = None if side.content is None else side.content.encode()
    return FileVersion(side.kind, side.size, side.mode, side.target, None if content is None else lambda: content)


def _taken_back(session: Exported) -> set[int]:
    undone: set[int] = set()
    for call in reversed(session.calls):
        if call.takes_back and call.transaction not in undone:
            undone.update(call.takes_back)
    return undone


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


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
