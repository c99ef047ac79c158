"""What the examples of the specification take for granted: some tools, and somebody who calls them."""

from collections.abc import Callable
from typing import Any

import pytest

from wink.prompt import Prompt, Tool, ToolContext, ToolResult
from wink.runtime import ToolCall, ToolExecutor, ToolReply
from wink.session import Session
from wink_files import VfsToolsSection


class Model:
    """Calls the tools of a prompt, as a model would."""

    def __init__(self, prompt: Prompt, session: Session | None = None) -> None:
        self.prompt, self.session = prompt, session or Session()

    def call(self, name: str, **arguments: Any) -> ToolReply:
        rendered = self.prompt.render(session=self.session)
        return ToolExecutor(prompt=self.prompt, rendered=rendered, session=self.session).execute(
            ToolCall(name, arguments)
        )


@pytest.fixture
def model() -> Callable[..., Model]:
    """Somebody who calls the tools of a prompt."""
    return Model


def _step(name: str) -> Tool[None, None]:
    def handler(params: None, *, context: ToolContext) -> ToolResult[None]:
        return ToolResult.ok(None, message=f"{name} done")

    return Tool[None, None](name=name, description=f"Run {name}.", handler=handler)


@pytest.fixture
def steps() -> tuple[Tool[None, None], ...]:
    """`lint`, `test`, `build` and `deploy`, which always succeed."""
    return tuple(_step(name) for name in ("lint", "test", "build", "deploy"))


@pytest.fixture
def file_tools() -> dict[str, Tool[Any, Any]]:
    """The file tools by their names."""
    return {tool.name: tool for tool in VfsToolsSection(read_before_write=False).tools()}
