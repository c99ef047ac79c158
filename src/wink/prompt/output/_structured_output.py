"""Read a model's last answer as the output that its prompt declares."""

import re
from typing import TYPE_CHECKING, Any, Final

from wink.errors import OutputParseError, ParseError, Problem
from wink.prompt._answer import Container, Out_co
from wink.prompt._rendered import RenderedPrompt
from wink.prompt.output._json_in_text import Broken, Found, is_json, json_in

if TYPE_CHECKING:
    from wink.serde import Extra

__all__ = ["parse_structured_output"]

_WRAPPED: Final = re.compile(r'\{\s*+"items"\s*+:\s*+(\[.*\])\s*+\}', re.DOTALL)
"""An array in the object that providers want around it."""
_A: Final = {"object": "a JSON object", "array": "a JSON array"}


def parse_structured_output(text: str, rendered: RenderedPrompt[Out_co]) -> Out_co:
    """The output in `text`, as `rendered.output_type` or a sequence of it.

    The JSON may be the whole text, a fenced block, or stand anywhere in the prose. When there are several, the first that
    fits is taken, fenced ones before others; an empty one in the prose only if nothing else fits. An array may come as
    `{"items": [...]}`. Keys that the dataclass does not have are refused unless the template says `allow_extra_keys`.

    Raises `OutputParseError` with every problem of the JSON that fits best, in words for the model; its `text` is the
    answer as it came.

    >>> from dataclasses import dataclass
    >>> from wink.prompt import Prompt, PromptTemplate
    >>> @dataclass
    ... class Verdict:
    ...     ok: bool
    >>> rendered = Prompt(PromptTemplate[Verdict]("docs", "verdict")).render()
    >>> parse_structured_output('Looks fine to me: {"ok": true}', rendered)
    Verdict(ok=True)
    >>> parse_structured_output('{"ok": "yes"}', rendered)
    Traceback (most recent call last):
    ...
    wink.errors.OutputParseError: the answer does not fit Verdict:
    $.ok: must be true or false, not "yes"
    """
    kind, container = rendered.output_type, rendered.container
    if kind is None or container is None:
        raise OutputParseError("the prompt declares no output; write PromptTemplate[Answer](...)", text)
    annotation = _annotation(rendered)
    extra: Extra = "ignore" if rendered.allow_extra_keys else "forbid"
    empty: list[Any] = []
    misfits: list[tuple[Problem, ...]] = []
    broken: list[str] = []
    for candidate in json_in(text):
        if isinstance(candidate, Broken):
            broken.append(candidate.problem)
            continue
        try:
            value = _fitted(candidate, annotation, container, extra)
        except ParseError as error:
            misfits.append(error.problems)
            continue
        if candidate.alone or candidate.text.strip("{}[] \t\r\n"):
            return value
        empty.append(value)
    if empty:
        return empty[0]
    if misfits:
        problems = min(misfits, key=len)
        message = f"the answer does not fit {kind.__qualname__}:\n{ParseError(problems)}"
        raise OutputParseError(message, text, kind, problems)
    wanted = _A[container]
    if broken:
        raise OutputParseError(f"the answer is not valid JSON: {broken[0]}; send {wanted}", text, kind)
    raise OutputParseError(f"there is no JSON in the answer; send {wanted}", text, kind)


def _annotation(rendered: RenderedPrompt[Any]) -> Any:
    """The whole type; renderings that were put together by hand may give its parts only."""
    if rendered.output is not None:
        return rendered.output
    return list[rendered.output_type] if rendered.container == "array" else rendered.output_type


def _fitted(found: Found, annotation: Any, container: Container, extra: "Extra") -> Any:
    """The value; raises `ParseError` with paths from the root of what was sent."""
    from wink.serde import parse

    wrapped = _WRAPPED.fullmatch(found.text) if container == "array" else None
    if wrapped is None or not is_json(wrapped[1]):
        return parse(annotation, found.text, extra=extra)
    try:
        return parse(annotation, wrapped[1], extra=extra)
    except ParseError as error:
        raise ParseError([Problem(f"$.items{one.path[1:]}", one.message) for one in error.problems]) from None
