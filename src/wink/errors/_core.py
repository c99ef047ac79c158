"""The root of every exception that wink raises on purpose."""

__all__ = ["WinkError"]


class WinkError(Exception):
    """The base of everything that wink raises on purpose.

    Each subclass keeps its facts as attributes, so that no caller has to parse a message, and hands its constructor's
    arguments to `Exception.__init__`, so that it survives pickling.
    """
