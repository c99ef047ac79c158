"""Describing a tool's parameters in other words than those beside their fields."""

from dataclasses import dataclass, field

import pytest

from wink.errors import PromptValidationError
from wink.tools import Tool


@dataclass(frozen=True)
class Range:
    """Some lines."""

    first: int = 0


@dataclass(frozen=True)
class Lookup:
    path: str = field(metadata={"description": "Where it is.", "alias": "file"})
    lines: Range = field(default_factory=Range)
    note: str = ""


LOOKUP = Tool[Lookup, None]("lookup", "Look something up.")


def test_the_schema_has_the_other_words() -> None:
    """Under the key that the model knows, beside a reference too, and nowhere else."""
    told = LOOKUP.replace(param_descriptions={"path": " The file. ", "lines": "Which lines."})

    properties = told.schema()["properties"]
    assert properties["file"]["description"] == "The file."
    assert properties["lines"] == {**LOOKUP.schema()["properties"]["lines"], "description": "Which lines."}
    assert properties["note"] == LOOKUP.schema()["properties"]["note"]
    assert LOOKUP.schema()["properties"]["file"]["description"] == "Where it is."


def test_another_name_keeps_the_words() -> None:
    """`replace` changes what it is told to change."""
    told = LOOKUP.replace(param_descriptions={"note": "Why."})

    assert told.replace(name="find").param_descriptions == {"note": "Why."}
    assert told.parse('{"file": "a"}') == Lookup("a")


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"paht": "Where."}, "there is no parameter 'paht' to describe; it has path, lines, note"),
        ({"path": "  "}, "the description of 'path' must be a text, not '  '"),
        ({"path": 7}, "the description of 'path' must be a text, not 7"),
        ("path", "param_descriptions maps names to texts, 'path' does not"),
    ],
)
def test_nonsense_is_refused(given: object, complaint: str) -> None:
    """When the tool is built, like everything else about it."""
    with pytest.raises(PromptValidationError) as caught:
        LOOKUP.replace(param_descriptions=given)
    assert caught.value.message == complaint
