"""What an adapter of a model behind a network is made of: `RemoteAdapter`, and the pieces that protocols have in common."""

from wink_models._failures import said_in, sdk_problem, ssl_context
from wink_models._remote import AnswerCut, ModelSettings, Problem, RemoteAdapter, reading
from wink_models._shown import AUDIO, IMAGES, Shown, shown_first, shown_with
from wink_models._wire import (
    BEGIN,
    argument_object,
    argument_text,
    kept_items,
    object_text,
    sent_id,
    sent_name,
    without_tail,
)

__all__ = [
    "AUDIO",
    "BEGIN",
    "IMAGES",
    "AnswerCut",
    "ModelSettings",
    "Problem",
    "RemoteAdapter",
    "Shown",
    "argument_object",
    "argument_text",
    "kept_items",
    "object_text",
    "reading",
    "said_in",
    "sdk_problem",
    "sent_id",
    "sent_name",
    "shown_first",
    "shown_with",
    "ssl_context",
    "without_tail",
]
