"""`@tool`: make a tool of an ordinary function."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine, Generator, Sequence
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, cast, overload

from wink.errors import PromptValidationError, ToolValidationError
from wink.tools._checks import Effects, checked_name
from wink.tools._context import ToolContext
from wink.tools._docstring import LONGEST, told_by
from wink.tools._example import ToolExample
from wink.tools._function import Plain, handler_of, read, reducible
from wink.tools._handler import BadHandler, signature_of
from wink.tools._isolated import isolated_handler, refusals
from wink.tools._result import ToolResult
from wink.tools._tool import Tool
from wink.tools.types import BadType, params_type, result_type

P = ParamSpec("P")
Q = ParamSpec("Q")
ReturnT = TypeVar("ReturnT")
ResultT = TypeVar("ResultT")
T = TypeVar("T")


class FunctionTool(Tool[Any, ResultT], Generic[P, ReturnT, ResultT]):
    """A tool that was made of a function by `tool` or `Tool.wrap`. Called by itself it is that function, as before.

    `function` is what was decorated, `details` what its docstring says after the first paragraph, without what it says of
    parameters. In a class it is a method: taken from an instance it is a tool with that instance, and of the class itself no
    tool. `isolated` says whether calls of the tool run in a process of their own.
    """

    __slots__ = ("_plain", "details", "function", "isolated")

    function: Callable[P, ReturnT]
    details: str
    isolated: bool

    def __init__(
        self,
        name: str,
        description: str,
        handler: Any = None,
        *args: Any,
        function: Callable[P, ReturnT],
        details: str = "",
        isolated: bool = False,
        _plain: Plain | None = None,
        **options: Any,
    ) -> None:
        own = {"function": function, "details": details, "isolated": isolated, "_plain": _plain}
        for key, value in own.items():
            object.__setattr__(self, key, value)
        super().__init__(name, description, handler, *args, **options)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> ReturnT:
        """Call the function as it was written, without policies, transaction and record."""
        return self.function(*args, **kwargs)

    @property
    def __wrapped__(self) -> Callable[P, ReturnT]:
        return self.function

    @property
    def __name__(self) -> str:
        return self.name

    @overload
    def __get__(self, instance: None, owner: type, /) -> FunctionTool[P, ReturnT, ResultT]: ...
    @overload
    def __get__(
        self: FunctionTool[Concatenate[Any, Q], ReturnT, ResultT], instance: object, owner: type, /
    ) -> FunctionTool[Q, ReturnT, ResultT]: ...
    def __get__(self, instance: Any, owner: type, /) -> Any:
        if instance is None or self._plain is None or not _is_method(self.function):
            return self
        method = cast("Callable[..., Any]", self.function).__get__(instance)
        return self._with(function=method, handler=handler_of(method, self._plain))

    def check(self) -> None:
        """Check what needs the types compiled, and that a method was taken from an instance; see `Tool.check`."""
        if self._plain is not None and _is_method(self.function):
            owner = self.function.__qualname__.rpartition(".")[0]
            raise PromptValidationError(
                f"is a method; take it from an instance, as in {owner}(...).{self.function.__name__}", tool=self.name
            )
        super().check()

    def replace(self, **changes: Any) -> FunctionTool[P, ReturnT, ResultT]:
        """The same tool with other arguments, such as another `name` or `description`."""
        return self._with(**changes)

    def _with(self, **changes: Any) -> Any:
        own = {"function": self.function, "details": self.details, "isolated": self.isolated, "_plain": self._plain}
        return super().replace(**{**own, **changes})

    @staticmethod
    def _worded(tool: str, description: object) -> str:
        return _worded(tool, description)

    if TYPE_CHECKING:
        _plain: Plain | None
    else:
        __class_getitem__ = classmethod(GenericAlias)


class Decorator(Protocol):
    """`tool(...)` with options, waiting for its function."""

    @overload
    def __call__(
        self, function: Callable[P, Coroutine[Any, Any, ToolResult[T]]], /
    ) -> FunctionTool[P, Coroutine[Any, Any, ToolResult[T]], T]: ...
    @overload
    def __call__(
        self, function: Callable[P, Coroutine[Any, Any, T]], /
    ) -> FunctionTool[P, Coroutine[Any, Any, T], T]: ...
    @overload
    def __call__(
        self, function: Callable[P, Generator[Any, Any, T]], /
    ) -> FunctionTool[P, Generator[Any, Any, T], T]: ...
    @overload
    def __call__(self, function: Callable[P, ToolResult[T]], /) -> FunctionTool[P, ToolResult[T], T]: ...
    @overload
    def __call__(self, function: Callable[P, T], /) -> FunctionTool[P, T, T]: ...


@overload
def tool(
    function: Callable[P, Coroutine[Any, Any, ToolResult[T]]], /
) -> FunctionTool[P, Coroutine[Any, Any, ToolResult[T]], T]: ...
@overload
def tool(function: Callable[P, Coroutine[Any, Any, T]], /) -> FunctionTool[P, Coroutine[Any, Any, T], T]: ...
@overload
def tool(function: Callable[P, Generator[Any, Any, T]], /) -> FunctionTool[P, Generator[Any, Any, T], T]: ...
@overload
def tool(function: Callable[P, ToolResult[T]], /) -> FunctionTool[P, ToolResult[T], T]: ...
@overload
def tool(function: Callable[P, T], /) -> FunctionTool[P, T, T]: ...
@overload
def tool(
    function: None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    effects: Effects = "workspace",
    timeout: float | None = None,
    examples: Sequence[ToolExample[Any, Any]] = (),
    isolated: bool = False,
) -> Decorator: ...
def tool(
    fn: Any = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    effects: Effects = "workspace",
    timeout: float | None = None,
    examples: Sequence[ToolExample[Any, Any]] = (),
    isolated: bool = False,
) -> Any:
    """Make a tool of a function: its name, what its docstring says, its parameters, and what it returns.

    Parameters have any type that pydantic can read from JSON; one that is annotated `ToolContext` is given the call's context,
    and the model knows nothing of it. Their descriptions come from `Annotated`, `Field` or the docstring, whose first paragraph
    is the tool's. A function with one dataclass as its only parameter takes that dataclass's fields as arguments.

    What is returned is the result: text as it is, `None` as "OK", a `ToolResult` as it says, anything else as JSON; a dataclass is
    told to the session's reducers too. A generator reports progress with what it yields, and returns its result; an async
    generator, which cannot return anything, yields it last. A function that raises fails, and its changes are taken back.

    With `isolated`, calls run in a process of their own over the workspace, at its own path: whatever the function does there with
    `open`, `subprocess` or a library is kept as a whole or never was; see `Isolation`. Such a function stands in a module, takes no
    context, and its arguments and its result travel as JSON.

    Raises `PromptValidationError` with everything that keeps the function from being a tool.

    >>> @tool(effects="read")
    ... def shout(text: str, times: int = 1) -> str:
    ...     "Say something loudly."
    ...     return text.upper() + "!" * times
    >>> shout.schema()["properties"]
    {'text': {'type': 'string'}, 'times': {'type': 'integer', 'default': 1}}
    >>> shout("hello")
    'HELLO!'
    """
    options: dict[str, Any] = {"effects": effects, "timeout": timeout, "examples": examples, "isolated": isolated}
    if fn is None:
        return functools.partial(tool, name=name, description=description, **options)
    return _made(fn, name, description, options)


def _made(function: Any, name: str | None, description: str | None, options: dict[str, Any]) -> Any:
    named = name or getattr(function, "__name__", type(function).__name__)
    if isinstance(function, classmethod):
        raise PromptValidationError("is a classmethod; make a tool of the bound method, tool(Class.method)", tool=named)
    if isinstance(function, staticmethod):
        function = cast("Any", function).__func__
    if not callable(function):
        raise PromptValidationError(f"a tool is made of a function, not of {function!r}", tool=named)
    told = told_by(getattr(function, "__doc__", None))
    problems = [
        *_name_problems(named),
        *_wording_problems(named, told.description if description is None else description),
    ]
    words = told.description if description is None else description
    types = _handler_types(function)
    plainly: Plain | None = None
    handler: Any = function
    if types is None:
        plainly = read(function, named, told.params, is_method=_is_method(function))
        problems += plainly.problems
        types = plainly.params, reducible(plainly.result)
        handler = _unbound(named) if _is_method(function) else handler_of(function, plainly)
    if options["isolated"]:
        problems += refusals(function, has_context=plainly is None or bool(plainly.context))
        handler = isolated_handler(function, types[1]) if not problems else None
        options["effects"] = "process"
    if problems:
        raise PromptValidationError("; ".join(problems), tool=named)
    made: Any = FunctionTool
    return made(named, words, handler, function=function, details=told.details, _plain=plainly, _types=types, **options)


def _handler_types(function: Any) -> tuple[Any, Any] | None:
    """The types of a function that is a handler already: from a dataclass or `None`, with a `context`, to a `ToolResult`."""
    if _is_method(function):
        return None
    try:
        signature = signature_of(function)
        params_type(signature.params)
        result_type(signature.result)
    except (BadHandler, BadType):
        return None
    return signature.params, signature.result


def _is_method(function: Any) -> bool:
    """Whether a function stands in a class and waits for an instance."""
    name = getattr(function, "__qualname__", "").rpartition("<locals>.")[2]
    if "." not in name or not inspect.isfunction(function):
        return False
    first = next(iter(inspect.signature(function).parameters.values()), None)
    return first is not None and first.name == "self"


def _unbound(name: str) -> Callable[..., Any]:
    def handle(params: Any, *, context: ToolContext) -> ToolResult[Any]:
        del params, context
        raise ToolValidationError(f"{name} is a method, and was not taken from an instance")

    return handle


def _name_problems(name: str) -> list[str]:
    try:
        checked_name(name)
    except PromptValidationError as error:
        return [f"{error.message}, as in @tool(name=...)"]
    return []


def _wording_problems(name: str, description: object) -> list[str]:
    try:
        _worded(name, description)
    except PromptValidationError as error:
        return [error.message]
    return []


def _worded(tool: str, description: object) -> str:
    """A description as functions have one: of any language, and of up to 1,000 characters."""
    text = description.strip() if isinstance(description, str) else ""
    if not text:
        raise PromptValidationError(
            "there is no description; write a docstring that says in a line what it does", tool=tool
        )
    if len(text) > LONGEST:
        message = f"the description has {len(text)} characters; {LONGEST} are allowed, put the rest into the docstring"
        raise PromptValidationError(message, tool=tool)
    return text


if not TYPE_CHECKING:
    Tool.wrap = staticmethod(tool)  # its older name; a tool knows nothing of how one is made of a function
