"""Where `wink serve` listens, and who may talk to it there."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from wink.cli import readable, wrong
from wink_http import Access, Address, address_of, host_name, kept_token, token_in

if TYPE_CHECKING:
    import ssl

F = TypeVar("F", bound="Callable[..., Any]")
_OTHERS = 0o077
_UNKNOWN = "not read yet"
_MISSING = (errno.ENOENT, errno.EACCES, errno.EISDIR)


class Listening(NamedTuple):
    """An address to serve at, who may, and the file that has the token."""

    address: Address
    access: Access
    token_file: str | None


class HttpOptions(NamedTuple):
    """What was asked for; without an address, nothing of it can be."""

    http: str | None
    port: str | None
    token_file: str | None
    no_token: bool
    tls_cert: str | None
    tls_key: str | None
    behind_proxy: bool
    allow_host: tuple[str, ...]

    def listening(self, workspace: str) -> Listening | None:
        """The address and who may use it; None where the client is to speak over standard input and output."""
        if self.http is not None and self.port is not None:
            raise wrong("give the address as --http or the port as --port, not both")
        text = self.http if self.http is not None else self.port
        if text is None:
            if any(self):
                raise wrong(
                    "tokens, TLS, proxies and hosts are for a server at an address; give it with --http or --port"
                )
            return None
        if self.no_token and self.token_file is not None:
            raise wrong("give --token-file or --no-token, not both")
        address, hosts = address_of(text), tuple(map(_host, self.allow_host))
        access = Access(None if self.no_token else _UNKNOWN, hosts, self._tls(), self.behind_proxy)
        access.check(address)  # before a token is made
        token, place = self._token(workspace)
        return Listening(address, access._replace(token=token), place)

    def _token(self, workspace: str) -> tuple[str | None, str | None]:
        if self.no_token:
            return None, None
        if self.token_file is None:
            return kept_token(served_directory(workspace))
        text = readable(self.token_file, "the token's file")
        found = os.stat(self.token_file)
        if stat.S_ISREG(found.st_mode) and found.st_mode & _OTHERS:
            raise wrong(f"other users of this machine may read {self.token_file!r}; `chmod 600` keeps it to you")
        return token_in(text, repr(self.token_file)), self.token_file

    def _tls(self) -> ssl.SSLContext | None:
        if self.tls_cert is None:
            if self.tls_key is not None:
                raise wrong("a key is for a certificate; give that with --tls-cert")
            return None
        import ssl

        def locked() -> bytes:
            raise ValueError("it is locked with a password; give one that is not")

        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        try:
            context.load_cert_chain(self.tls_cert, self.tls_key, locked)
        except (OSError, ValueError) as error:
            given = " and ".join(repr(path) for path in (self.tls_cert, self.tls_key) if path is not None)
            reason = error.strerror if isinstance(error, OSError) and error.errno in _MISSING else None
            raise wrong(
                f"no certificate and key for TLS in {given}: {reason or error}; give PEM files, the key with --tls-key "
                f"unless it is in the certificate's"
            ) from error
        return context


def http_options(command: F) -> F:
    """The options of a server at an address, handed to the command as `at`."""

    @wraps(command)
    def gathered(*arguments: Any, **named: Any) -> Any:
        at = HttpOptions(*(named.pop(name) for name in HttpOptions._fields))
        return command(*arguments, at=at, **named)

    path = click.Path()
    decorated: Any = gathered
    for option in (
        click.option(
            "--allow-host",
            multiple=True,
            metavar="NAME",
            help="Answer under this name too, as a proxy or DNS gives it.",
        ),
        click.option(
            "--behind-proxy", is_flag=True, help="A proxy does TLS: serve plain HTTP where others may reach it."
        ),
        click.option(
            "--tls-key", type=path, metavar="FILE", help="The certificate's key, if it is in a file of its own."
        ),
        click.option("--tls-cert", type=path, metavar="FILE", help="Serve HTTPS with the certificate in a PEM file."),
        click.option(
            "--no-token", is_flag=True, help="Ask for no token: every user of this machine may use the server."
        ),
        click.option(
            "--token-file",
            type=path,
            metavar="FILE",
            help="Ask for the token in a file, not for one that wink has made.",
        ),
        click.option("--port", metavar="PORT", help="The same as --http 127.0.0.1:PORT; 0 takes any that is free."),
        click.option("--http", metavar="HOST:PORT", help="Serve over HTTP at an address of this machine instead."),
    ):
        decorated = option(decorated)
    return decorated


def served_directory(workspace: str) -> str:
    """The full path of the workspace; wrong input where it is no directory."""
    path = os.path.abspath(workspace)
    if not os.path.isdir(path):
        raise wrong(f"there is no directory {path!r} to serve; name one with --workspace")
    return path


def _host(text: str) -> str:
    name = host_name(text)
    bare = text.removeprefix("[").removesuffix("]").lower()
    if not text or "/" in text or "@" in text or bare != name:
        raise wrong(f"{text!r} is no host's name; write it without scheme, port and path, as in wink.example.com")
    return bare
