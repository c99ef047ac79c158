"""Keep what each session of the workspace is shown: its text, its tools, and the policies for them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any, Final

from wink.dataclass import dataclass
from wink.errors import PromptRenderError
from wink.limits import is_interruption
from wink.prompt import Prompt, RenderedPrompt, RenderedSection, SectionOutline
from wink.runtime import with_read_result
from wink.session import Session
from wink_mcp._errors import TooManySessions

MOST_SESSIONS: Final = 1000
"""So many sessions can clients name in one server; each costs memory as long as it runs."""


@dataclass(frozen=True, slots=True)
class View:
    """A session, and what it was shown last."""

    session: Session
    rendered: RenderedPrompt[Any]


class Views:
    """The sessions that clients have named, each with its rendering of one prompt."""

    def __init__(self, prompt: Prompt[Any], open_session: Callable[[str], Session], default: str) -> None:
        self.prompt, self.default = prompt, default
        self._open_session = open_session
        self._views: dict[str, View] = {}
        self._lock = threading.Lock()

    def render(self, name: str | None = None) -> View:
        """Render for a session anew; raises `SessionNameError`, `TooManySessions` and what rendering raises."""
        name = self.default if name is None else name
        with self._lock:
            if name not in self._views and len(self._views) >= MOST_SESSIONS:
                raise TooManySessions(name, MOST_SESSIONS)
        session = self._open_session(name)
        with _sections_do_not_end_it():
            rendered = self.prompt.render(session=session, check=False, partial=True)
        # Always: a client that asks for the list once has to know it before there is something to read.
        view = View(session, with_read_result(rendered, session, always=True))
        with self._lock:
            self._views[name] = view
        return view

    def outlines(self, name: str | None = None) -> tuple[View, tuple[SectionOutline, ...]]:
        """The sections that a session can be shown by themselves now; raises like `render`."""
        view = self.shown(name)
        with _sections_do_not_end_it():
            return view, self.prompt.outlines(view.session)

    def alone(self, view: View, path: tuple[str, ...], params: Iterable[object]) -> RenderedSection:
        """One section by itself; raises what rendering raises."""
        with _sections_do_not_end_it():
            return self.prompt.render_section(path, *params, session=view.session)

    def only_reads(self, tool: str, name: str) -> bool:
        """Whether a tool only reads, as far as the session has been shown it; nothing is rendered for this."""
        view = self._views.get(name)
        known = None if view is None else view.rendered.tool(tool)
        return known is not None and known.effects == "read"

    def shown(self, name: str | None = None, *, tool: str | None = None) -> View:
        """What a session was shown last; rendered anew if that does not have `tool`."""
        view = self._views.get(self.default if name is None else name)
        if view is None or (tool is not None and view.rendered.tool(tool) is None):
            return self.render(name)
        return view


@contextmanager
def _sections_do_not_end_it() -> Generator[None]:
    try:
        yield
    except BaseException as error:  # foreign code: a section; no task may let out what is no `Exception`
        if isinstance(error, Exception) or is_interruption(error):
            raise
        raise PromptRenderError(f"a section tried to end the server ({type(error).__name__})") from error
