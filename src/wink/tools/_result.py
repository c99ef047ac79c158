"""What a handler gives back, and the text that a model is sent for it."""

import logging
from collections.abc import Iterable, Mapping
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Final, Generic, Never, Protocol, TypeVar, cast, runtime_checkable

from wink.dataclass import dataclass, is_dataclass
from wink.serde import dumps
from wink.spellings import explained
from wink.tools._attachments import Attachment

ResultT_co = TypeVar("ResultT_co", covariant=True)
ValueT = TypeVar("ValueT")

_log: Final = logging.getLogger("wink.tools")
_warned: set[type] = set()


@runtime_checkable
class ToolRenderableResult(Protocol):
    """A result value that says itself what a model should read of it.

    >>> class Sum:
    ...     def render(self) -> str:
    ...         return "42"
    >>> isinstance(Sum(), ToolRenderableResult)
    True
    """

    def render(self) -> str:
        """The value as text for a model; the same value always gives the same text."""
        ...


@dataclass(frozen=True, slots=True)
class ToolResult(Generic[ResultT_co]):
    """The outcome of one tool call.

    `message` is for the model, in a sentence. `value` is for the session's reducers and for the model too, unless
    `exclude_value_from_context` keeps it from the text; that is for brevity and guards no secret. `success=False` rolls the
    call's changes back. `attachments` are shown to models that can see and hear, and to clients; resources among them that
    are text are a part of the text.

    >>> result = ToolResult.ok([1, 2], "Two numbers.")
    >>> result.render(), result.text
    ('[1,2]', 'Two numbers.\\n\\n[1,2]')
    """

    message: str
    value: ResultT_co | None = None
    success: bool = True
    exclude_value_from_context: bool = False
    attachments: tuple[Attachment, ...] = ()

    if not TYPE_CHECKING:
        # `typing.Generic` would set an attribute on the new instance, which a frozen slotted class does not take.
        __class_getitem__ = classmethod(GenericAlias)

    @staticmethod
    def ok(value: ValueT, message: str = "OK") -> "ToolResult[ValueT]":
        """A success with its value."""
        return ToolResult(message, value)

    @staticmethod
    def error(message: str) -> "ToolResult[Never]":
        """A failure; the message tells the model what to do about it.

        >>> ToolResult.error("no such file; call ls first").success
        False
        """
        return ToolResult(message, None, False)

    @property
    def payload(self) -> ResultT_co | None:
        """`value`, by its older name."""
        return self.value

    def render(self) -> str:
        """The value as text, by the rules of `render_value`; nothing for `None`."""
        return render_value(self.value)

    @property
    def text(self) -> str:
        """All that the model is sent: the message, the rendered value, and attached text; with blank lines between them."""
        shows_value = self.value is not None and not self.exclude_value_from_context
        if not shows_value and not self.attachments:
            return self.message
        value = render_value(self.value) if shows_value else ""
        if not self.attachments:
            return f"{self.message}\n\n{value}" if self.message and value else self.message or value
        return "\n\n".join(part for part in (self.message, value, *(one.text for one in self.attachments)) if part)


if not TYPE_CHECKING:
    _OLDER = {"payload": TypeError("a result's value is called value; write value= for payload=")}
    ToolResult.__init__ = explained(_OLDER)(ToolResult.__init__)


def render_value(value: object) -> str:
    """The text for a result's value alone.

    `None` is nothing and text is itself. What has a `render()` is asked. A sequence of such values is joined by blank
    lines. Everything else is compact JSON without the fields that are `None`; a dataclass among that is logged as a warning,
    once for each class, since JSON is seldom what a model reads best.

    >>> render_value({"lines": 3})
    '{"lines":3}'
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if _renders(value):
        return _rendered(cast("ToolRenderableResult", value))
    if isinstance(value, (list, tuple)):
        items = cast("Iterable[Any]", value)
        if value and all(map(_renders, items)):
            return "\n\n".join(map(_rendered, items))
        for item in items:
            _warn_of_json(item)
    elif not isinstance(value, Mapping):
        _warn_of_json(value)
    return dumps(cast("object", value), exclude_none=True)


def _renders(value: object) -> bool:
    return callable(getattr(type(value), "render", None))


def _rendered(value: ToolRenderableResult) -> str:
    text = cast("object", value.render())
    if not isinstance(text, str):
        kind = type(value).__qualname__
        raise TypeError(f"{kind}.render() returned {type(text).__qualname__!r}; it must return a string")
    return text


def _warn_of_json(value: object) -> None:
    kind = type(value)
    if kind in _warned or not is_dataclass(kind):
        return
    _warned.add(kind)
    _log.warning("%s has no render() and is sent to models as JSON; give it a `render(self) -> str`", kind.__qualname__)
