"""The root of every exception that wink raises on purpose."""

from typing import ClassVar

__all__ = ["WinkError"]


class WinkError(Exception):
    """The base of everything that wink raises on purpose.

    Each subclass keeps its facts as attributes, so that no caller has to parse a message, and hands its constructor's
    arguments to `Exception.__init__`, so that it survives pickling. Its text is what it `says`, with attributes in the place
    of their names in braces, or what its own `__str__` makes of them.
    """

    says: ClassVar[str] = ""
    is_failure: ClassVar[bool] = False
    """Whether work failed, rather than that what was asked for is wrong: a command ends with 1 then, and not with 2."""

    def __str__(self) -> str:
        return self.says.format_map(vars(self)) if self.says else super().__str__()
