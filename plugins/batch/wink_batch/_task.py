"""One task of a batch: what is to be done, with which files, and how a row of a table says so."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, cast

from wink.dataclass import dataclass, field
from wink_batch._source import EMPTY, Source, source

COLUMNS: Final = ("id", "prompt", "workspace", "revision", "params", "model")
"""What a row may say; `params.NAME` stands for one of the parameters."""

LONGEST_ID: Final = 120

_ID: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.+-]*[A-Za-z0-9_+-])?")


@dataclass(frozen=True, slots=True)
class Task:
    """One task: `prompt` is what the model is told, `params` what the template is given, `model` whom to ask instead of
    the batch's own.
    """

    id: str
    prompt: str = ""
    workspace: Source = EMPTY
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    model: str = ""

    def to_row(self) -> dict[str, Any]:
        """Plain values, which `task_of` reads back."""
        row: dict[str, Any] = {"id": self.id}
        if self.prompt:
            row["prompt"] = self.prompt
        if self.workspace.kind != "empty":
            row["workspace"] = {self.workspace.kind: self.workspace.address}
            if self.workspace.revision:
                row["workspace"]["revision"] = self.workspace.revision
        if self.params:
            row["params"] = dict(self.params)
        if self.model:
            row["model"] = self.model
        return row


def is_task_id(text: str) -> bool:
    """Whether a text can be the id of a task, of which files and references of git are named.

    >>> is_task_id("django__django-11099"), is_task_id("../x"), is_task_id("a.lock")
    (True, False, False)
    """
    return len(text) <= LONGEST_ID and bool(_ID.fullmatch(text)) and ".." not in text and not text.endswith(".lock")


def task_of(row: Mapping[str, Any], *, base: str = "") -> tuple[Task | None, list[str]]:
    """Read a row; the task, or everything that is wrong with it.

    >>> task_of({"id": 7, "prompt": "Tidy up", "params.style": "short"})[0].params
    {'style': 'short'}
    >>> task_of({"prompt": 3})[1]
    ['$.id: is missing', '$.prompt: must be text, not 3']
    """
    row = {key: value for key, value in row.items() if value is not None and value != ""}
    problems: list[str] = []
    name = row.get("id")
    if name is None:
        problems.append("$.id: is missing")
    elif isinstance(name, bool) or not isinstance(name, str | int) or not is_task_id(str(name)):
        problems.append(
            f"$.id: {_shown(name)} cannot be an id; use up to {LONGEST_ID} letters, digits, '_', '-', '+' and single '.'"
        )
    texts: dict[str, str] = {}
    for key in ("prompt", "revision", "model"):
        value = row.get(key, "")
        if not isinstance(value, str):
            problems.append(f"$.{key}: must be text, not {_shown(value)}")
        else:
            texts[key] = value
    params = _params(row, problems)
    for key in row:
        if key not in COLUMNS and not key.startswith("params."):
            problems.append(f"$.{key}: is not known; a row has {', '.join(COLUMNS)}, and params.NAME")
    where = EMPTY
    try:
        where = source(row.get("workspace"), texts.get("revision", ""), base=base)
    except ValueError as error:
        problems.append(f"$.workspace: {error}")
    if not problems and not texts["prompt"] and not params:
        problems.append("$.prompt: a task needs a prompt, or params for its template")
    if problems:
        return None, problems
    return Task(str(name), texts["prompt"], where, params, texts["model"]), []


def _params(row: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    given = row.get("params", {})
    if isinstance(given, str):  # a cell of a table that has no objects
        try:
            given = json.loads(given)
        except ValueError:
            pass
    if not isinstance(given, Mapping):
        problems.append(f"$.params: must be an object, not {_shown(given)}")
        return {}
    params: dict[str, Any] = dict(cast("Mapping[str, Any]", given))
    for key, value in row.items():
        if key.startswith("params."):
            name = key.removeprefix("params.")
            if not name.isidentifier():
                problems.append(f"$.{key}: {name!r} cannot be the name of a parameter")
            elif name in params:
                problems.append(f"$.{key}: is also in $.params")
            params[name] = value
    return params


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
