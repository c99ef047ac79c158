"""wink in this process, as the tests of its other commands have it."""

from tests.cli.conftest import cli, place

__all__ = ["cli", "place"]
