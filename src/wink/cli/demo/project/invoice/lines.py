"""The lines of a bill."""

from collections import namedtuple

Line = namedtuple("Line", "title amount")
