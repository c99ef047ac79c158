"""Serve HTTP to those who are meant: addresses, names and tokens, and limits for clients that are slow or too many.

Rules of this package:

* A server listens on this machine alone, unless there is a token, and TLS in front of it or in it.
* A request under another name than the server's own is refused: a page of the web can have its own name lead here.
* Who has shown no token holds up nobody who has: strangers' connections are few, and the oldest makes room.
* No phase of a request may last without end: its headers, its body, and the reading of its answer.
"""

from typing import TYPE_CHECKING, Any, Final

from wink_http._access import Access, bearer_problem, names_in
from wink_http._address import LOOPBACK, Address, address_of, host_name
from wink_http._errors import AddressRefused, TokenUnusable
from wink_http._token import kept_token, token_in

if TYPE_CHECKING:
    from wink_http._server import HttpServer, Limits, admit

__all__ = [
    "LOOPBACK",
    "Access",
    "Address",
    "AddressRefused",
    "HttpServer",
    "Limits",
    "TokenUnusable",
    "address_of",
    "admit",
    "bearer_problem",
    "host_name",
    "kept_token",
    "names_in",
    "token_in",
]

_PLACES: Final = dict.fromkeys(("HttpServer", "Limits", "admit"), "wink_http._server")

if not TYPE_CHECKING:  # a checker that saw this would take any name for granted

    def __getattr__(name: str) -> Any:
        """What needs uvicorn is imported when it is asked for: a command that prints a snippet needs none of it."""
        from importlib import import_module

        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_PLACES[name]), name)
