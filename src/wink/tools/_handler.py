"""Read a handler's signature, and refuse one that could not be called as handlers are."""

import functools
import inspect
from collections.abc import Awaitable, Callable
from types import UnionType
from typing import Any, Final, Never, NoReturn, Protocol, TypeVar, Union, cast, get_args, get_origin, runtime_checkable

from wink.dataclass import dataclass
from wink.serde import known_hints
from wink.tools._context import ToolContext
from wink.tools._result import ToolResult
from wink.tools.types import plain

ParamsT_contra = TypeVar("ParamsT_contra", contravariant=True)
ResultT_co = TypeVar("ResultT_co", covariant=True)

UNKNOWN: Final = object()  # there is no annotation, or it cannot be resolved


@runtime_checkable
class ToolHandler(Protocol[ParamsT_contra, ResultT_co]):
    """What a tool calls: parameters, and a keyword-only `context`; it may be async."""

    def __call__(
        self, params: ParamsT_contra, /, *, context: ToolContext
    ) -> ToolResult[ResultT_co] | Awaitable[ToolResult[ResultT_co]]:
        """Do the tool's work."""
        ...


@dataclass(frozen=True, slots=True)
class Signature:
    """What a handler's annotations say; `UNKNOWN` where they say nothing that can be resolved."""

    params: Any
    context: Any
    result: Any
    is_async: bool


class BadHandler(Exception):
    """Why something cannot be a handler."""


def signature_of(handler: object) -> Signature:
    """The signature of a function, method, partial or callable object; raises `BadHandler`."""
    if not callable(handler):
        raise BadHandler(f"the handler must be callable, not {handler!r}")
    try:
        parameters = list(inspect.signature(handler).parameters.values())
    except (ValueError, TypeError) as error:
        raise BadHandler("the handler has no signature that could be checked; wrap it in a function") from error
    first = _first(parameters)
    hints = known_hints(bare(handler))
    result = plain(hints.get("return", UNKNOWN))
    is_async = _is_async(handler)
    if inspect.isclass(get_origin(result)) and issubclass(get_origin(result), Awaitable):
        is_async, result = True, plain(get_args(result)[-1])
    return Signature(hints.get(first.name, UNKNOWN), hints.get("context", UNKNOWN), _value(result), is_async)


def accepts(annotation: Any, kind: Any) -> bool:
    """Whether a parameter annotated so takes a value of type `kind` (`None` for no value)."""
    annotation = plain(annotation)
    if annotation is UNKNOWN or annotation is Any or annotation is object or isinstance(annotation, TypeVar):
        return True
    if annotation is None:
        return kind is None
    if annotation == kind:
        return True
    origin = get_origin(annotation)
    if origin is Union or origin is UnionType:
        return any(accepts(member, kind) for member in get_args(annotation))
    if isinstance(origin, type):
        return isinstance(kind, type) and issubclass(kind, origin)
    if getattr(annotation, "_is_protocol", False):
        return True
    return isinstance(annotation, type) and isinstance(kind, type) and issubclass(kind, annotation)


def _first(parameters: list[inspect.Parameter]) -> inspect.Parameter:
    shape = "a handler takes (params, *, context)"
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if not parameters or parameters[0].kind not in positional or parameters[0].name == "context":
        raise BadHandler(f"the handler takes no positional parameters object; {shape}")
    by_name = {parameter.name: parameter for parameter in parameters[1:]}
    context = by_name.pop("context", None)
    if context is None:
        if not any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in by_name.values()):
            raise BadHandler(f"the handler does not take `context`; {shape}")
    elif context.kind is not inspect.Parameter.KEYWORD_ONLY:
        raise BadHandler(f"the handler's `context` must be keyword-only; {shape}")
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    for parameter in by_name.values():
        if parameter.default is inspect.Parameter.empty and parameter.kind not in variable:
            raise BadHandler(f"the handler requires {parameter.name!r} too; {shape}")
    return parameters[0]


def bare(handler: Any) -> Callable[..., Any]:
    """The function behind a method, a partial or a callable object, which has the annotations."""
    while isinstance(handler, functools.partial):
        handler = cast("functools.partial[Any]", handler).func
    handler = getattr(handler, "__func__", handler)
    if not inspect.isfunction(handler) and not inspect.isclass(handler):
        handler = type(handler).__call__
    return inspect.unwrap(handler)


def _is_async(handler: Any) -> bool:
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(bare(handler))


def _value(result: Any) -> Any:
    if result in (UNKNOWN, Any, ToolResult):
        return UNKNOWN
    if get_origin(result) is ToolResult:
        value = plain(get_args(result)[0])
        if get_origin(value) in (Union, UnionType):
            # `value` may be None in any result, so `ToolResult[D | None]` says no more than `ToolResult[D]`.
            members = [member for member in map(plain, get_args(value)) if member is not None]
            value = members[0] if len(members) == 1 else value
        if value in (Any, Never, NoReturn) or isinstance(value, TypeVar):
            return UNKNOWN  # a generic handler returns whatever the tool says
        return value
    raise BadHandler(f"the handler returns {_shown(result)}; annotate it -> ToolResult[...]")


def _shown(annotation: Any) -> str:
    return annotation.__qualname__ if isinstance(annotation, type) else str(annotation)
