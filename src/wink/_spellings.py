"""Tell a program that gives an argument by a name which it had once what to write instead."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def explained(older: Mapping[str, Exception]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A function that raises what `older` has for the name of an argument that it does not take.

    >>> @explained({"size": TypeError("write length= for size=")})
    ... def cut(length: int) -> int:
    ...     return length
    >>> cut(length=3)
    3
    >>> cut(size=3)
    Traceback (most recent call last):
    ...
    TypeError: write length= for size=
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except TypeError:
                error = next((older[name] for name in kwargs if name in older), None)
                if error is None:
                    raise
            raise type(error)(*error.args)

        return call

    return decorate
