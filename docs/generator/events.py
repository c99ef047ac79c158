"""Everything that subscribers of a session are told, and everything that can be dispatched to its state."""

from __future__ import annotations

from typing import Final

import wink_planning as planning
from docs.generator.source import cell, dataclass_fields, doc, table
from wink import adapters, prompt, runtime, session

TOLD: Final[tuple[type, ...]] = (
    runtime.PromptRendered,
    runtime.RenderedTools,
    adapters.RequestSent,
    adapters.ModelDelta,
    adapters.RequestFailed,
    adapters.ModelReplied,
    runtime.ToolInvoked,
    runtime.ResultKept,
    runtime.ApprovalRequested,
    runtime.ApprovalAnswered,
    adapters.ModelTold,
    prompt.Feedback,
    runtime.PromptExecuted,
)
"""In the order in which a run tells of them."""
DISPATCHED: Final[tuple[type, ...]] = (
    session.InitializeSlice,
    session.ClearSlice,
    prompt.SetVisibilityOverride,
    prompt.ClearVisibilityOverride,
    prompt.ClearAllVisibilityOverrides,
    planning.SetupPlan,
    planning.AddStep,
    planning.UpdateStep,
)


def blocks() -> dict[str, str]:
    """Both kinds."""
    return {
        "told": "\n\n".join(map(_section, TOLD)),
        "dispatched": "\n\n".join(map(_section, DISPATCHED)),
    }


def _section(cls: type) -> str:
    rows = [
        [cell(one.name, code=True), cell(one.type, code=True), cell(one.default, code=True), cell(one.text)]
        for one in dataclass_fields(cls)
    ]
    head = ["field", "type", "default", ""]
    if not any(row[3] for row in rows):
        head, rows = head[:3], [row[:3] for row in rows]
    package = cls.__module__.partition("._")[0]
    shown = table(head, rows) or "It has no fields."
    return f"### `{cls.__name__}`\n\n{doc(cls)}\n\nFrom `{package}`.\n\n{shown}"
