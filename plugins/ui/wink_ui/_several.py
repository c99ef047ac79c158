"""Show several workspaces on one page, each under a prefix of its own, with a list of how each stands and what waits there."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Sequence
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from wink.dataclass import dataclass
from wink.record import CallView, Masking, RunRow
from wink.runtime import pending_approvals
from wink_sandbox.tries import tries
from wink_ui._app import Page, gated, routes_of, wants_part
from wink_ui._gate import Gate
from wink_ui._live import Live, tried_in
from wink_ui._pages import html, name_of, render
from wink_ui._text import one_line

_PLAIN: Final = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Listed:
    """One workspace, without secrets: its runs that have not ended, its last call and what waits; or what is the problem."""

    root: str
    path: str
    problem: str = ""
    runs: tuple[tuple[RunRow, str], ...] = ()
    last: CallView | None = None
    approvals: int = 0
    tries: int = 0

    @property
    def name(self) -> str:
        """What it is called."""
        return name_of(self.path)


class Pages:
    """The pages of several workspaces, and the list of these."""

    def __init__(self, pages: Sequence[Page]) -> None:
        self._pages = pages
        self._live = Live(self._look)

    def app(self, token: str) -> Gate:
        """The application; that of a single page is nothing else than without a list."""
        if len(self._pages) == 1:
            return gated(routes_of(self._pages[0]), token)
        mounted = [Mount(page.root, routes=routes_of(page)) for page in self._pages]
        return gated([Route("/", self._list), Route("/live", self._live.stream), *mounted], token)

    def end(self) -> None:
        """End all streams; to be called on the loop."""
        for live in (self._live, *(page.live for page in self._pages)):
            live.end()

    def close(self) -> None:
        """Close all workspaces."""
        for page in self._pages:
            page.close()

    async def _list(self, request: Request) -> Response:
        found = await run_in_threadpool(lambda: [_listed(page) for page in self._pages])
        chrome = None if wants_part(request) else {"name": f"{len(found)} workspaces", "root": ""}
        return html(render("", "workspaces.html", asked=None, chrome=chrome, workspaces=found))

    def _look(self) -> str:
        """Something that is another one when anything that the list shows may be, as JSON."""
        seen = repr([_seen(page) for page in self._pages])
        return json.dumps({"workspaces": hashlib.sha256(seen.encode("utf-8", "surrogatepass")).hexdigest()})


def roots_of(paths: Iterable[str]) -> list[str]:
    """The prefix of each workspace of several: by the name of its directory, with a number where that is another's.

    >>> roots_of(["/srv/api", "/srv/old/api", "/srv/a b", "/"])
    ['/w/api', '/w/api-2', '/w/a-b', '/w/workspace']
    """
    found: list[str] = []
    for path in paths:
        name = _PLAIN.sub("-", os.path.basename(Masking().text(path))).strip(".") or "workspace"
        number, root = 1, f"/w/{name}"
        while root in found:
            number += 1
            root = f"/w/{name}-{number}"
        found.append(root)
    return found


def _seen(page: Page) -> object:
    try:
        workspace = page.workspace()
        return workspace.record.queries.version(), tried_in(workspace)
    except Exception as error:  # as below
        return str(error)


def _listed(page: Page) -> Listed:
    try:
        workspace = page.workspace()
        table = workspace.record.runs
        return Listed(
            page.root,
            workspace.masking.text(page.path),
            runs=tuple((row, table.standing(row)) for row in reversed(table.rows()) if row.state != "ended"),
            last=next(iter(workspace.record.queries.page(limit=1, brief=True)), None),
            approvals=len(pending_approvals(workspace)),
            tries=len(tries(workspace)),
        )
    except Exception as error:  # whatever is wrong with one of them, the others are shown
        mask = Masking()
        return Listed(page.root, mask.text(page.path), one_line(mask.text(str(error))) or type(error).__name__)
