"""What a handler is given."""

import copy
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any, cast

import pytest

from wink.limits import Heartbeat
from wink.tools import ToolContext


class Bindings:
    def __init__(self, **bound: object) -> None:
        self.bound = bound

    def get(self, protocol: type, /) -> Any:
        return self.bound[protocol.__name__]

    def get_optional(self, protocol: type, /) -> Any:
        return self.bound.get(protocol.__name__)


class Prompt:
    def __init__(self, resources: Bindings) -> None:
        self.resources = resources


class Session:
    dispatcher = "the dispatcher"


def context(**more: Any) -> ToolContext:
    prompt = Prompt(Bindings(str="of the prompt", Filesystem="the prompt's files"))
    return ToolContext(prompt, None, cast("Any", "adapter"), cast("Any", Session()), **more)


def test_resources_are_the_calls_own_or_the_prompts() -> None:
    """A fresh `TOOL_CALL` resource comes before what the prompt shares."""
    assert context().resources.get(str) == "of the prompt"
    assert context(scope=Bindings(str="of the call")).resources.get(str) == "of the call"


def test_the_filesystem_is_the_calls_handle() -> None:
    """So that what is written through it can be undone."""
    files = context(scope=Bindings(Filesystem="the call's handle")).filesystem

    assert cast("object", files) == "the call's handle"


def test_older_names_still_work() -> None:
    """Handlers written for the earlier specification publish on `event_bus`."""
    assert cast("object", context().event_bus) == "the dispatcher"


def test_beating_reaches_the_heartbeat_if_there_is_one() -> None:
    """A handler need not know whether anybody watches."""
    beats: list[int] = []
    heartbeat = Heartbeat()
    heartbeat.add_callback(lambda: beats.append(1))

    context().beat()
    context(heartbeat=heartbeat).beat()

    assert beats == [1]


def test_contexts_are_frozen_slotted_dataclasses() -> None:
    """With a constructor of their own, which must not lose a field."""
    names = [field.name for field in fields(ToolContext)]
    values = {name: f"<{name}>" for name in names}
    made = ToolContext(**cast("Any", values))

    assert {name: getattr(made, name) for name in names} == values
    assert replace(made, call_id="x").call_id == "x"
    assert copy.copy(made) == made
    assert not hasattr(made, "__dict__")
    assert [getattr(context(), name) for name in names[4:]] == [None, None, None, None, "", None]
    with pytest.raises(FrozenInstanceError):
        made.call_id = "y"  # type: ignore[misc]
