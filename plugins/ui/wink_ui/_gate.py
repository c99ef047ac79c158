"""Let nobody in but the person who was given the address: every request shows the token, and comes from this page.

Rules of this module:

* A request without the right token is answered with nothing but how to get in. The token stands in the address once; the
  browser then has it as a cookie that no script reads and that no other site's request carries.
* A request under another host's name is refused: a page of the web can have its own name lead to this machine.
* A request that another page makes is refused, also one of another port of this machine, for which cookies hold too.
"""

from __future__ import annotations

import hmac
from typing import Final
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wink_http import LOOPBACK, admit, host_name

_SAFE: Final = ("GET", "HEAD")
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "content-security-policy": _POLICY,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
# A page, not a redirect: a browser that was sent here by another program's link would not send the cookie along.
_WELCOME: Final = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=/">'
    '<title>wink</title><p><a href="/">Open the page</a></p></html>'
)
_CLOSED: Final = "wink: this page opens only with the address that `wink ui` printed; copy it from the terminal\n"


class Gate:
    """An application of ASGI around another one, which only gets requests that may pass."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or hand on one request."""
        if scope["type"] != "http":
            return
        refusal = self._refusal(scope)
        answer = self._app if refusal is None else refusal
        is_static = scope["path"].startswith("/static/")

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)  # an image has a stricter policy of its own
                if not is_static or refusal is not None:
                    headers["cache-control"] = "no-store"
            await send(message)

        await answer(scope, receive, sending)

    def _refusal(self, scope: Scope) -> Response | None:
        """What to answer instead; None for a request that may pass."""
        headers = Headers(scope=scope)
        problem = _stranger(headers, scope["method"])
        if problem is not None:
            return PlainTextResponse(f"wink: {problem}\n", 403)
        given = _token_in_address(scope)
        if given is not None:
            return self._welcome(headers, given, scope)
        if not self._is_right(_cookie(headers, self._cookie_name(headers))):
            return PlainTextResponse(_CLOSED, 403)
        site = headers.get("sec-fetch-site")
        if site not in (None, "same-origin", "none"):
            return PlainTextResponse("wink: another page asked for this; it answers only to itself\n", 403)
        if not admit(scope):
            return PlainTextResponse("wink: too many pages are open; close some of them\n", 503)
        return None

    def _welcome(self, headers: Headers, given: str, scope: Scope) -> Response:
        if not self._is_right(given) or scope["method"] not in _SAFE:
            return PlainTextResponse(_CLOSED, 403)
        site = headers.get("sec-fetch-site")
        if site not in (None, "same-origin", "none") and headers.get("sec-fetch-dest") != "document":
            # A link may lead here, since whoever follows it has the token; nothing else of another page may.
            return PlainTextResponse("wink: another page asked for this; it answers only to itself\n", 403)
        response = HTMLResponse(_WELCOME)
        response.set_cookie(self._cookie_name(headers), self._token, httponly=True, samesite="strict", path="/")
        return response

    def _cookie_name(self, headers: Headers) -> str:
        # Cookies know no ports, so two of these pages would take each other's.
        return f"wink-ui-{headers['host'].rpartition(':')[2].rstrip(']') or '80'}"

    def _is_right(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), self._token.encode())


def _stranger(headers: Headers, method: str) -> str | None:
    """What shows that a request is not one of this page's; None where nothing does."""
    hosts = headers.getlist("host")
    if len(hosts) != 1 or host_name(hosts[0]) not in LOOPBACK:
        return "this page answers only to 127.0.0.1, localhost and [::1]"
    origins, site = headers.getlist("origin"), headers.get("sec-fetch-site")
    is_own = site == "same-origin"
    for origin in origins:
        # A form of a page that gives no referrer says "null"; then the browser's other word counts.
        if origin != f"http://{hosts[0]}" and not (origin == "null" and is_own):
            return "another page asked for this; it answers only to itself"
    if method not in _SAFE and not is_own and not origins:
        return "a change has to be asked for by this page itself, with an Origin"
    return None


def _token_in_address(scope: Scope) -> str | None:
    query = scope["query_string"].decode("latin-1")
    if scope["path"] != "/" or "token=" not in query:
        return None
    return next(iter(parse_qs(query, keep_blank_values=True).get("token", ())), None)


def _cookie(headers: Headers, name: str) -> str:
    for header in headers.getlist("cookie"):
        for part in header.split(";"):
            key, equals, value = part.strip().partition("=")
            if equals and key == name:
                return value
    return ""
