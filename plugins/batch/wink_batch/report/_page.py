"""A page about a batch, in one file that needs nothing else: numbers, what failed and why, every task with its patch."""

from __future__ import annotations

import html
import json
from typing import Any, Final

from wink_batch._journal import Batch
from wink_batch._results import Row
from wink_batch.report._summary import lines, summary

_LONGEST_PATCH: Final = 20_000

_STYLE: Final = """
:root { color-scheme: light dark; --line: #8884; --good: #1a7f37; --bad: #cf222e; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { position: sticky; top: 0; background: Canvas; } pre { overflow: auto; max-height: 30rem; background: #8881; padding: .6rem; white-space: pre-wrap; }
.done { color: var(--good); } .failed { color: var(--bad); } .number { text-align: right; font-variant-numeric: tabular-nums; }
input { font: inherit; padding: .3rem .6rem; width: 20rem; max-width: 100%; }
"""

_SCRIPT: Final = """
const box = document.getElementById("find");
box.addEventListener("input", () => { for (const row of document.querySelectorAll("tbody.task"))
  row.hidden = !row.dataset.text.includes(box.value.toLowerCase()); });
"""


def facts(batch: Batch) -> dict[str, Any]:
    """What a page shows, as plain values: the batch, its numbers, and one row a task."""
    numbers = summary(tuple(batch.tasks), batch.results, judged=bool(batch.plan.check))
    return {
        "name": batch.plan.name,
        "directory": batch.directory,
        "running": batch.is_running,
        "plan": {name: value for name, value in batch.plan.to_json().items() if name not in ("paths", "cache")},
        "summary": numbers.to_json(),
        "lines": lines(numbers),
        "tasks": [{"task": task.to_row(), "result": batch.results.get(name)} for name, task in batch.tasks.items()],
    }


def page(batch: Batch) -> str:
    """The page."""
    shown = facts(batch)
    head = "".join(f"<li>{_text(line.strip())}</li>" for line in shown["lines"])
    rows = "".join(_row(batch, one["task"], one["result"]) for one in shown["tasks"])
    title = _text(shown["name"])
    state = "running" if shown["running"] else "over" if not shown["summary"]["left"] else "not over"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{_STYLE}</style><h1>{title}</h1><p>{state}</p><ul>{head}</ul>"
        f'<p><label>Find <input id="find" type="search"></label></p><table><thead><tr><th>Task<th>Status'
        f'<th class="number">Seconds<th class="number">Tokens<th>Changed<th>What it came to</tr></thead>{rows}</table>'
        f"<script>{_SCRIPT}</script></html>\n"
    )


def _row(batch: Batch, task: dict[str, Any], result: Row | None) -> str:
    prompt = str(task.get("prompt", ""))
    if result is None:
        return (
            f'<tbody class="task" data-text="{_text((task["id"] + prompt).lower())}"><tr><td>{_text(task["id"])}'
            f"<td>not over<td><td><td><td>{_text(prompt[:200])}</tr></tbody>"
        )
    status = result["status"] if result.get("passed") is None else "passed" if result["passed"] else "not passed"
    tone = "done" if result["status"] == "done" and result.get("passed") is not False else "failed"
    said = result["message"] or result["text"]
    parts = [
        ("Prompt", prompt),
        ("Answer", result["text"]),
        ("Problem", result["message"]),
        ("Check", result["verdict"]),
    ]
    if result["output"] is not None:
        parts.append(("Output", json.dumps(result["output"], indent=2, ensure_ascii=False)))
    patch = batch.file(result, "patch").decode("utf-8", "replace")
    if len(patch) > _LONGEST_PATCH:
        patch = f"{patch[:_LONGEST_PATCH]}\n… {len(patch) - _LONGEST_PATCH} more characters in {result['patch']}"
    parts.append(("Changes", patch))
    more = "".join(f"<h4>{word}</h4><pre>{_text(text)}</pre>" for word, text in parts if text)
    find = f"{task['id']} {status} {result['cause']} {said}".lower()
    return (
        f'<tbody class="task" data-text="{_text(find)}"><tr><td>{_text(task["id"])}<td class="{tone}">{_text(status)}'
        f'<td class="number">{result["seconds"]:.1f}<td class="number">{result["tokens"]}<td>{len(result["changed"])}'
        f"<td><details><summary>{_text((said.splitlines() or [''])[0][:200])}</summary>{more}</details></tr></tbody>"
    )


def _text(text: str) -> str:
    return html.escape(text, quote=True)
