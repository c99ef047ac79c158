"""Remember which files of workspaces a person trusts, by their exact content, where no agent can write.

The store lies in the user's own state directory: outside of every workspace, and hidden from what runs in the sandbox.
Where a workspace holds that directory, as one's home does, nothing in it counts.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal, NamedTuple, cast

from wink.bounded import content
from wink.errors import SettingsError
from wink.state import user_directory

Standing = Literal["trusted", "changed", "unknown"]

_FILE: Final = "trust.json"
_MOST: Final = 16 * 1024 * 1024
_MOST_LINKS: Final = 40


class Trusted(NamedTuple):
    """One file as it was trusted; `at` is when, as text."""

    path: str
    digest: str
    at: str


class TrustStore:
    """The trusted files; what cannot be read is an error, and a missing store means that nothing is trusted."""

    __slots__ = ("_known", "path")

    def __init__(self, path: str | None) -> None:
        self.path = path
        self._known: dict[str, Trusted] | None = None

    @classmethod
    def of_user(cls, environ: Mapping[str, str], *, workspace: str | None = None) -> TrustStore:
        """The store of the user, an empty one for a workspace that it lies in: an agent could write it there."""
        path = store_file(environ)
        return cls(None if path is None or (workspace is not None and is_within(path, workspace)) else path)

    @property
    def entries(self) -> tuple[Trusted, ...]:
        """Every trusted file, sorted by path."""
        return tuple(self._read()[path] for path in sorted(self._read()))

    def standing(self, path: str, content: bytes) -> Standing:
        """Whether exactly this content of a file is trusted, or another was."""
        known = self._read().get(os.path.realpath(path))
        if known is None:
            return "unknown"
        return "trusted" if known.digest == digest_of(content) else "changed"

    def trust(self, path: str, content: bytes) -> None:
        """Trust this content of a file, in place of any other."""
        real = os.path.realpath(path)
        self._write(
            {**self._read(), real: Trusted(real, digest_of(content), f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}")}
        )

    def revoke(self, path: str) -> bool:
        """Trust no content of a file any more; False when none was."""
        real = os.path.realpath(path)
        known = dict(self._read())
        if known.pop(real, None) is None:
            return False
        self._write(known)
        return True

    def _read(self) -> Mapping[str, Trusted]:
        if self._known is None:
            self._known = {} if self.path is None else _entries(self.path)
        return self._known

    def _write(self, known: dict[str, Trusted]) -> None:
        import json  # 8 ms with tempfile, for what few commands do
        import tempfile

        assert self.path is not None, "a store without a place is never written"
        directory = os.path.dirname(self.path)
        os.makedirs(directory, mode=0o700, exist_ok=True)
        rows = {path: {"sha256": one.digest, "at": one.at} for path, one in sorted(known.items())}
        descriptor, temporary = tempfile.mkstemp(dir=directory, prefix=".trust-")
        try:
            with open(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
                json.dump({"version": 1, "files": rows}, file, indent=2, ensure_ascii=False)
                file.write("\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self.path)
        except BaseException:
            os.unlink(temporary)
            raise
        self._known = known


def store_file(environ: Mapping[str, str]) -> str | None:
    """Where the store is: `wink/trust.json` under `XDG_STATE_HOME`, by default `~/.local/state`."""
    directory = user_directory(environ)
    return None if directory is None else os.path.join(directory, _FILE)


def digest_of(content: bytes) -> str:
    """The SHA-256 of a file's content, in hexadecimal digits."""
    from hashlib import sha256

    return sha256(content).hexdigest()


def is_within(path: str, directory: str) -> bool:
    """Whether a path lies beneath a directory, or a link on the way to it does: whoever writes there could turn it elsewhere."""
    base, here, links = os.path.realpath(directory).rstrip("/") + "/", "/", 0
    pending = os.path.abspath(path).split("/")[::-1]
    while pending:
        name = pending.pop()
        here = os.path.dirname(here) if name == ".." else os.path.join(here, name if name != "." else "")
        if f"{here}/".startswith(base):
            return True
        try:
            target = os.readlink(here)
        except OSError:  # it is no link
            continue
        links += 1
        if links > _MOST_LINKS:
            return True
        here = "/" if target.startswith("/") else os.path.dirname(here)
        pending += target.split("/")[::-1]
    return False


def _entries(path: str) -> dict[str, Trusted]:
    try:
        data = content(path, most=_MOST)
        import json

        document: Any = json.loads(data.decode("utf-8", "surrogateescape"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise SettingsError(path, [f"cannot be read: {error.strerror or error}"]) from None
    except (ValueError, RecursionError) as error:
        raise SettingsError(path, [f"is not what `wink trust` writes ({error}); delete it to trust nothing"]) from None
    files: Any = cast("dict[str, Any]", document).get("files") if isinstance(document, dict) else None
    if not isinstance(files, dict):
        raise SettingsError(path, ["is not what `wink trust` writes; delete it to trust nothing"])
    return {
        name: Trusted(name, str(one.get("sha256", "")), str(one.get("at", "")))
        for name, one in cast("dict[str, dict[str, Any]]", files).items()
        if isinstance(cast("object", one), dict)
    }
