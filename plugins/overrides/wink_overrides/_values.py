"""What people may say instead of what the code says: other texts, descriptions and examples."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, cast

from wink.dataclass import dataclass, field, is_dataclass, replace
from wink.errors import PromptOverrideError

__all__ = [
    "Action",
    "PromptOverride",
    "SectionOverride",
    "TaskExampleOverride",
    "ToolExampleOverride",
    "ToolOverride",
    "section_path",
]

Action = Literal["append", "replace", "remove"]
"""What becomes of an example; `replace` and `remove` name it by its index in the code, from 0."""

_HASH: Final = {"regex": r"^[0-9a-f]{64}$"}
_INDEX: Final = {"ge": 0}


def section_path(path: "str | Sequence[str]") -> tuple[str, ...]:
    """The keys from the root section down, also when they are written `outer/inner`.

    >>> section_path("outer/inner")
    ('outer', 'inner')
    """
    return tuple(path.split("/")) if isinstance(path, str) else tuple(path)


@dataclass(frozen=True, slots=True)
class SectionOverride:
    """Another text for a section.

    `expected_hash` is the hash of the text that it was written against (`SectionDescriptor.content_hash`); empty, a store
    fills in the present one. `body` is a template like the section's own, with its placeholders; `summary`, if there is
    one, takes the place of the section's summary. `path` names the section.
    """

    expected_hash: str = field(metadata=_HASH)
    body: str
    summary: str | None = None
    path: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", section_path(self.path) if self.path else ())


@dataclass(frozen=True, slots=True)
class ToolExampleOverride:
    """One example more of a tool, another one in place of one that it has, or one less.

    `input` and `output` are JSON values, or dataclasses, which become JSON values. `expected_hash` belongs to the example
    that is replaced or removed. The methods `append`, `replace` and `remove` of the class make one.
    """

    action: Action
    index: int | None = field(default=None, metadata=_INDEX)
    expected_hash: str = ""
    description: str = ""
    input: Any = None
    output: Any = None

    def __post_init__(self) -> None:
        _check_action(self.action, self.index)
        object.__setattr__(self, "input", _plain(self.input))
        object.__setattr__(self, "output", _plain(self.output))

    @classmethod
    def append(cls, description: str, input: Any, output: Any) -> "ToolExampleOverride":
        """One example more, after the others."""
        return cls("append", description=description, input=input, output=output)

    @classmethod
    def replace(
        cls, index: int, description: str, input: Any, output: Any, *, expected_hash: str = ""
    ) -> "ToolExampleOverride":
        """Another example at `index`."""
        return cls("replace", index, expected_hash, description, input, output)

    @classmethod
    def remove(cls, index: int, *, expected_hash: str = "") -> "ToolExampleOverride":
        """No example at `index`."""
        return cls("remove", index, expected_hash)


@dataclass(frozen=True, slots=True)
class ToolOverride:
    """Other words about a tool; what is left out stays as it is.

    `expected_contract_hash` is `ToolDescriptor.contract_hash`; empty, a store fills in the present one. The rules for
    descriptions are those of `Tool`. Neither its name nor the types of its parameters can be changed.
    """

    name: str
    expected_contract_hash: str = field(metadata=_HASH)
    description: str | None = None
    param_descriptions: Mapping[str, str] = field(default_factory=dict[str, str])
    examples: tuple[ToolExampleOverride, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "param_descriptions", dict(self.param_descriptions))
        object.__setattr__(self, "examples", tuple(self.examples))


@dataclass(frozen=True, slots=True)
class TaskExampleOverride:
    """One example more of a section of task examples, another in place of one that it has, or one less.

    `path` names the section. `example` is the example as JSON, or a `TaskExample`, which becomes JSON. `expected_hash`
    belongs to the example that is replaced or removed; empty, a store fills in the present one.
    """

    path: tuple[str, ...]
    action: Action
    index: int | None = field(default=None, metadata=_INDEX)
    expected_hash: str = ""
    example: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", section_path(self.path))
        _check_action(self.action, self.index)
        object.__setattr__(self, "example", _plain(self.example))


@dataclass(frozen=True, slots=True)
class PromptOverride:
    """All that one tag says instead of one template.

    `sections` go by their paths, which may be written `outer/inner`; `tool_overrides` by the names of the tools.
    """

    ns: str
    prompt_key: str
    tag: str = "latest"
    sections: Mapping[tuple[str, ...], SectionOverride] = field(default_factory=dict[tuple[str, ...], SectionOverride])
    tool_overrides: Mapping[str, ToolOverride] = field(default_factory=dict[str, ToolOverride])
    task_example_overrides: tuple[TaskExampleOverride, ...] = ()

    def __post_init__(self) -> None:
        given = {section_path(path): section for path, section in self.sections.items()}
        sections = {
            path: section if section.path == path else replace(section, path=path) for path, section in given.items()
        }
        object.__setattr__(self, "sections", sections)
        object.__setattr__(self, "tool_overrides", dict(self.tool_overrides))
        object.__setattr__(self, "task_example_overrides", tuple(self.task_example_overrides))
        for name, tool in self.tool_overrides.items():
            if tool.name != name:
                raise PromptOverrideError(f"what is said of tool {name!r} is about {tool.name!r}")

    def __bool__(self) -> bool:
        """Whether it says anything."""
        return bool(self.sections or self.tool_overrides or self.task_example_overrides)


def _check_action(action: str, index: int | None) -> None:
    if action not in ("append", "replace", "remove"):
        raise PromptOverrideError(f"an example cannot be {action!r}; use 'append', 'replace' or 'remove'")
    if action == "append" and index is not None:
        raise PromptOverrideError("an example that is appended has no index; leave it out")
    if action != "append" and (not isinstance(index, int) or index < 0):
        raise PromptOverrideError(f"to {action} an example, give its index, from 0; not {index!r}")


def _plain(value: Any) -> Any:
    if not is_dataclass(value) and not isinstance(value, (list, tuple)):
        return value
    from wink.serde import dump

    return dump(cast("object", value))
