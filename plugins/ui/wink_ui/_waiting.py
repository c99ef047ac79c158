"""Show calls that wait for a person, and take the answers; and one try."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

from wink.cli import proposed_change
from wink.dataclass import dataclass, replace
from wink.errors import ApprovalChanged, NothingTried, ParseError
from wink.record import Masking
from wink.runtime import Answer, ApprovalRequest, PolicyVerdict, answer_approval, pending_approvals, request_to_answer
from wink_sandbox.tries import Try
from wink_ui._acts import ROWS
from wink_ui._asked import Asked
from wink_ui._diffs import LONGEST, FileDiff, file_diff
from wink_ui._groups import LISTED, listed, sort_out
from wink_ui._pages import answer, picture, redirect
from wink_ui._text import is_plain
from wink_ui._words import as_text


@dataclass(frozen=True, slots=True)
class Field:
    """One argument in a form: its name and text without secrets, and whether it is JSON, has a secret, and can be edited."""

    name: str
    text: str
    is_json: bool
    can_edit: bool
    is_masked: bool = False


def waiting(asked: Asked) -> Response:
    """All that waits."""
    return _page(asked)


def answer_request(asked: Asked) -> Response:
    """Store what a person says to one request, or show it again with what is wrong."""
    number = f"a{asked.place['request']}"
    workspace = asked.workspace
    request = request_to_answer(workspace, number)
    if asked.value("seal") != asked.seal(request.fingerprint):
        return _page(asked, 409, f"{number} is not what you were shown; look at it once more")
    approved = asked.value("answer") == "approve"
    if approved:
        asked.check_settings()  # a call that is denied runs nothing, whatever they say
    try:
        edited = _edited(asked, request) if approved else None
        answer_approval(workspace, number, Answer(approved, asked.value("note").replace("\r\n", "\n"), edited))
    except ApprovalChanged as error:
        return _page(asked, 409, str(error))
    except (ParseError, ValueError) as error:
        return _page(asked, 422, f"{number} was not answered: {error}")
    return redirect(asked, f"/waiting?done={'approved' if approved else 'denied'}&request={number}")


def one_try(asked: Asked) -> Response:
    """One try: what ran, and what it changed."""
    tried = Try(asked.workspace, asked.place["try"])
    found = tried.differences()
    changes = found.changes()
    sorted_out = sort_out(asked.workspace, changes)
    return answer(
        asked,
        "try.html",
        tried=tried,
        runs=[(" ".join(run.argv), run) for run in tried.runs],
        files=listed(sorted_out.files, changes, ROWS),
        groups=sorted_out.groups,
        files_left=max(len(sorted_out.files) - LISTED, 0),
        notes=found.notes,
        total=len(changes),
    )


def file_of_try(asked: Asked) -> Response:
    """The diff of one file of a try, whole; `n` is which of them, as they are listed."""
    tried = Try(asked.workspace, asked.place["try"])
    changes, number = tried.differences().changes(), int(asked.place["file"])
    if number >= len(changes):
        raise NothingTried(f"file {number}", tried.name)
    if asked.value("side"):
        return picture(asked, changes[number])
    return answer(
        asked,
        "file.html",
        diff=file_diff(changes[number], LONGEST),
        back=f"/tries/{tried.name}",
        name=tried.name,
        whose="",
    )


def _page(asked: Asked, status: int = 200, problem: str = "") -> Response:
    workspace, masking = asked.workspace, asked.workspace.masking
    requests = [
        (
            replace(request, policies=tuple(_verdict(masking, one) for one in request.policies)),
            fields_of_request(request, masking),
            _proposed(asked, request),
            asked.seal(request.fingerprint),
        )
        for request in pending_approvals(workspace)
    ]
    lost = workspace.record.runs.started()
    return answer(
        asked,
        "waiting.html",
        status,
        requests=requests,
        lost=lost,
        problem=masking.text(problem),
        query=asked.query,
    )


def _proposed(asked: Asked, request: ApprovalRequest) -> FileDiff | None:
    """The diff that writing or editing a file would make, without secrets, or None where that cannot be told."""
    workspace = asked.workspace
    change = proposed_change(json.loads(request.arguments), workspace.filesystem, mask=workspace.masking.content)
    return None if change is None else file_diff(change)


def _verdict(masking: Masking, verdict: PolicyVerdict) -> PolicyVerdict:
    return verdict._replace(reason=verdict.reason and masking.text(verdict.reason))


def fields_of_request(request: ApprovalRequest, masking: Masking) -> list[Field]:
    """The arguments of a request as fields; one with a secret in it stays what it is, whatever a form says."""
    values: dict[str, Any] = json.loads(request.arguments)
    found: list[Field] = []
    for name, value in values.items():
        ((_, shown),) = masking.value({name: value}).items()
        text, is_masked = as_text(shown), shown != value
        found.append(Field(name, text, not isinstance(value, str), is_plain(text) and not is_masked, is_masked))
    return found


def _edited(asked: Asked, request: ApprovalRequest) -> str | None:
    """The arguments with what the person has changed, or None; raises `ValueError` for what is no JSON."""
    values: dict[str, Any] = json.loads(request.arguments)
    changed = False
    for number, field in enumerate(fields_of_request(request, asked.workspace.masking)):
        given = next((value for key, value in asked.form if key == f"argument-{number}"), None)
        if given is None or not field.can_edit:
            continue
        given = given.replace("\r\n", "\n")  # as every browser sends it
        if given == field.text:
            continue
        changed = True
        if not field.is_json:
            values[field.name] = given
            continue
        try:
            values[field.name] = json.loads(given)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{field.name} is not JSON: {error}") from error
    return json.dumps(values) if changed else None
