"""The command line: the only part of wink that reads the environment, the home directory and the terminal."""

from wink.cli._main import main

__all__ = ["main"]
