"""Read the signature of an ordinary function as a tool's parameters and result, and call it with them."""

import collections.abc
import dataclasses
import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import MISSING
from typing import Any, Final, Literal, NamedTuple, Union, cast, get_args, get_origin

from wink.errors import SerdeError
from wink.serde import known_hints, schema, stated, type_name
from wink.tools._attachments import Audio, EmbeddedResource, Image
from wink.tools._context import ToolContext
from wink.tools._handler import UNKNOWN, bare
from wink.tools._result import ToolResult
from wink.tools.types import BadType, plain, result_type

_VARIABLE: Final = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
_GENERATORS: Final = (collections.abc.Generator, collections.abc.Iterator, collections.abc.Iterable)
_ASYNC_GENERATORS: Final = (
    collections.abc.AsyncGenerator,
    collections.abc.AsyncIterator,
    collections.abc.AsyncIterable,
)
_SURE: Final = ("builtins", "datetime", "decimal", "enum", "pathlib", "uuid", "typing", "types")

Kind = Literal["sync", "async", "generator", "async generator"]


class Plain(NamedTuple):
    """A function as a tool calls it.

    `params` is the dataclass of its parameters, its own (`is_whole`) or one made of the signature, or `None`; `context` is the name
    of the parameter that takes the `ToolContext`, empty where there is none; `problems` is why it cannot be a tool.
    """

    params: "type[Any] | None"
    is_whole: bool
    names: tuple[str, ...]
    positional: int
    context: str
    kind: Kind
    result: Any
    problems: tuple[str, ...]


def read(function: Callable[..., Any], name: str, docs: Mapping[str, str], *, is_method: bool) -> Plain:
    """Read a function; `docs` are the words of its docstring for its parameters. `is_method` leaves out the first parameter."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        problem = "it has no signature that could be read; wrap it in a function"
        return Plain(None, False, (), 0, "", "sync", UNKNOWN, (problem,))
    kind, hints = _kind(function), known_hints(bare(function))
    own = parameters[1:] if is_method else parameters
    context = next((one.name for one in own if _is_context(one, hints)), "")
    own = [one for one in own if one.name != context]
    problems: list[str] = []
    if any(one.name == context and one.kind is inspect.Parameter.POSITIONAL_ONLY for one in parameters):
        problems.append(f"{context!r} is positional-only; write it without the '/'")
    result = _result(hints.get("return", UNKNOWN), kind)
    whole = _whole(own, hints)
    if whole is not None:
        positional = int(own[0].kind is inspect.Parameter.POSITIONAL_ONLY)
        return Plain(whole, True, (own[0].name,), positional, context, kind, result, tuple(problems))
    fields = [field for one in own if (field := _field(one, hints, docs, problems)) is not None]
    params: type[Any] | None = None
    if fields and not problems:
        params = _dataclass(name, fields, function, problems)
    positional = sum(one.kind is inspect.Parameter.POSITIONAL_ONLY for one in own)
    return Plain(params, False, tuple(one.name for one in own), positional, context, kind, result, tuple(problems))


def handler_of(function: Callable[..., Any], plainly: Plain) -> Callable[..., Any]:
    """What a tool calls: it hands the parameters on one by one, and makes a `ToolResult` of what comes back."""

    def called(params: Any, context: ToolContext) -> Any:
        if plainly.params is None:
            values = {}
        elif plainly.is_whole:
            values = {plainly.names[0]: params}
        else:
            values = {name: getattr(params, name) for name in plainly.names}
        first = [values.pop(name) for name in plainly.names[: plainly.positional]]
        if plainly.context:
            values[plainly.context] = context
        return function(*first, **values)

    def handle(params: Any, *, context: ToolContext) -> ToolResult[Any]:
        return finished(called(params, context))

    async def ahandle(params: Any, *, context: ToolContext) -> ToolResult[Any]:
        return finished(await called(params, context))

    def drain(params: Any, *, context: ToolContext) -> ToolResult[Any]:
        return finished(_drained(called(params, context), context))

    async def adrain(params: Any, *, context: ToolContext) -> ToolResult[Any]:
        return finished(await _adrained(called(params, context), context))

    handlers: dict[Kind, Callable[..., Any]] = {
        "sync": handle,
        "async": ahandle,
        "generator": drain,
        "async generator": adrain,
    }
    handler = handlers[plainly.kind]
    handler.__name__ = handler.__qualname__ = getattr(function, "__name__", type(function).__name__)
    return handler


def finished(value: Any) -> ToolResult[Any]:
    """What a function returned, as a result."""
    if isinstance(value, ToolResult):
        return cast("ToolResult[Any]", value)
    if value is None:
        return ToolResult("OK")
    if isinstance(value, (Image, Audio, EmbeddedResource)):
        return ToolResult("", attachments=(value,))
    return ToolResult("", value)


def _drained(items: Iterator[Any], context: ToolContext) -> Any:
    while True:
        try:
            item = next(items)
        except StopIteration as end:
            return end.value
        _say(item, context)


async def _adrained(items: AsyncIterator[Any], context: ToolContext) -> Any:
    """An async generator cannot return anything: its last item is the result."""
    last: Any = None
    begun = False
    async for item in items:
        if begun:
            _say(last, context)
        last, begun = item, True
    return last


def _say(item: Any, context: ToolContext) -> None:
    if isinstance(item, tuple) and len(cast("tuple[Any, ...]", item)) in (2, 3):
        done, total, *message = cast("tuple[Any, ...]", item)
        context.progress(str(message[0]) if message else "", done=done, total=total)
    elif isinstance(item, (int, float)) and not isinstance(item, bool):
        context.progress(done=item)
    else:
        context.progress("" if item is None else str(cast("object", item)))


def _kind(function: Any) -> Kind:
    inner = bare(function)
    if inspect.isasyncgenfunction(function) or inspect.isasyncgenfunction(inner):
        return "async generator"
    if inspect.isgeneratorfunction(function) or inspect.isgeneratorfunction(inner):
        return "generator"
    return "async" if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(inner) else "sync"


def _is_context(parameter: inspect.Parameter, hints: Mapping[str, Any]) -> bool:
    hint = hints.get(parameter.name, UNKNOWN)
    if hint is UNKNOWN:
        return parameter.name == "context" and parameter.kind not in _VARIABLE
    return any(plain(one) is ToolContext for one in (hint, *get_args(hint)))


def _whole(own: list[inspect.Parameter], hints: Mapping[str, Any]) -> "type[Any] | None":
    """The dataclass that is a function's only parameter, whose fields are then the arguments."""
    if len(own) != 1 or own[0].kind in _VARIABLE or own[0].default is not inspect.Parameter.empty:
        return None
    hint = plain(hints.get(own[0].name, UNKNOWN))
    kind = get_origin(hint) or hint
    return hint if isinstance(kind, type) and dataclasses.is_dataclass(kind) else None


