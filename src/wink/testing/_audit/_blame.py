"""Tell from the stack who is about to do something: the handler's code, wink on its behalf, or the interpreter."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache
from types import FrameType
from typing import Any, Final, NamedTuple

import wink
from wink.filesystem import Filesystem

BOUNDARY: Final = "wink.testing._handlers"
"""The module whose frames a handler is called from."""

ACTS_FOR_TOOLS: Final = "__acts_for_tools__"
"""The global of a package that acts for handlers of others, as a sandbox for their programs: what of it no effect has to declare."""

_IMPORTING: Final = frozenset(("importlib._bootstrap", "importlib._bootstrap_external", "zipimport", "runpy"))
_WATCHERS: Final = frozenset(("coverage", "pytest_cov", "pytest_timeout", "pydevd", "_pytest", "hypothesis"))
_TELLING: Final = frozenset(("logging", "linecache", "traceback", "inspect", "warnings", "faulthandler", "pdb", "bdb"))
"""Modules that show where something happened, or that write where the program's logs go."""

_FILES: Final = ("reads", "changes")
_ON_ITS_BEHALF: Final = {
    "record": _FILES,
    "history": (*_FILES, "programs"),
    "workspace": _FILES,
    "adapters": ("network", "local"),
}
"""What packages of wink do for any handler; that a program is started remains the tool's act."""

_WINK: Final = os.path.dirname(wink.__file__) + os.sep
_STDLIB: Final = tuple({os.path.realpath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib")})


class Blame(NamedTuple):
    """Who does it: a place in the code of the handler or of a library that it uses; `package` is a directory of it."""

    where: str
    directory: str
    through: str = ""


def blame(
    frame: FrameType | None, sort: str, files: Filesystem | None, package: str, last: FrameType | None = None
) -> Blame | None:
    """Who is to blame for an act; None when it is nobody whom the effects bind.

    `files` are the call's own, and `package` is the one that the handler's module belongs to. The code around the frame
    `last` has nothing to do with it.
    """
    first: FrameType | None = None
    own: FrameType | None = None
    through = ""
    for one in _stack(frame, last):
        name: str = one.f_globals.get("__name__") or ""
        if name == BOUNDARY:
            break
        top, _, rest = name.partition(".")
        if name in _IMPORTING or top in _WATCHERS or top in _TELLING or _is_finalizer(one, top):
            return None
        if one.f_code.co_filename.startswith(_WINK):
            layer = rest.partition(".")[0]
            if layer == "filesystem":
                other = _other_files(one, files)
                if other is None:
                    continue
                if not other:
                    return None
                through = other
            elif sort in _ON_ITS_BEHALF.get(layer, ()):
                return None
        elif (acts := None if top == package else getattr(sys.modules.get(top), ACTS_FOR_TOOLS, None)) is not None:
            if sort in acts:
                return None
        elif not _is_stdlib(one):
            first = first or one
            if own is None and package and top == package:
                own = one
    found = own or first
    if found is None or (_is_inside_files(frame) and not through):
        return None
    code = found.f_code
    line = (
        f"{os.path.basename(os.path.dirname(code.co_filename))}/{os.path.basename(code.co_filename)}:{found.f_lineno}"
    )
    return Blame(f"{line} in {code.co_qualname}", _home(found), through)


def _home(frame: FrameType) -> str:
    """The directory of the package that a frame's code belongs to; of the module, where it belongs to none."""
    file = os.path.realpath(frame.f_code.co_filename)
    package = sys.modules.get((frame.f_globals.get("__name__") or "").partition(".")[0])
    for place in getattr(package, "__path__", ()):
        home = os.path.realpath(place)
        if file.startswith(home + os.sep):
            return home
    return os.path.dirname(file)


def is_of(frame: FrameType | None, package: str) -> bool:
    """Whether code of a package is on the stack."""
    return any((one.f_globals.get("__name__") or "").partition(".")[0] == package for one in _stack(frame))


def _stack(frame: FrameType | None, last: FrameType | None = None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = None if frame is last else frame.f_back


def _is_stdlib(frame: FrameType) -> bool:
    name = frame.f_code.co_filename
    if name.startswith("<frozen"):
        return True
    return name.startswith(_STDLIB) and f"{os.sep}site-packages{os.sep}" not in name


def _is_finalizer(frame: FrameType, top: str) -> bool:
    """Garbage of somebody else may be collected at any time, on any thread."""
    return frame.f_code.co_name == "__del__" or (top == "weakref" and frame.f_code.co_name in ("__call__", "_exitfunc"))


def _is_inside_files(frame: FrameType | None) -> bool:
    """Whether wink's file layer is what acts: its handles, streams and views, which all go through the call's part."""
    for one in _stack(frame):
        name: str = one.f_globals.get("__name__") or ""
        if name == BOUNDARY:
            return False
        if name.startswith("wink.filesystem"):
            return True
    return False


def _other_files(frame: FrameType, files: Filesystem | None) -> str | None:
    """Where the filesystem lies that a frame belongs to, if it is not the call's: "" for the call's own, None for none."""
    owner: Any = frame.f_locals.get("self")
    if not isinstance(owner, Filesystem):
        return None
    access = getattr(owner, "_transaction", None)
    if access is not None and files is not None and access.tree is files._transaction.tree:  # pyright: ignore[reportPrivateUsage]
        return ""
    root = "a directory of the host" if access is None else str(access.tree.store.root)
    return f"a filesystem of its own on {root}"


@cache
def trusted_places() -> tuple[str, ...]:
    """Where the interpreter, its packages and what the system tells every program are kept: all may be read."""
    places = [sys.prefix, sys.base_prefix, sys.exec_prefix, *map(sysconfig.get_path, sysconfig.get_path_names())]
    system = ["/dev", "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/sys/devices/system/cpu"]
    system += ["/etc/localtime", "/etc/timezone", "/etc/mime.types", "/etc/ssl", "/etc/pki", "/usr/share/zoneinfo"]
    system += ["/usr/lib", "/usr/share/ca-certificates", "/usr/share/mime", "/sys/fs/cgroup"]
    return tuple(dict.fromkeys(os.path.realpath(place) for place in [*places, *system]))
