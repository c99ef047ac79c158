"""Examples in the text of a prompt: single calls of a tool, and worked tasks that use several tools one after the other."""

from wink.prompt.examples._calls import examples_block
from wink.prompt.examples._tasks import TaskExample, TaskExamplesSection, TaskStep

__all__ = ["TaskExample", "TaskExamplesSection", "TaskStep", "examples_block"]
