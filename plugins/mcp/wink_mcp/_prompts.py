"""Offer sections as prompts that a person may ask for: what arguments they take, and what they come to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NoReturn, cast

import mcp_types as types
from mcp.shared.exceptions import MCPError

from wink.dataclass import dataclass
from wink.errors import ParseError, SerdeError
from wink.limits import is_interruption
from wink.prompt import SectionOutline
from wink.serde import dump, parse, schema
from wink.tools import Attachment
from wink_mcp._replies import block_of

INSTRUCTIONS: Final = "instructions"
"""The name of the prompt that is the same text as the server's instructions."""

_LONGEST_DEFAULT: Final = 60


@dataclass(frozen=True, slots=True)
class Offered:
    """A section as a prompt: its name, and the JSON Schemas of its parameters by their dataclass."""

    name: str
    outline: SectionOutline
    schemas: Mapping[type[Any], Mapping[str, Any]]

    @property
    def arguments(self) -> dict[str, types.PromptArgument]:
        """The fields of all its parameters; a field that two dataclasses have is one argument."""
        found: dict[str, types.PromptArgument] = {}
        for params_type, described in self.schemas.items():
            given = _given(self.outline.params[params_type])
            for name, field in described.get("properties", {}).items():
                required = given is None and name in described.get("required", ())
                about = _about(
                    field, described.get("$defs", {}), field if given is None else {"default": given.get(name)}
                )
                old = found.get(name)
                required = required or bool(old and old.required)
                about = (old and old.description) or about
                found[name] = types.PromptArgument(name=name, description=about or None, required=required)
        return found

    def listed(self) -> types.Prompt:
        """The prompt as `prompts/list` shows it."""
        arguments = list(self.arguments.values())
        return types.Prompt(
            name=self.name, title=self.outline.title, description=self._description(), arguments=arguments or None
        )

    def _description(self) -> str:
        if self.outline.summary is not None and "$" not in self.outline.summary:
            return self.outline.summary
        told = next((text for one in self.schemas.values() if (text := one.get("description"))), None)
        return str(told or f"The section {self.outline.title!r} of the instructions.")

    def params(self, arguments: Mapping[str, str]) -> list[Any]:
        """The parameters that the arguments make; raises `MCPError` (invalid params) with all that is wrong."""
        known = self.arguments
        problems = [
            f"{name!r} is no argument; the arguments are {', '.join(map(repr, known)) or 'none'}"
            for name in arguments
            if name not in known
        ]
        missing = [name for name, argument in known.items() if argument.required and name not in arguments]
        problems += [f"the argument {name!r} is missing" for name in missing]
        made: list[Any] = []
        for params_type, described in () if problems else self.schemas.items():
            own = {name: arguments[name] for name in described.get("properties", {}) if name in arguments}
            used = self.outline.params[params_type]
            if not own and used is not None:
                continue
            try:
                made.append(_made(params_type, own, _given(used) or {}))
            except ParseError as error:
                problems += [f"{problem.path.removeprefix('$.')}: {problem.message}" for problem in error.problems]
        if problems:
            _refuse(f"the arguments of the prompt {self.name!r} are not valid: {'; '.join(dict.fromkeys(problems))}")
        return made


def offered(
    outlines: Iterable[SectionOutline], leave_out: Callable[[str, BaseException], object]
) -> dict[str, Offered]:
    """The sections by the names of their prompts; those with parameters that no schema can express are left out."""
    found: dict[str, Offered] = {}
    for outline in outlines:
        name = outline.name if outline.name != INSTRUCTIONS else f"section.{outline.name}"
        try:
            schemas = {params_type: schema(params_type) for params_type in outline.params}
            prompt = Offered(name, outline, schemas)
            prompt.listed()
        except BaseException as error:  # foreign code: types that pydantic asks for their schema
            if is_interruption(error):
                raise
            leave_out(name, error)
        else:
            found[name] = prompt
    return found


def chosen(name: str, prompts: Mapping[str, Offered]) -> Offered:
    """The prompt of a name; raises `MCPError` (invalid params) when there is none."""
    if name not in prompts:
        _refuse(f"there is no prompt {name!r}; there are {', '.join((INSTRUCTIONS, *prompts))}")
    return prompts[name]


def messages(text: str, attachments: Sequence[Attachment]) -> list[types.PromptMessage]:
    """What a prompt comes to: what it shows, and then its text, which speaks of it."""
    said = text.encode(errors="backslashreplace").decode()
    blocks = [*map(block_of, attachments), *([types.TextContent(text=said)] if said or not attachments else [])]
    return [types.PromptMessage(role="user", content=block) for block in blocks]


def _made(params_type: type[Any], arguments: Mapping[str, str], given: Mapping[str, Any]) -> Any:
    """An instance, from texts: taken as they are, or as JSON where that fails, as for lists."""
    try:
        return parse(params_type, {**given, **arguments}, coerce=True)
    except ParseError as error:
        names = {problem.path.removeprefix("$.").split(".")[0].split("[")[0] for problem in error.problems}
        decoded: dict[str, Any] = {name: _decoded(arguments[name]) for name in names & set(arguments)}
        if all(decoded[name] is arguments[name] for name in decoded):
            raise
        return parse(params_type, {**given, **arguments, **decoded}, coerce=True)


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _given(used: Any) -> dict[str, Any] | None:
    """The fields of what is used without arguments; `None` when there is nothing."""
    if used is None:
        return None
    try:
        return cast("dict[str, Any]", dump(used))
    except SerdeError:
        return {}


def _about(field: Mapping[str, Any], definitions: Mapping[str, Any], default: Mapping[str, Any]) -> str:
    """What a person should know of an argument: its description, its kind where that is not text, and its default."""
    hints = [*_kinds(field, definitions)]
    value = default.get("default")
    shown = value if isinstance(value, str) else json.dumps(value)
    if value not in (None, "", [], {}) and len(shown) <= _LONGEST_DEFAULT:
        hints.append(f"{shown} by default")
    said = str(field.get("description", "")).strip()
    more = ", ".join(hints)
    return f"{said} ({more})" if said and more else said or more


def _kinds(field: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterable[str]:
    reference = str(field.get("$ref", "")).removeprefix("#/$defs/")
    if reference in definitions:
        field = definitions[reference]
    if "enum" in field:
        yield f"one of {', '.join(map(str, field['enum']))}"
        return
    kinds = [one for one in field.get("anyOf", ()) if one.get("type") != "null"]
    if kinds:
        yield " or ".join(dict.fromkeys(kind for one in kinds for kind in _kinds(one, definitions)))
    elif (kind := _KINDS.get(str(field.get("type")))) is not None:
        yield kind


_KINDS: Final = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list, as JSON",
    "object": "an object, as JSON",
}


def _refuse(why: str) -> NoReturn:
    raise MCPError(code=types.INVALID_PARAMS, message=why)
