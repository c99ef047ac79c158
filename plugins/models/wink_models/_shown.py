"""What a model is shown of attachments, and the words for what it is not shown."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Final

from wink.adapters import Conversation
from wink.dataclass import dataclass
from wink.runtime import ToolReply
from wink.tools import Attachment, Audio, EmbeddedResource, Image

IMAGES: Final = "images"
"""Content that a protocol takes: images."""

AUDIO: Final = "audio"
"""Content that a protocol takes: sounds."""

MOST_IMAGE_BYTES: Final = 3_750_000
"""The largest image that every provider takes, in bytes: 5 MB when it is written as base64."""

MOST_AUDIO_BYTES: Final = 15_000_000

_AUDIO_FORMATS: Final = {
    "audio/wav": "wav",
    "audio/wave": "wav",
    "audio/x-wav": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}
"""The sounds that protocols take, and what they call them."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What is sent beside a text: images with their base64 text, sounds with theirs and the name of their format.

    `notes` say what cannot be sent, so that a model knows that there was something.
    """

    images: tuple[tuple[Image, str], ...] = ()
    sounds: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    def text(self, text: str) -> str:
        """A text with the notes below it."""
        return "\n".join((text, *self.notes))


def shown_with(reply: ToolReply, takes: AbstractSet[str]) -> Shown:
    """What is shown with a reply by a protocol that `takes` these kinds; a failure says itself what it does not show."""
    return shown(reply.result.attachments, takes) if reply.success else Shown()


def shown_first(conversation: Conversation, takes: AbstractSet[str]) -> Shown:
    """What is shown at the beginning: the attachments of the prompt, and the images of the user."""
    return shown((*conversation.prompt.attachments, *conversation.images), takes)


def shown(attachments: Iterable[Attachment], takes: AbstractSet[str]) -> Shown:
    """What of attachments is shown; resources that are text stand in the text already."""
    images: list[tuple[Image, str]] = []
    sounds: list[tuple[str, str]] = []
    notes: list[str] = []
    for one in attachments:
        image = one.image if isinstance(one, EmbeddedResource) else one
        if one.text:
            continue
        if isinstance(image, Image) and IMAGES in takes:
            if len(image.data) <= MOST_IMAGE_BYTES:
                images.append((image, b64encode(image.data).decode()))
            else:
                notes.append(f"[{one.described}; too large to be shown]")
        elif isinstance(one, Audio) and AUDIO in takes and one.media_type.lower() in _AUDIO_FORMATS:
            if len(one.data) <= MOST_AUDIO_BYTES:
                sounds.append((_AUDIO_FORMATS[one.media_type.lower()], b64encode(one.data).decode()))
            else:
                notes.append(f"[{one.described}; too large to be played]")
        else:
            notes.append(f"[{one.described}; not {'played' if isinstance(one, Audio) else 'shown'} to you]")
    return Shown(tuple(images), tuple(sounds), tuple(notes))
