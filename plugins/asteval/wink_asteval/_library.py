"""Find the library asteval without importing it: only the processes that evaluate do."""

from __future__ import annotations

import importlib.metadata
import os
import site
import sys
import sysconfig
from importlib.machinery import PathFinder
from typing import Final

from wink.errors import PromptValidationError

# 1.0.6 closed GHSA-3wwr-3g9f-9gc7 (attributes through format fields) and GHSA-vp47-9734-prjw (a function's own code).
OLDEST: Final = (1, 0, 6)


def library_directory() -> str:
    """The directory that asteval lies in; raises `PromptValidationError` with what to install."""
    for directory in trusted_directories():
        # A namespace package has no origin: a mere directory of that name is not the library.
        spec = PathFinder.find_spec("asteval", [directory])
        if spec is not None and spec.origin is not None:
            _refuse_old(directory)
            return directory
    raise PromptValidationError(
        "evaluate_python needs the library asteval, which is not installed; install wink[asteval]"
    )


def trusted_directories() -> tuple[str, ...]:
    """Where modules are imported from, without the current directory and what lies in it.

    An agent may be able to write there, and what it planted would run unconfined. The interpreter's own site
    directories are good wherever they lie.
    """
    here = os.path.realpath(os.getcwd())
    own = {os.path.realpath(path) for path in (*_site_directories(), os.path.dirname(os.__file__))}
    paths = dict.fromkeys(os.path.realpath(path) for path in sys.path if path)
    return tuple(path for path in paths if path in own or os.path.commonpath((path, here)) != here)


def version_numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version.

    >>> version_numbers("1.0.10.dev3+g0f79"), version_numbers("2.0rc1")
    ((1, 0, 10), (2,))
    """
    numbers: list[int] = []
    for part in version.split("+")[0].split("."):
        if not part.isdigit():
            break
        numbers.append(int(part))
    return tuple(numbers)


def _site_directories() -> tuple[str, ...]:
    return (
        *site.getsitepackages(),
        site.getusersitepackages(),
        sysconfig.get_path("purelib"),
        sysconfig.get_path("platlib"),
    )


def _refuse_old(directory: str) -> None:
    for found in importlib.metadata.distributions(name="asteval", path=[directory]):
        if version_numbers(found.version) < OLDEST:
            oldest = ".".join(map(str, OLDEST))
            raise PromptValidationError(
                f"asteval {found.version} has known ways out of it; install asteval {oldest} or newer, as wink[asteval] does"
            )
        return
