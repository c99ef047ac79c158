"""The near end of a process that makes calls."""

from __future__ import annotations

import multiprocessing
from typing import Any, Final

from .caller import serve

_PATIENCE: Final = 300.0


class Wrong(AssertionError):
    """The tree, the record or a reply is not what it has to be."""


class Process:
    """A caller on a workspace, in a process that a server forks which has made calls before: that saves its start."""

    def __init__(self, root: str) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["tests.histories.warmed"])
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(root, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self.recovered: int = self.answer()
        """How many transactions of killed processes it ended when it opened the workspace."""

    def ask(self, name: str, *arguments: object) -> None:
        """Let it begin."""
        self._pipe.send((name, *arguments))

    def answer(self) -> Any:
        """What came of it; raises `Wrong` where it raised anything, or has ended."""
        if not self._pipe.poll(_PATIENCE):
            raise Wrong("a process does not answer")
        try:
            answer = self._pipe.recv()
        except EOFError:
            raise Wrong("a process ended by itself") from None
        if isinstance(answer, Exception):
            raise Wrong(f"{type(answer).__name__}: {answer}") from answer
        return answer

    def do(self, name: str, *arguments: object) -> Any:
        """Ask, and wait for the answer."""
        self.ask(name, *arguments)
        return self.answer()

    def kill(self) -> bool:
        """End it in the middle of what it does; whether it had not answered yet."""
        self._process.kill()
        self._process.join()
        try:
            self._pipe.recv()
        except (EOFError, OSError):
            return True
        finally:
            self._pipe.close()
        return False

    def close(self) -> None:
        """Let it end by itself."""
        self._pipe.close()
        self._process.join(_PATIENCE)
        status = self._process.exitcode
        if status != 0:
            self._process.kill()
            raise Wrong(f"a process ended with {status}")
