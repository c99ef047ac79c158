"""A tool: a name, a description, two types and the handler between them."""

from collections.abc import Callable, Mapping, Sequence
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast, get_args, overload

from wink.errors import ParseError, Problem, PromptValidationError, SerdeError
from wink.serde import Extra, dumps, parse, schema
from wink.tools._agreement import check_example, check_handler, handler_signature, params_class, settled_types
from wink.tools._checks import Effects, checked_description, checked_name, checked_option, checked_timeout
from wink.tools._described import checked_descriptions, describe
from wink.tools._example import ToolExample
from wink.tools._handler import ToolHandler
from wink.tools.types import Container, Result, shown

ParamsT = TypeVar("ParamsT")
ResultT = TypeVar("ResultT")

_EXTRA: Final = ("forbid", "ignore", "allow")
_ARGUMENTS: Final = (
    "name",
    "description",
    "handler",
    "examples",
    "accepts_overrides",
    "effects",
    "timeout",
    "extra",
    "param_descriptions",
)


class Tool(Generic[ParamsT, ResultT]):
    """Something that a model can call.

    `Tool[Params, Result](name, description, handler)`: both types are dataclasses or `None`, and `Result` may also be
    `list[D]`, `Sequence[D]` or `tuple[D, ...]`. Written without types, they are taken from the handler's annotations.

    * `name`: 1-64 of `a-z`, `0-9`, `_`, `-`; `description`: 1-200 ASCII characters, stripped.
    * `handler`: `(params, *, context) -> ToolResult[Result]`, sync or async; `None` for a tool that is only described.
    * `effects`: what it may touch. `read` changes nothing, `workspace` changes files through `context.filesystem` only,
      `process` starts programs, `external` acts where nothing can be undone.
    * `timeout`: seconds after which the call fails and is rolled back.
    * `extra`: what becomes of arguments that the parameters do not have; see `wink.serde.parse`.
    * `param_descriptions`: for fields of the parameters other words than their `metadata["description"]`.

    What can be checked without compiling the types is checked here, and raises `PromptValidationError` naming tool and
    dataclass; `check` does the rest. A tool never changes; `replace` makes another one.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Now:
    ...     zone: str = "UTC"
    >>> Tool[Now, None]("now", "Tell the time.").parse('{"zone": "CET"}')
    Now(zone='CET')
    """

    __slots__ = (
        "_checked",
        "_params",
        "_result",
        "accepts_overrides",
        "description",
        "effects",
        "examples",
        "extra",
        "handler",
        "is_async",
        "name",
        "param_descriptions",
        "params_type",
        "result_container",
        "result_type",
        "timeout",
    )

    name: str
    description: str
    handler: ToolHandler[ParamsT, ResultT] | None
    examples: tuple[ToolExample[ParamsT, ResultT], ...]
    accepts_overrides: bool
    effects: Effects
    timeout: float | None
    extra: Extra
    param_descriptions: Mapping[str, str]
    params_type: type[Any] | None
    result_type: type[Any] | None
    result_container: Container
    is_async: bool

    def __init__(
        self,
        name: str,
        description: str,
        handler: ToolHandler[ParamsT, ResultT] | None = None,
        examples: Sequence[ToolExample[ParamsT, ResultT]] | None = (),
        accepts_overrides: bool = True,
        *,
        effects: Effects = "workspace",
        timeout: float | None = None,
        extra: Extra = "forbid",
        param_descriptions: Mapping[str, str] | None = None,
        _types: tuple[Any, Any] | None = None,
    ) -> None:
        checked_name(name)
        signature = handler_signature(name, handler)
        params, result = settled_types(name, _types, signature)
        params_type = params_class(name, params)
        values: dict[str, object] = {
            "name": name,
            "description": self._worded(name, description),
            "handler": handler,
            "examples": tuple(examples or ()),
            "accepts_overrides": accepts_overrides,
            "effects": checked_option(name, "effects", effects, get_args(Effects)),
            "timeout": checked_timeout(name, timeout),
            "extra": checked_option(name, "extra", extra, _EXTRA),
            "param_descriptions": checked_descriptions(name, params_type, param_descriptions),
            "params_type": params_type,
            "result_type": result.type,
            "result_container": result.container,
            "is_async": signature is not None and signature.is_async,
            "_params": params,
            "_result": result,
            "_checked": False,
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)
        if signature is not None:
            check_handler(name, params, result, signature)
        for number, example in enumerate(self.examples, 1):
            check_example(name, params, result, f"example {number}", example)

    if not TYPE_CHECKING:

        def __class_getitem__(cls, types):
            """`Tool[Params, Result]`, which makes tools of these types when called."""
            if not isinstance(types, tuple) or len(types) != 2:
                raise TypeError("Tool takes two types, as in Tool[Params, Result]; use None for either")
            return _TypedTool(cls, types)

        def __setattr__(self, name, value):
            """Tools are shared by prompts and threads, and never change."""
            raise AttributeError(f"a tool cannot be changed; use tool.replace({name}=...)")

        def __delattr__(self, name):
            """Tools never change."""
            raise AttributeError(f"a tool cannot be changed; {name!r} stays")

    if TYPE_CHECKING:

        @overload
        @staticmethod
        def wrap(
            fn: Callable[..., Any],
            /,
            *,
            effects: Effects = "workspace",
            timeout: float | None = None,
            examples: Sequence[ToolExample[Any, Any]] = (),
        ) -> "Tool[Any, Any]": ...
        @overload
        @staticmethod
        def wrap(
            fn: None = None,
            /,
            *,
            effects: Effects = "workspace",
            timeout: float | None = None,
            examples: Sequence[ToolExample[Any, Any]] = (),
        ) -> "Callable[[Callable[..., Any]], Tool[Any, Any]]": ...
        @staticmethod
        def wrap(fn: Any = None, /, **options: Any) -> Any:
            """`wink.tool`, by its older name."""

    _worded = staticmethod(checked_description)

    def parse(self, arguments: str | bytes | Mapping[str, Any]) -> ParamsT | None:
        """The arguments of a call as the tool's parameters; `None` for a tool that takes none.

        No text at all counts as `{}`: that is what models send to a tool without required arguments. Raises
        `ParseError` with every problem.
        """
        if isinstance(arguments, (str, bytes)) and not arguments.strip():
            arguments = "{}"
        if self._params is not None:
            return cast("ParamsT", parse(self._params, arguments, extra=self.extra))
        given = parse(dict[str, Any], arguments)
        if given and self.extra == "forbid":
            raise ParseError([Problem("$", f"{self.name} takes no arguments; send {{}}")])
        return None

    def schema(self) -> dict[str, Any]:
        """JSON Schema of the parameters; a new dict each time, made from a cached one.

        Raises `PromptValidationError` when a parameter has a type that JSON cannot hold.
        """
        if self._params is None:
            return {"type": "object", "properties": {}, "additionalProperties": self.extra != "forbid"}
        try:
            described = schema(self._params, extra=self.extra)
        except SerdeError as error:
            raise PromptValidationError(str(error), tool=self.name, dataclass=self.params_type) from error
        if self.param_descriptions:
            describe(described, self.params_type, self.param_descriptions)
        return described

    def check(self) -> None:
        """Check what needs the types compiled: that every field can be read, and that the examples keep their own rules.

        A prompt does this at its first render, since compiling costs milliseconds. Checking again is free. Raises
        `PromptValidationError`.
        """
        if self._checked:
            return
        self.schema()
        for number, example in enumerate(self.examples, 1):
            self.check_example(example, f"example {number}")
        object.__setattr__(self, "_checked", True)

    def check_example(self, example: ToolExample[Any, Any], what: str = "the example", *, types: bool = False) -> None:
        """Check an example of this tool, also one that is kept elsewhere: its types, and the rules of its fields.

        `what` names it in errors. With `types` only they are checked, which compiles nothing. Raises
        `PromptValidationError`.
        """
        check_example(self.name, self._params, self._result, what, example)
        if types:
            return
        try:
            self.parse("{}" if example.input is None else dumps(example.input))
            dumps(example.output)
        except (ParseError, SerdeError) as error:
            message = f"{what} does not keep the tool's rules: {error}"
            raise PromptValidationError(message, tool=self.name, dataclass=self.params_type) from error

    def replace(self, **changes: Any) -> "Tool[ParamsT, ResultT]":
        """The same tool with other arguments, such as another `name` or `description`.

        >>> Tool[None, None]("ls", "List files.").replace(name="list_files").name
        'list_files'
        """
        arguments: dict[str, Any] = {key: getattr(self, key) for key in _ARGUMENTS} | changes
        return type(self)(**arguments, _types=(self._params, self._result.annotation))

    def __copy__(self) -> "Tool[ParamsT, ResultT]":
        return self

    def __deepcopy__(self, memo: object) -> "Tool[ParamsT, ResultT]":
        return self

    def __repr__(self) -> str:
        return f"Tool[{shown(self._params)}, {shown(self._result.annotation)}]({self.name!r})"

    if TYPE_CHECKING:
        _params: Any
        _result: Result
        _checked: bool


class _TypedTool(GenericAlias):
    """`Tool[Params, Result]`: hands the types on when it is called, which `typing.Generic` does too late."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        kwargs.setdefault("_types", self.__args__)
        return cast("Any", self.__origin__)(*args, **kwargs)
