"""Errors of tools, sections, prompts and their evaluation."""

from collections.abc import Mapping, Sequence

from wink.errors._core import WinkError
from wink.errors._serde import Problem

__all__ = [
    "DuplicateToolName",
    "OutputParseError",
    "PromptEvaluationError",
    "PromptOverrideError",
    "PromptOverrideWarning",
    "PromptRenderError",
    "PromptValidationError",
    "SectionNotFound",
    "VisibilityExpansionRequired",
]


class _Located(WinkError):
    """An error that says where in a prompt it is.

    `section_path` holds the keys from the root section down, `tool` the tool's name, `dataclass` the type concerned;
    each is empty or `None` where it does not apply.
    """

    def __init__(
        self, message: str, section_path: Sequence[str] = (), tool: str | None = None, dataclass: type | None = None
    ) -> None:
        self.message, self.section_path, self.tool, self.dataclass = message, tuple(section_path), tool, dataclass
        super().__init__(message, self.section_path, tool, dataclass)

    def __str__(self) -> str:
        where: list[str] = []
        if self.section_path:
            where.append(f"section {'/'.join(self.section_path)!r}")
        if self.tool is not None:
            where.append(f"tool {self.tool!r}")
        if self.dataclass is not None:
            where.append(f"dataclass {self.dataclass.__qualname__}")
        return f"{', '.join(where)}: {self.message}" if where else self.message


class PromptValidationError(_Located, ValueError):
    """A tool, a section or a template is not put together correctly.

    `section_path` holds the keys from the root section down, `tool` the tool's name, `dataclass` the type concerned;
    each is empty or `None` where it does not apply.
    """


class DuplicateToolName(PromptValidationError):
    """Two enabled sections of one prompt bring a tool with the same name; `first` and `second` say which.

    `section_path` is that of the second, in which it was found.
    """

    def __init__(self, name: str, first: str, second: str, section_path: Sequence[str] = ()) -> None:
        self.name, self.first, self.second = name, first, second
        super().__init__(f"tool {name!r} comes from both {first} and {second}", section_path, tool=name)
        self.args = (name, first, second, self.section_path)

    def __str__(self) -> str:
        return (
            f"tool {self.name!r} comes from both {self.first} and {self.second}; "
            f"rename one with use(..., rename={{{self.name!r}: ...}})"
        )


class PromptRenderError(_Located):
    """A prompt that was put together correctly could not be rendered with the parameters it was given.

    Facts are as for `PromptValidationError`.
    """


class SectionNotFound(WinkError, LookupError):
    """A template has no section, or several, of the key, path or type that was looked for; `paths` are those it has."""

    def __init__(self, wanted: object, paths: Sequence[Sequence[str]] = ()) -> None:
        self.wanted, self.paths = wanted, tuple(tuple(path) for path in paths)
        super().__init__(wanted, self.paths)

    def __str__(self) -> str:
        wanted = self.wanted.__qualname__ if isinstance(self.wanted, type) else repr(self.wanted)
        if not self.paths:
            return f"no section is {wanted}"
        places = ", ".join(repr("/".join(path)) for path in self.paths)
        return f"several sections are {wanted}: {places}; ask for one of them by its path, a tuple of keys"


class PromptOverrideError(WinkError, ValueError):
    """An override cannot be stored, or what is stored cannot be used; nothing was changed.

    `where` says which template and tag it is about; `problems` holds one line for each thing that is wrong.
    """

    def __init__(self, message: str, where: str = "", problems: Sequence[str] = ()) -> None:
        self.message, self.where, self.problems = message, where, tuple(problems)
        super().__init__(message, where, self.problems)

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text}: {'; '.join(self.problems)}" if self.problems else text


class PromptOverrideWarning(UserWarning):
    """An override was left out of a prompt, because it no longer fits or cannot be read; the code's own text stands."""


class PromptEvaluationError(WinkError):
    """An evaluation had to end; `phase` says where it was: `request`, `response`, `tool`, `budget`, ..."""

    is_failure = True

    def __init__(self, message: str, phase: str, prompt_name: str = "") -> None:
        self.message, self.phase, self.prompt_name = message, phase, prompt_name
        super().__init__(message, phase, prompt_name)

    def __str__(self) -> str:
        return f"{self.prompt_name}: {self.message}" if self.prompt_name else self.message


class VisibilityExpansionRequired(WinkError):
    """The model asked for summarised sections to be opened; render again with `requested_overrides`.

    Not a failure: it travels out of the tool call so that the prompt can be rendered anew. `section_keys` are the
    sections named by the model, `reason` is why it wanted them.
    """

    def __init__(
        self, requested_overrides: Mapping[tuple[str, ...], object], reason: str, section_keys: Sequence[str]
    ) -> None:
        self.requested_overrides, self.reason = dict(requested_overrides), reason
        self.section_keys = tuple(section_keys)
        super().__init__(self.requested_overrides, reason, self.section_keys)

    def __str__(self) -> str:
        return f"sections {', '.join(map(repr, self.section_keys))} must be opened: {self.reason}"


class OutputParseError(WinkError, ValueError):
    """A final answer is not the structured output that the prompt asked for.

    `text` keeps the answer as it came, `dataclass` is what was asked for, and `problems` has everything that is wrong with
    the JSON in it, each with its path; it is empty when there was none to judge.
    """

    def __init__(
        self, message: str, text: str, dataclass: type | None = None, problems: Sequence[Problem] = ()
    ) -> None:
        self.message, self.text, self.dataclass, self.problems = message, text, dataclass, tuple(problems)
        super().__init__(message, text, dataclass, self.problems)

    def __str__(self) -> str:
        return self.message
