"""Let a model fix a repository until its tests pass.

    python examples/fix.py anthropic.messages:MODEL DIRECTORY ISSUE

The model reads, edits and runs the tests in a sandbox. It may not stop before they pass. Whatever it does can be taken
back with `wink undo`.
"""

import sys
from dataclasses import dataclass

from wink import Filesystem, MarkdownSection, Prompt, PromptTemplate, ProviderAdapter, ToolInvoked
from wink.plugins import Catalog
from wink.prompt import TaskCompletionContext, TaskCompletionResult
from wink.workspace import Workspace

TESTS = f"{sys.executable} -m pytest -q"


@dataclass(frozen=True)
class Issue:
    """What is wrong."""

    text: str
    tests: str = TESTS


class TestsPass:
    """Lets a model stop when its last command was the tests, they passed, and nothing was changed since."""

    def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
        """Look at the last call that ran a command or changed a file."""
        for call in reversed(context.session[ToolInvoked].all()):
            if call.name == "run_command" and call.success and TESTS in call.params.command:
                return TaskCompletionResult.ok()
            if call.name == "run_command" or call.change:
                break
        return TaskCompletionResult.incomplete(f"Run `{TESTS}` with run_command and see it pass before you stop.")


def fix(adapter: ProviderAdapter, directory: str, issue: str) -> str:
    """The model's last words; what it changed is in the workspace, and in its record."""
    catalog = Catalog.installed(workspace=directory)
    template = PromptTemplate(
        ns="examples",
        key="fix",
        sections=[
            MarkdownSection[Issue](
                "Task", "Fix this issue, with as few changes as it takes: ${text}\n\nThe tests are `${tests}`.", "task"
            ),
            catalog.use("section", "planning.plan"),
            catalog.use("section", "files.files"),
            catalog.use("section", "shell.commands"),
        ],
        task_completion_checker=TestsPass(),
    )
    with Workspace.open(directory) as workspace:
        prompt = Prompt(template).bind(Issue(issue), resources={Filesystem: workspace.filesystem})
        return adapter.evaluate(prompt, session=workspace.session("fix")).text


def main(model: str, directory: str, issue: str) -> None:
    """Fix, and say what was done."""
    offer, _, name = model.partition(":")
    print(fix(Catalog.installed().use("adapter", offer, model=name), directory, issue))


if __name__ == "__main__":
    main(*sys.argv[1:])
