"""The page as an application: which address shows what, and what is said when something is wrong."""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
import threading
from collections.abc import Awaitable, Callable, Sequence
from functools import cache, partial
from typing import Any, Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from wink.errors import (
    RecordError,
    TransactionError,
    UnknownApproval,
    UnknownCall,
    UnknownCheckpoint,
    UnknownRun,
    UnknownTry,
    WinkError,
)
from wink.workspace import Workspace
from wink_ui._acts import ACTS, act
from wink_ui._asked import LONGEST_FORM, Answer, Asked, fields_of
from wink_ui._board import board, update_try
from wink_ui._calls import (
    blame_of_call,
    blame_of_file,
    call,
    file_of_call,
    prompt_of_call,
    rows,
    show_glance,
    timeline,
)
from wink_ui._changed import all_changes, one_change
from wink_ui._gate import Gate
from wink_ui._live import Live, look
from wink_ui._pages import STATIC, problem
from wink_ui._runs import run, runs
from wink_ui._state import items, make_checkpoint, state, ways_back
from wink_ui._sums import Sums
from wink_ui._waiting import answer_request, file_of_try, one_try, waiting

_logger: Final = logging.getLogger("wink.ui")
_MISSING: Final = (UnknownCall, UnknownApproval, UnknownCheckpoint, UnknownRun, UnknownTry)
_STATIC: Final = {
    "page.css": "text/css",
    "page.js": "text/javascript",
    "htmx.min.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}


def never(path: str) -> bool:
    """For what no setting asks for."""
    del path
    return False


class Page:
    """What the pages of one workspace work with: the workspace, opened when it can be, and its sums.

    `opening` opens what is at `path`; `portable_names` says whether tries are accepted only with names that Windows can
    hold, and `check_settings` raises what keeps calls from being approved. All addresses begin with `root`.
    """

    def __init__(
        self,
        path: str,
        root: str = "",
        *,
        opening: Callable[[str], Workspace] = Workspace.open,
        portable_names: Callable[[str], bool] = never,
        check_settings: Callable[[str], object] = never,
    ) -> None:
        self.path, self.root = path, root
        self.portable_names, self.check_settings = partial(portable_names, path), partial(check_settings, path)
        self._opening = opening
        self._lock = threading.Lock()
        self._opened: Workspace | None = None
        self._key = secrets.token_bytes(32)
        self.sums = Sums(lambda: self.workspace().record.queries)
        self.live = Live(lambda: look(self.workspace()))

    def workspace(self) -> Workspace:
        """The workspace; raises where its record cannot be read, and tries again the next time."""
        with self._lock:
            if self._opened is None:
                self._opened = self._opening(self.path)
            return self._opened

    def seal(self, facts: object) -> str:
        """A digest of facts that nobody else can make."""
        return hmac.new(self._key, repr(facts).encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()

    def close(self) -> None:
        """Close the workspace."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()


def page_app(page: Page | str, token: str) -> Gate:
    """The application for a page, or for that of a directory; only requests that show the token get in."""
    return gated(routes_of(Page(page) if isinstance(page, str) else page), token)


def gated(routes: Sequence[BaseRoute], token: str) -> Gate:
    """The application for these places, with the files that all pages need."""
    files = Route("/static/{name}", _static), Route("/favicon.ico", _static)
    return Gate(Starlette(routes=[*routes, *files], exception_handlers={404: _unknown, 405: _unknown}), token)


def routes_of(page: Page) -> list[BaseRoute]:
    """The places of a page."""
    return [
        *_answered(page, "GET", {"/": timeline, "/rows": rows, "/glance": show_glance}),
        *_answered(page, "GET", {"/calls/{call:int}": call, "/calls/{call:int}/files/{file:int}": file_of_call}),
        *_answered(page, "GET", {"/calls/{call:int}/files/{file:int}/blame": blame_of_call, "/blame": blame_of_file}),
        *_answered(page, "GET", {"/calls/{call:int}/prompt": prompt_of_call}),
        *_answered(
            page, "GET", {"/waiting": waiting, "/tries/{try}": one_try, "/tries/{try}/files/{file:int}": file_of_try}
        ),
        *_answered(page, "GET", {"/board": board, "/tries/{try}/update": update_try}),
        *_answered(page, "POST", {"/tries/{try}/update": update_try}),
        *_answered(page, "GET", {"/runs": runs, "/runs/{run:int}": run}),
        *_answered(page, "GET", {"/changes": all_changes, "/changes/file": one_change}),
        *_answered(page, "GET", {"/state": state, "/back": ways_back}),
        *_answered(page, "GET", {"/slices/{slice:int}": items}),
        *_answered(page, "POST", {"/approvals/{request:int}": answer_request, "/checkpoints": make_checkpoint}),
        *(
            Route(f"/do/{name}", _endpoint(page, act, {"act": name}), methods=[method])
            for name in ACTS
            for method in ("GET", "POST")
        ),
        Route("/live", page.live.stream),
    ]


def _answered(page: Page, method: str, answers: dict[str, Answer]) -> list[Route]:
    return [Route(place, _endpoint(page, answer), methods=[method]) for place, answer in answers.items()]


def _endpoint(
    page: Page, answer: Answer, place: dict[str, str] | None = None
) -> Callable[[Request], Awaitable[Response]]:
    async def respond(request: Request) -> Response:
        body = b""
        if request.method == "POST":
            async for chunk in request.stream():
                body += chunk
                if len(body) > LONGEST_FORM:
                    return problem(page.root, "Too much", "the form is too large", 413)

        def work() -> Response:
            try:
                asked = Asked(
                    page.workspace(),
                    page.sums,
                    page.seal,
                    request.method,
                    request.url.path.removeprefix(page.root),
                    {name: str(value) for name, value in {**request.path_params, **(place or {})}.items()},
                    dict(request.query_params),
                    fields_of(body),
                    wants_part(request),
                    page.root,
                    page.portable_names,
                    page.check_settings,
                )
                return answer(asked)
            except Exception as error:  # a person is told, whatever it is
                return _told(page.root, error)

        return await run_in_threadpool(work)

    return respond


def wants_part(request: Request) -> bool:
    """Whether a page that is open asks, for what it swaps in."""
    return request.headers.get("hx-request") == "true" and request.headers.get("hx-request-type") != "full"


def _told(root: str, error: Exception) -> Response:
    """A page that says what went wrong and what to do."""
    if not isinstance(error, (WinkError, OSError, ValueError)):
        _logger.error("a page could not be shown", exc_info=error)
        return problem(root, "This should not happen", f"{type(error).__name__}: {error}", 500, "Please report it.")
    text, _, remedy = str(error).partition("; ")
    if isinstance(error, RecordError):
        return problem(root, "The record cannot be read", text, 503, remedy)
    if isinstance(error, _MISSING):
        return problem(root, "There is no such thing here", text, 404, remedy)
    if isinstance(error, TransactionError):
        return problem(root, "This could not be done", text, 409, remedy)
    return problem(root, "This could not be done", text, 422, remedy)


async def _unknown(request: Request, error: Any) -> Response:
    return _nothing(request, error.status_code)


def _nothing(request: Request, status: int) -> Response:
    root = request.scope.get("root_path", "")
    return problem(root, "There is nothing here", f"{request.url.path} is no part of this page", status)


async def _static(request: Request) -> Response:
    name = request.path_params.get("name", "icon.svg")
    if name not in _STATIC:
        return _nothing(request, 404)
    headers = {"cache-control": "private, max-age=31536000, immutable"}
    return Response(_content(name), media_type=_STATIC[name], headers=headers)


@cache
def _content(name: str) -> bytes:
    """A file beside the templates; they are few and small, and a page waits for them."""
    with open(f"{STATIC}/{name}", "rb") as file:
        return file.read()
