"""Write overrides as JSON, and read JSON that people may have edited.

One file holds what one tag says of one template:

    {
      "version": 1,
      "ns": "demo", "prompt_key": "welcome", "tag": "latest",
      "sections": {"outer/inner": {"expected_hash": "9f86d0…", "body": "…", "summary": "…"}},
      "tools": {
        "search": {
          "expected_contract_hash": "9f86d0…",
          "description": "…",
          "param_descriptions": {"query": "…"},
          "examples": [{"action": "replace", "index": 0, "expected_hash": "…", "description": "…", "input": {}, "output": {}}]
        }
      },
      "task_examples": [{"path": "outer/examples", "action": "remove", "index": 0, "expected_hash": "…"}]
    }
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn, TypeVar, cast

from wink.errors import ParseError, PromptOverrideError, WinkError
from wink_overrides._fit import Misfit
from wink_overrides._values import PromptOverride, SectionOverride, TaskExampleOverride, ToolOverride, section_path

__all__ = ["VERSION", "as_json", "as_value", "from_json"]

VERSION: Final = 1
_OPTIONAL: Final = ("description", "examples", "expected_hash", "param_descriptions")
_KEYS: Final = ("version", "ns", "prompt_key", "tag", "sections", "tools", "task_examples")

T = TypeVar("T")


def as_value(override: PromptOverride) -> dict[str, Any]:
    """An override as plain JSON values."""
    from wink.serde import dump

    def entry(part: object, *besides: str) -> dict[str, Any]:
        values = {key: value for key, value in dump(part).items() if key not in besides and value is not None}
        return {key: value for key, value in values.items() if value or key not in _OPTIONAL}

    sections = {
        "/".join(path): {"expected_hash": section.expected_hash, "body": section.body}
        | ({} if section.summary is None else {"summary": section.summary})
        for path, section in sorted(override.sections.items())
    }
    tools: dict[str, Any] = {}
    for name, tool in sorted(override.tool_overrides.items()):
        tools[name] = entry(tool, "name", "examples")
        if tool.examples:
            tools[name]["examples"] = [entry(example) for example in tool.examples]
    examples = [{"path": "/".join(one.path), **entry(one, "path")} for one in override.task_example_overrides]
    return {
        "version": VERSION,
        "ns": override.ns,
        "prompt_key": override.prompt_key,
        "tag": override.tag,
        "sections": sections,
        "tools": tools,
        **({"task_examples": examples} if examples else {}),
    }


def as_json(override: PromptOverride) -> str:
    """An override as the text of its file: indented, for people and for diffs.

    Raises `PromptOverrideError` for examples that JSON cannot hold.
    """
    try:
        value = as_value(override)
        text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
        if any("\ud800" <= character <= "\udfff" for character in text):
            text = json.dumps(value, indent=2, allow_nan=False)
    except (TypeError, ValueError, RecursionError, WinkError) as error:
        raise PromptOverrideError(f"an example is no JSON: {error}") from error
    return text + "\n"


def from_json(text: str, *, ns: str, prompt_key: str, tag: str) -> tuple[PromptOverride, tuple[Misfit, ...]]:
    """What a file says that should be about this template and tag, and what is wrong with the parts left out.

    Raises `PromptOverrideError` when nothing of it can be used.
    """
    document = _document(text)
    _check_head(document, {"ns": ns, "prompt_key": prompt_key, "tag": tag})
    misfits: list[Misfit] = []
    sections: dict[tuple[str, ...], SectionOverride] = {}
    tools: dict[str, ToolOverride] = {}
    examples: list[TaskExampleOverride] = []
    for key in document.keys() - set(_KEYS):
        misfits.append(Misfit("wrong", "prompt", "", f"the key {key!r} means nothing; the keys are {', '.join(_KEYS)}"))
    for name, entry in _table(document, "sections", misfits).items():
        path = section_path(name)
        if _has(entry, "path", "section", name, misfits):
            continue
        if (section := _read(SectionOverride, entry, {"path": list(path)}, "section", name, misfits)) is not None:
            sections[path] = section
    for name, entry in _table(document, "tools", misfits).items():
        if _has(entry, "name", "tool", name, misfits):
            continue
        if (tool := _read(ToolOverride, entry, {"name": name}, "tool", name, misfits)) is not None:
            tools[name] = tool
    listed = document.get("task_examples", [])
    if not isinstance(listed, list):
        misfits.append(Misfit("wrong", "prompt", "", "'task_examples' must be a list"))
        listed = []
    for number, entry in enumerate(cast("list[Any]", listed)):
        name = f"task_examples[{number}]"
        path = cast("dict[str, Any]", entry).get("path") if isinstance(entry, dict) else None
        if not isinstance(path, str) or not isinstance(entry, dict):
            misfits.append(Misfit("wrong", "section", name, "needs a 'path', such as \"outer/inner\""))
            continue
        given = {"path": list(section_path(path))}
        if (
            example := _read(TaskExampleOverride, cast("dict[str, Any]", entry), given, "section", name, misfits)
        ) is not None:
            examples.append(example)
    return PromptOverride(ns, prompt_key, tag, sections, tools, tuple(examples)), tuple(misfits)


def _document(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        # Not `str(error)`: what is no JSON may be something that is nobody's business.
        raise PromptOverrideError(f"is no JSON: line {error.lineno}, column {error.colno}") from None
    except (ValueError, RecursionError):
        raise PromptOverrideError("is no JSON that could be read") from None
    if not isinstance(document, dict):
        raise PromptOverrideError("is no JSON object")
    return cast("dict[str, Any]", document)


def _no_number(constant: str) -> NoReturn:
    raise ValueError(constant)


def _check_head(document: Mapping[str, Any], expected: Mapping[str, str]) -> None:
    version = document.get("version")
    if type(version) is not int or version != VERSION:
        if type(version) is int and version > VERSION:
            raise PromptOverrideError(f"has format version {version}; this wink reads {VERSION}, a newer one is needed")
        raise PromptOverrideError(f'says no format version that exists; write "version": {VERSION}')
    for key, value in expected.items():
        if document.get(key) != value:
            raise PromptOverrideError(f"says another {key!r} than its place, which is for {value!r}; fix one of them")


def _table(document: Mapping[str, Any], key: str, misfits: list[Misfit]) -> dict[str, Any]:
    table = document.get(key, {})
    if isinstance(table, dict):
        return cast("dict[str, Any]", table)
    misfits.append(Misfit("wrong", "prompt", "", f"{key!r} must be an object"))
    return {}


def _has(entry: Any, key: str, part: Any, name: str, misfits: list[Misfit]) -> bool:
    if isinstance(entry, dict) and key not in entry:
        return False
    reason = (
        f"$.{key}: is said by the key of the entry; take it out" if isinstance(entry, dict) else "must be an object"
    )
    misfits.append(Misfit("wrong", part, name, reason))
    return True


def _read(
    cls: type[T], entry: dict[str, Any], given: dict[str, Any], part: Any, name: str, misfits: list[Misfit]
) -> T | None:
    from wink.serde import parse

    make = cast("Callable[..., T]", parse)
    try:
        return make(cls, {**entry, **given})
    except ParseError as error:
        misfits.append(Misfit("wrong", part, name, str(error)))
    except (ValueError, RecursionError, WinkError):
        misfits.append(Misfit("wrong", part, name, "cannot be read"))
    return None