def _field(
    parameter: inspect.Parameter, hints: Mapping[str, Any], docs: Mapping[str, str], problems: list[str]
) -> tuple[str, Any, Any] | None:
    name = parameter.name
    if parameter.kind in _VARIABLE:
        problems.append(f"it takes {_VARIABLE[parameter.kind]}{name}; give each parameter a name of its own")
        return None
    if parameter.annotation is inspect.Parameter.empty:
        problems.append(f"parameter {name!r} has no type; write one, as in `{name}: str`")
        return None
    hint = hints.get(name, UNKNOWN)
    if hint is UNKNOWN:
        problems.append(
            f"the type of parameter {name!r}, {parameter.annotation!r}, cannot be found; define or import it before the function"
        )
        return None
    if parameter.default is None and not _takes_none(hint):
        hint = cast("Any", Union)[hint, None]
    try:
        said = stated(hint, MISSING if parameter.default is inspect.Parameter.empty else parameter.default)
        if not _is_sure(said.annotation):
            schema(said.annotation)
    except SerdeError as error:
        problems.append(f"parameter {name!r}: {error}")
        return None
    except Exception as error:  # foreign code: a type's own schema
        problems.append(f"parameter {name!r}: {type_name(hint)} cannot be read ({type(error).__name__}: {error})")
        return None
    words = {"description": docs[name]} if name in docs else {}
    default, factory = said.default, said.default_factory
    if default is not MISSING and type(default).__hash__ is None:
        default, factory = MISSING, _copying(default)
    field: Any = dataclasses.field(default=default, default_factory=factory, metadata={**words, **said.metadata})
    return name, said.annotation, field


def _copying(value: Any) -> Callable[[], Any]:
    """A factory of equal values; of empty ones their type, which a schema can show."""
    if type(value) in (list, dict, set) and not value:
        return cast("Callable[[], Any]", type(value))
    import copy

    return lambda: copy.deepcopy(value)


def _takes_none(hint: Any) -> bool:
    meant = plain(hint)
    return meant in (None, Any, object) or any(plain(one) is None for one in get_args(meant))


def _is_sure(annotation: Any) -> bool:
    """Whether a type can be read as JSON for certain, so that nobody has to import pydantic to find out."""
    meant = plain(annotation)
    parts = get_args(meant)
    if get_origin(meant) is Literal:
        return True
    if parts:
        origin = get_origin(meant)
        return getattr(origin, "__module__", "") in ("builtins", "typing", "types") and all(
            part is Ellipsis or _is_sure(part) for part in parts
        )
    if meant in (None, Any):
        return True
    if not isinstance(meant, type):
        return False
    if hasattr(meant, "__pydantic_validator__") or dataclasses.is_dataclass(meant):
        return True  # a dataclass is looked into when the prompt is rendered, with its own words
    return getattr(cast("Any", meant), "__module__", "") in _SURE and meant not in (
        type,
        object,
        range,
        slice,
        memoryview,
        property,
    )


def _dataclass(name: str, fields: list[tuple[str, Any, Any]], function: Any, problems: list[str]) -> "type[Any] | None":
    words = (part[:1].upper() + part[1:] for part in name.replace("-", "_").split("_"))
    title = f"{''.join(words)}Arguments"
    try:
        namespace = {"__module__": str(getattr(function, "__module__", None) or __name__)}
        made = dataclasses.make_dataclass(title, fields, namespace=namespace, frozen=True, kw_only=True)
    except (TypeError, ValueError) as error:
        problems.append(f"its parameters cannot be fields of a dataclass ({error})")
        return None
    return made


def _result(hint: Any, kind: Kind) -> Any:
    """The type of what comes back, `UNKNOWN` where nothing says so."""
    meant = plain(hint)
    origin, args = get_origin(meant) or meant, get_args(meant)
    if kind == "generator" and origin in _GENERATORS:
        return plain(args[2]) if len(args) == 3 else (None if args else UNKNOWN)
    if kind == "async generator" and origin in _ASYNC_GENERATORS:
        return plain(args[0]) if args else UNKNOWN
    return meant


def reducible(result: Any) -> Any:
    """The result that a tool declares: what reducers find in a session, which are dataclasses; `None` for all else."""
    meant = plain(result)
    if get_origin(meant) is ToolResult:
        meant = plain(get_args(meant)[0])
    if meant in (UNKNOWN, ToolResult):
        return None
    try:
        return result_type(meant).annotation
    except BadType:
        return None
