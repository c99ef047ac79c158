"""wink in this process, as the tests of its other commands have it."""

from tests.cli.conftest import cli, place, script, section_of

__all__ = ["cli", "place", "script", "section_of"]
