"""What a model is told of an exception that is about its own files or data."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field

from wink import ToolContext, tool
from wink.filesystem import Filesystem
from wink.prompt import Prompt, PromptTemplate, ToolsSection
from wink.runtime import ToolCall, ToolExecutor
from wink.session import Session
from wink.testing import Harness
from wink.workspace import Workspace


class Server(BaseModel):
    port: int = Field(ge=1)
    token: str


def test_a_file_of_the_workspace_is_named_without_the_host(tmp_path: Path) -> None:
    """A model can fix a path of its own; where the workspace lies is nobody's business."""

    @tool
    def read(path: str) -> str:
        """Read."""
        return (tmp_path / path).read_text()

    @tool
    def rename(old: str, new: str) -> None:
        """Rename."""
        (tmp_path / old).rename(tmp_path / new)

    with Harness(root=tmp_path, audit=False) as harness:
        harness.use(read)
        harness.use(rename)
        missing = harness.call("read", path="src/a.txt").text
        moved = harness.call("rename", old="a", new="b").text
        outside = harness.call("read", path="/etc/wink-is-not-there").text

    assert missing.startswith("read failed with FileNotFoundError: 'src/a.txt' No such file or directory (error ")
    assert "'a' -> 'b'" in moved
    assert str(tmp_path) not in missing + moved
    assert outside.startswith("read failed with FileNotFoundError (error ")


def test_validation_says_what_is_wrong_and_not_with_which_value() -> None:
    """Text of a file may be anybody's secret; which field is wrong is none."""

    @tool
    def load(text: str) -> str:
        """Load."""
        return Server.model_validate_json(text).token

    @tool
    def decode(text: str) -> Any:
        """Decode."""
        return json.loads(text)

    with Harness() as harness:
        harness.use(load)
        harness.use(decode)
        said = harness.call("load", text='{"port": 0, "tokens": "sesame"}').text
        broken = harness.call("decode", text="{").text

    assert "port: Input should be greater than or equal to 1; token: Field required" in said
    assert "sesame" not in said
    assert "JSONDecodeError: Expecting property name" in broken


def test_secrets_in_names_are_masked() -> None:
    """A path can have a key in it."""
    key = "sk-ant-api03-" + "a1B2c3D4" * 12

    @tool
    def read(path: str) -> str:
        """Read."""
        raise FileNotFoundError(2, "x", path)

    with Harness() as harness:
        harness.use(read)
        assert key not in harness.call("read", path=f"notes/{key}").text


@pytest.mark.parametrize("error", [ValueError("at /etc/passwd"), OSError("/etc/passwd"), RuntimeError("a secret")])
def test_others_stay_type_and_id(error: Exception) -> None:
    """What they say may be about anything."""

    @tool
    def fail() -> str:
        """Fail."""
        raise error

    with Harness() as harness:
        harness.use(fail)
        said = harness.call("fail").text

    assert said.startswith(f"fail failed with {type(error).__name__} (error ")


# -- on an event loop


def executor_of(files: Filesystem, *tools: Any) -> ToolExecutor:
    template = PromptTemplate(ns="words", key="one", sections=[ToolsSection("Some", tools)])
    prompt, session = Prompt(template).bind(resources={Filesystem: files}), Session()
    return ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)


def test_a_sync_function_does_not_hold_up_the_loop() -> None:
    """What it waits for may be something that the loop has to do."""
    from wink.filesystem import InMemoryFilesystem

    goes_on = threading.Event()

    @tool
    def wait() -> bool:
        """Wait."""
        return goes_on.wait(60)

    async def main() -> str:
        call = asyncio.ensure_future(executor_of(InMemoryFilesystem(), wait).aexecute(ToolCall("wait")))
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_soon(goes_on.set)
        return (await call).text

    assert asyncio.run(main()) == "true"


def test_reads_of_a_batch_overlap_on_a_loop_too() -> None:
    """Each waits here until the other is there."""
    from wink.filesystem import InMemoryFilesystem

    both = threading.Barrier(2, timeout=60)

    @tool(effects="read")
    def meet() -> int:
        """Meet."""
        return both.wait() * 0

    executor = executor_of(InMemoryFilesystem(), meet)

    replies = asyncio.run(executor.aexecute_batch([ToolCall("meet"), ToolCall("meet")]))

    assert [reply.text for reply in replies] == ["0", "0"]


def test_a_cancelled_call_answers_at_once_and_writes_no_more(tmp_path: Path) -> None:
    """Its function goes on, behind handles that have been revoked."""
    workspace = Workspace.open(tmp_path)
    begun, released, ended = threading.Event(), threading.Event(), threading.Event()
    raised: list[str] = []

    @tool
    def slow(context: ToolContext) -> None:
        """Be slow."""
        context.filesystem.write("a.txt", "half")
        begun.set()
        released.wait(60)
        try:
            context.filesystem.write("b.txt", "late")
        except Exception as error:
            raised.append(type(error).__name__)
        ended.set()

    async def main() -> None:
        call = asyncio.ensure_future(executor_of(workspace.filesystem, slow).aexecute(ToolCall("slow")))
        await asyncio.to_thread(begun.wait, 60)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert not released.is_set()
        assert not (tmp_path / "a.txt").exists()
        released.set()
        await asyncio.to_thread(ended.wait, 60)

    with workspace:
        asyncio.run(main())

    assert raised == ["HandleRevoked"]
    assert not (tmp_path / "a.txt").exists()
    assert not (tmp_path / "b.txt").exists()
