"""Processes that have imported a module of isolated functions, and run each call of them in a fork.

* There is one for each module and workspace, with the view that any program has, but no workspace: what is imported cannot depend on it.
* Each call has namespaces of its own, made ahead of it. The overlay is mounted when it begins, and no other call ever has it.
* A fork gives up the rights by which it attached the overlay before a line of the function runs.
* What a fork would not have as the process itself has it, such as threads, makes `unfit`: then each call starts Python anew.
* One whose module changes on the disk is replaced; one that has nothing to do for long, or whose workspace is closed, ends.
"""

from wink_sandbox.forkserver._servers import Server, servers

__all__ = ["Server", "servers"]
