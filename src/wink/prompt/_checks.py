"""Check what the constructors of sections and templates are given."""

import re
import unicodedata
from collections.abc import Iterable
from typing import Any, Final, cast, get_args

from wink.errors import PromptValidationError
from wink.tools import Attachment

__all__ = ["KEY", "all_of", "checked_attachments", "checked_key", "checked_tag", "checked_title"]

KEY: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
"""What the keys of sections and templates look like."""


def checked_title(title: str) -> str:
    title = title.strip() if isinstance(cast("object", title), str) else title
    if not title or not isinstance(cast("object", title), str) or not title.isprintable():
        raise PromptValidationError(f"a section's title is one line of text, not {title!r}")
    return title


def checked_key(key: str | None, title: str) -> str:
    if key is None:
        plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
        key = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:64].rstrip("-")
        if not key:
            raise PromptValidationError(f"no key can be made of the title {title!r}; pass key=")
    if not KEY.fullmatch(key):
        raise PromptValidationError(
            f"{key!r} cannot be a key; use up to 64 lower-case letters, digits, '.', '_' and '-', "
            "beginning with a letter or digit"
        )
    return key


def checked_tag(tag: str) -> str:
    if not isinstance(cast("object", tag), str) or not KEY.fullmatch(tag):
        raise PromptValidationError(
            f"{tag!r} cannot be a tag of overrides; use up to 64 lower-case letters, digits, '.', '_' and '-', "
            "beginning with a letter or digit"
        )
    return tag


def checked_attachments(items: object, section_path: tuple[str, ...]) -> tuple[Attachment, ...]:
    """`items` as a tuple, when each of them can be attached."""
    found = tuple(cast("Iterable[object]", items)) if isinstance(items, list | tuple) else (items,)
    for item in found:
        if not isinstance(item, get_args(Attachment)):
            raise PromptValidationError(f"{item!r} in attachments is no Image, Audio or EmbeddedResource", section_path)
    return cast("tuple[Attachment, ...]", found)


def all_of(kind: type[Any], items: Iterable[Any] | None, what: str, section_path: tuple[str, ...]) -> tuple[Any, ...]:
    """`items` as a tuple, when each of them is a `kind`; none of them for `None`."""
    if items is None:
        return ()
    if isinstance(items, (kind, str, bytes)) or not isinstance(cast("object", items), Iterable):
        raise PromptValidationError(f"{what} is a sequence of {kind.__name__}, not {items!r}", section_path)
    found = tuple(items)
    for item in found:
        if not isinstance(item, kind) or isinstance(item, type):
            raise PromptValidationError(f"{item!r} in {what} is no {kind.__name__}", section_path)
    return found
