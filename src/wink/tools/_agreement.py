"""Make sure that a tool's types, its handler and its examples agree."""

from typing import Any, cast

from wink.errors import PromptValidationError, SerdeError
from wink.serde import learn_names
from wink.tools._context import ToolContext
from wink.tools._example import ToolExample
from wink.tools._handler import UNKNOWN, BadHandler, Signature, accepts, signature_of
from wink.tools.types import BadType, Result, matches, params_type, plain, result_type, shown


def handler_signature(name: str, handler: object) -> Signature | None:
    """The handler's signature, if there is a handler."""
    if handler is None:
        return None
    try:
        return signature_of(handler)
    except (BadHandler, SerdeError) as error:
        raise PromptValidationError(str(error), tool=name) from error


def settled_types(name: str, types: tuple[Any, Any] | None, signature: Signature | None) -> tuple[Any, Result]:
    """The annotations of parameters and result: those that were given, else the handler's."""
    if types is None:
        if signature is None:
            raise PromptValidationError("has neither types nor a handler; write Tool[Params, Result](...)", tool=name)
        for side, annotation in (("parameters", signature.params), ("result", signature.result)):
            if annotation is UNKNOWN:
                message = f"the handler's {side} have no annotation to go by; write Tool[Params, Result](...)"
                raise PromptValidationError(message, tool=name)
        types = signature.params, signature.result
    for annotation in types:
        learn_names(annotation)
    try:
        return plain(types[0]), result_type(types[1])
    except BadType as error:
        raise PromptValidationError(str(error), tool=name) from error


def params_class(name: str, params: Any) -> "type[Any] | None":
    """The dataclass of the parameters."""
    try:
        return params_type(params)
    except BadType as error:
        raise PromptValidationError(str(error), tool=name) from error


def check_handler(tool: str, params: Any, result: Result, signature: Signature) -> None:
    """Refuse a handler whose annotations contradict the tool's types."""
    kind = params_class(tool, params)
    if not (accepts(signature.params, params) or accepts(signature.params, kind)):
        message = f"the handler takes {shown(signature.params)}, but the tool's parameters are {shown(params)}"
        raise PromptValidationError(message, tool=tool, dataclass=kind)
    if not accepts(signature.context, ToolContext):
        message = f"the handler's context is annotated {shown(signature.context)}; it must be ToolContext"
        raise PromptValidationError(message, tool=tool, dataclass=kind)
    if signature.result is UNKNOWN:
        return
    try:
        returned = result_type(signature.result)
    except BadType as error:
        raise PromptValidationError(str(error), tool=tool, dataclass=result.type) from error
    same = returned.container == result.container and (
        returned.type is result.type
        or (returned.type is not None and result.type is not None and issubclass(returned.type, result.type))
    )
    if not same:
        message = (
            f"the handler returns ToolResult[{shown(returned.annotation)}], "
            f"but the tool's result is {shown(result.annotation)}"
        )
        raise PromptValidationError(message, tool=tool, dataclass=result.type)


def check_example(tool: str, params: Any, result: Result, where: str, example: object) -> None:
    """Refuse an example of other types than the tool's."""
    if not isinstance(example, ToolExample):
        raise PromptValidationError(f"{where} must be a ToolExample, not {example!r}", tool=tool)
    example = cast("ToolExample[Any, Any]", example)
    description = cast("object", example.description)
    if not isinstance(description, str) or not 1 <= len(description.strip()) <= 200:
        raise PromptValidationError(f"{where} needs a description of 1-200 characters", tool=tool)
    kind = params_class(tool, params)
    if not (example.input is None if kind is None else isinstance(example.input, kind)):
        message = f"{where} has input {example.input!r}, but the tool's parameters are {shown(kind)}"
        raise PromptValidationError(message, tool=tool, dataclass=kind)
    if not matches(result, example.output):
        message = f"{where} has output {example.output!r}, but the tool's result is {shown(result.annotation)}"
        raise PromptValidationError(message, tool=tool, dataclass=result.type)
