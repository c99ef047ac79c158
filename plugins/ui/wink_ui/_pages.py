"""Render templates into answers, so that nothing of what they show is taken for anything but text."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from functools import cache, partial
from typing import Any, Final
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import RedirectResponse, Response

from wink.filesystem import FileChange
from wink.runtime import pending_approvals
from wink_sandbox.tries import tries
from wink_ui._asked import Asked, path_field
from wink_ui._images import image_of, images_at
from wink_ui._text import one_line, shown, shown_line, visible
from wink_ui._words import brief, clock, length, plural, pretty

HERE: Final = os.path.dirname(__file__)
STATIC: Final = os.path.join(HERE, "static")


def answer(asked: Asked, template: str, status: int = 200, /, **values: object) -> Response:
    """A page; only its middle where only a part is wanted."""
    text = render(asked.root, template, asked=asked, chrome=None if asked.is_part else chrome(asked), **values)
    return html(text, status)


def redirect(asked: Asked, to: str) -> Response:
    """Leads on to another place of the page, after a form was taken."""
    return RedirectResponse(asked.root + to, 303)


def chrome(asked: Asked) -> dict[str, object]:
    """What stands on every page: where it is, and what waits for somebody."""
    workspace = asked.workspace
    root = workspace.masking.text(workspace.root)
    return {
        "name": name_of(root),
        "root": root,
        "waiting": len(pending_approvals(workspace)),
        "tries": len(tries(workspace)),
    }


def name_of(path: str) -> str:
    """What a workspace is called."""
    return os.path.basename(path) or path


def render(root: str, template: str, /, **values: object) -> str:
    """A template's text, in which all addresses begin with `root`."""
    return _environment(root).get_template(template).render(values)


def html(text: str, status: int = 200) -> Response:
    """Text of a page as an answer."""
    return Response(text.encode("utf-8", "backslashreplace"), status, media_type="text/html; charset=utf-8")


def problem(root: str, title: str, text: str, status: int, remedy: str = "") -> Response:
    """A page of its own that says what is wrong; it needs nothing of a workspace."""
    return html(render(root, "problem.html", title=title, text=text, remedy=remedy), status)


def picture(asked: Asked, change: FileChange) -> Response:
    """The side of a changed image that is asked for, or a page that says that there is none."""
    found = image_of(change, asked.value("side"))
    return found or problem(asked.root, "There is no image", "it is none, too large, or not kept any more", 404)


def address(place: str, query: Mapping[str, object] | None = None, /, **more: object) -> str:
    """A place of a page with a query, from which what is empty is left out; templates add what it begins with."""
    fields = {**(query or {}), **more}
    text = urlencode({name: str(value) for name, value in fields.items() if value not in (None, "")}, errors="replace")
    return f"{place}?{text}" if text else place


def environment(root: str = "", loader: type[FileSystemLoader] = FileSystemLoader) -> Environment:
    """The templates with what they use; all addresses begin with `root`, and `static` shows a call where the page is a file, in which a link leads nowhere."""
    made = Environment(
        loader=loader(os.path.join(HERE, "templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_text_only,
        auto_reload=False,
    )
    made.filters.update(
        shown=shown,
        line=shown_line,
        flat=one_line,
        clock=clock,
        lasting=length,
        brief=brief,
        pretty=pretty,
        path_field=path_field,
        count=_counted,
    )
    names: dict[str, Any] = made.globals  # whose type knows only what Jinja itself puts there
    names |= {"root": root, "address": partial(_address_under, root), "asset": _asset}
    names |= {"images": images_at, "plural": plural, "static": None}
    return made


_environment: Final = cache(environment)


def _address_under(root: str, place: str, query: Mapping[str, object] | None = None, /, **more: object) -> str:
    return root + address(place, query, **more)


def _text_only(value: Any) -> Any:
    """What a template writes out: markup as it is, and text with what cannot be seen written out."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return escape(visible(value))


@cache
def _asset(name: str) -> str:
    """The address of a file beside the templates; another one when the file is another."""
    with open(os.path.join(STATIC, name), "rb") as file:
        return f"/static/{name}?v={hashlib.sha256(file.read()).hexdigest()[:12]}"


def _counted(number: int) -> str:
    return f"{number:,}"
