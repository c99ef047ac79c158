"""Read the name of a server out of the first bytes of TLS, by OpenSSL, and answer nothing."""

from __future__ import annotations

import ssl
from typing import Final

_HANDSHAKE: Final = 0x16
_OLD_HELLO: Final = 0x80
MOST: Final = 64 * 1024
"""So many bytes may come before the name is known."""

ALERT: Final = bytes((0x15, 3, 3, 0, 2, 2, 112))
"""A fatal `unrecognized_name`, RFC 6066."""


def is_tls(data: bytes) -> bool:
    """Whether a client that sends this speaks TLS, or what came before it, in which there are no names."""
    return data[0] == _HANDSHAKE or (len(data) > 2 and bool(data[0] & _OLD_HELLO) and data[2] == 1)


class Hello:
    """The greeting of one client, fed piece by piece until the `name` is known."""

    def __init__(self) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.sni_callback = self._found
        self._incoming = ssl.MemoryBIO()
        self._object = context.wrap_bio(self._incoming, ssl.MemoryBIO(), server_side=True)
        self._name: str | None = None
        self._is_known = False

    def feed(self, data: bytes) -> bool:
        """Take in more; True when enough is there. Raises ValueError where it is not TLS, or too old or too odd for OpenSSL."""
        self._incoming.write(data)
        try:
            self._object.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLError as error:
            if not self._is_known:
                raise ValueError("no TLS that can be read") from error
        return self._is_known

    @property
    def name(self) -> str | None:
        """The name of the server that the client wants, as it is written; None where it gives none."""
        return self._name

    def _found(self, made: ssl.SSLObject | ssl.SSLSocket, name: str | None, context: ssl.SSLContext) -> int:
        del made, context
        self._name, self._is_known = name, True
        return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
