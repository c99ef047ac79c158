"""Tell time, mode and version of a file from what an fsspec filesystem says of it, each of which says it differently."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from wink.filesystem._facts import FactCache, Facts
from wink.filesystem._store import Node, NodeKind

STORED, BY_CONTENT, BY_TIME, BY_SIZE = 1, 2, 3, 4
"""What an identity begins with: from the upper layer, or by what a lower version is known again."""

_CONTENT: Final = (
    "ETag",
    "etag",
    "e_tag",
    "md5Hash",
    "md5",
    "content_md5",
    "crc32c",
    "CRC",
    "checksum",
    "sha",
    "sha256",
)
_VERSION: Final = ("generation", "VersionId", "version_id", "metageneration", "ino")
_TIMES: Final = (
    "mtime",
    "LastModified",
    "last_modified",
    "modified",
    "updated",
    "Last-Modified",
    "date_time",
    "created",
)


class OverlayFacts(FactCache):
    """Facts of files, except of those of which nothing tells that they have changed."""

    __slots__ = ()

    def learn(self, node: Node, facts: Facts) -> None:
        """Keep facts, unless only the size would tell another version."""
        if node.identity[:1] != (BY_SIZE,):
            super().learn(node, facts)


def facts_of_info(
    info: Mapping[str, Any], kind: NodeKind, ask_time: Callable[[], Any]
) -> tuple[int, int, tuple[int, ...]]:
    """Modification time in nanoseconds (0 where it is not told), permission bits, and identity.

    `ask_time` is asked for the time only where the version could not be told without it.
    """
    content = [f"{key}={info[key]}" for key in _CONTENT if info.get(key) not in (None, "", b"")]
    versions = [f"{key}={info[key]}" for key in _VERSION if info.get(key) not in (None, "")]
    times = (nanoseconds(info[key]) for key in _TIMES if info.get(key) is not None)
    modified_ns = next((time for time in times if time is not None), None)
    if kind == "file" and not content and not any(info.get(key) for key in _TIMES[:-1]):
        # A time of creation does not tell that something was written in place.
        asked = nanoseconds(ask_time())
        modified_ns = modified_ns if asked is None else asked
    how = BY_CONTENT if content else BY_SIZE if modified_ns is None else BY_TIME
    time = "" if content else str(modified_ns)  # the same content, put there once more, is the same
    facts = [kind, str(info.get("size")), *content, *versions, time, str(target_of(info))]
    return modified_ns or 0, _mode(info, kind), (how, _number("\n".join(facts)))


def nanoseconds(told: object) -> int | None:
    """A time in whichever form it is told, as nanoseconds since the epoch; times without a zone are UTC.

    >>> nanoseconds("1970-01-01T00:00:01Z"), nanoseconds(1.5), nanoseconds((1980, 1, 1, 0, 0, 0)), nanoseconds("soon")
    (1000000000, 1500000000, 315532800000000000, None)
    """
    try:
        if isinstance(told, str):
            told = datetime.fromisoformat(told) if told[:1].isdigit() else _of_http(told)
        elif isinstance(told, tuple):
            told = datetime(*told[:6], tzinfo=UTC)  # pyright: ignore[reportUnknownArgumentType]
        if isinstance(told, datetime):
            told = (told if told.tzinfo else told.replace(tzinfo=UTC)).timestamp()
        if isinstance(told, bool) or not isinstance(told, int | float) or not 0 <= told < 1 << 33:
            return None
        return int(told * 1_000_000_000)
    except (ValueError, OverflowError, TypeError, IndexError):
        return None


def target_of(info: Mapping[str, Any]) -> str | None:
    """Where a link leads, if that is told."""
    for key in ("destination", "linkname", "target"):
        target = info.get(key)
        if isinstance(target, bytes):
            target = target.decode(errors="surrogateescape")
        if isinstance(target, str) and target:
            return target
    return None


def _of_http(told: str) -> datetime:
    from email.utils import parsedate_to_datetime

    return parsedate_to_datetime(told)


def _mode(info: Mapping[str, Any], kind: NodeKind) -> int:
    mode = info.get("mode")
    if not isinstance(mode, int):
        attributes = info.get("external_attr")  # of a zip: Unix keeps the mode in the upper half
        mode = attributes >> 16 if isinstance(attributes, int) and info.get("create_system") == 3 else 0
    if kind == "link":
        return 0o777
    return mode & 0o777 or (0o755 if kind == "directory" else 0o644)


def _number(text: str) -> int:
    from hashlib import sha256

    return int.from_bytes(sha256(text.encode(errors="surrogatepass")).digest()[:8], "big")
