"""What puts a task's prompt and model together, and how it is named."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from wink.dataclass import dataclass

if TYPE_CHECKING:
    from wink.adapters import ProviderAdapter
    from wink.prompt import Prompt
    from wink.workspace import Workspace
    from wink_batch._task import Task


@dataclass(frozen=True, slots=True)
class Assembling:
    """What an assembly is given: the task, the options of the batch, and the workspace, opened."""

    task: Task
    options: Mapping[str, Any]
    workspace: Workspace


Assembly = Callable[[Assembling], "tuple[Prompt[Any], ProviderAdapter]"]
"""Puts the prompt and the model of one task together, in the attempt's own process."""
"""A function that puts a task's prompt and its model together."""


def named(place: str) -> Any:
    """What `module:name` names; raises `ImportError` that says what is missing.

    >>> named("os.path:join")("a", "b")
    'a/b'
    """
    module, _, path = place.partition(":")
    if not module or not path:
        raise ImportError(f"{place!r} names nothing; write module:name")
    try:
        found: object = importlib.import_module(module)
    except ImportError:
        raise
    except BaseException as error:  # foreign code
        raise ImportError(f"{module!r} cannot be imported: {type(error).__name__}: {error}") from error
    for name in path.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            raise ImportError(f"module {module!r} has no {path!r}") from None
    return found


def assembly(place: str) -> Assembly:
    """The assembly of a name; raises `ImportError`."""
    return cast("Assembly", named(place))
