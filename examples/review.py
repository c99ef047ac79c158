"""Review a directory, and print what was found as JSON.

    python examples/review.py openai.responses:MODEL DIRECTORY [SUBJECT]

`anthropic.messages:MODEL` and any other adapter that a plugin offers do as well; `wink plugins` lists them.
"""

import sys
from dataclasses import dataclass, field
from typing import Literal

from wink import Filesystem, MarkdownSection, Prompt, PromptTemplate, ProviderAdapter
from wink.plugins import Catalog
from wink.serde import dumps
from wink.workspace import Workspace
from wink_rules import Rule, RulesPolicy


@dataclass(frozen=True)
class Subject:
    """What to look at."""

    text: str = "all of it"


@dataclass(frozen=True)
class Finding:
    """Something that should be fixed."""

    path: str
    line: int = field(metadata={"description": "Counts from 1.", "ge": 1})
    severity: Literal["low", "medium", "high"]
    problem: str = field(metadata={"description": "What goes wrong, and when."})
    remedy: str


TASK = """
Review this project: ${text}. Look for mistakes that somebody would notice: wrong results, crashes, lost data, holes.
Read what you judge, and name for each finding the file and the line as you have read them. No finding is a good answer.
"""


def review(adapter: ProviderAdapter, directory: str, subject: str = "all of it") -> list[Finding]:
    """What a model finds in a directory; it cannot change anything there."""
    catalog = Catalog.installed(workspace=directory)
    template = PromptTemplate[list[Finding]](
        ns="examples",
        key="review",
        sections=[MarkdownSection[Subject]("Task", TASK, "task"), catalog.use("section", "files.files")],
        policies=[RulesPolicy([Rule("allow", effects="read")], default="deny")],
    )
    with Workspace.open(directory) as workspace:
        prompt = Prompt(template).bind(Subject(subject), resources={Filesystem: workspace.filesystem})
        response = adapter.evaluate(prompt, session=workspace.session("review"))
    return response.output or []


def main(model: str, directory: str, subject: str = "all of it") -> int:
    """Print the findings, one JSON object a line; the exit status is 1 when one of them is severe."""
    offer, _, name = model.partition(":")
    findings = review(Catalog.installed().use("adapter", offer, model=name), directory, subject)
    for finding in findings:
        print(dumps(finding))
    return int(any(finding.severity == "high" for finding in findings))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
