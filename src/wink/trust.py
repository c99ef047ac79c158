"""Tell distributions that a person installed from those that an agent could have written, and load nothing of the latter.

An agent that can write files can write `src/evil-1.0.dist-info/entry_points.txt` too, and an editable install has put
`src` on the path. The libraries that wink uses look for entry points of their own (pydantic, fsspec, OpenTelemetry, Pygments)
and would import what they name. So in wink's commands the finders that tell of distributions are told to leave such places
out (`guard`), before anything else is imported. What modules are imported from is the same as ever: only this file and
`os`, `site` and `sys`, which Python has loaded already, may be imported here.
"""

from __future__ import annotations

import os
import site
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

__all__ = ["Trust", "allowed", "guard", "guarded_places", "inherited", "is_inside", "named_workspaces", "program"]

_FINDERS = ("_frozen_importlib_external", "importlib_metadata")
"""The modules of the two finders that tell of distributions on the path; the second one may be a vendored copy."""
_OFF = "PYDANTIC_DISABLE_PLUGINS"
"""https://docs.pydantic.dev/latest/concepts/plugins/: `__all__` turns them all off."""
_places: dict[str, None] = {}
_set_here: set[str] = set()


def guard(*places: str) -> None:
    """From now on, libraries find no distribution inside the current directory and these places; once more adds to them.

    For processes that are wink's own. As a library wink leaves to its host what the host's libraries load.
    """
    try:
        _places[os.getcwd()] = None
    except OSError:
        pass  # it has been deleted, so nothing lies inside it
    _places.update(dict.fromkeys(map(os.path.abspath, places)))
    if _OFF not in os.environ:
        # Of Python's own table alone: what is started without an environment of its own must not inherit it.
        os.environ[_OFF] = "__all__"
        os.unsetenv(_OFF)
        _set_here.add(_OFF)
    _stand_in()


def guarded_places() -> tuple[str, ...] | None:
    """What a process that this one starts has to `guard`, None where this one does not."""
    return tuple(_places) or None


def inherited(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment for programs: without what `guard` has set."""
    return {name: value for name, value in environment.items() if name not in _set_here}


def allowed(environment: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """The variables that `names` lists; a name may end in `*`.

    >>> allowed({"LC_ALL": "C", "AWS_SECRET": "x"}, ["LC_*"])
    {'LC_ALL': 'C'}
    """
    exact = {name for name in names if not name.endswith("*")}
    starts = tuple(name[:-1] for name in names if name.endswith("*"))
    kept = inherited(environment).items()
    return {name: value for name, value in kept if name in exact or (starts and name.startswith(starts))}


def named_workspaces(arguments: Sequence[str]) -> list[str]:
    """Every value that `--workspace` may have in a command line, before anything is imported that could read it properly.

    >>> named_workspaces(["call", "--workspace", "a", "x", "--workspace=b"])
    ['a', 'b']
    """
    after = [arguments[at + 1] for at, word in enumerate(arguments[:-1]) if word == "--workspace"]
    return after + [word.partition("=")[2] for word in arguments if word.startswith("--workspace=")]


class Trust:
    """Which entries of the path may bring plugins.

    An agent that can write files can write a `.dist-info` directory too. So nothing that lies inside a workspace, the
    current directory or what this process guards brings plugins, unless it is a site directory of the running interpreter: a virtual environment
    inside the project is where a person installs to, and wink's file tools cannot write there.

    >>> Trust(["/srv/work"]).objection("/srv/work/src")
    'lies inside /srv/work, where an agent could have written it'
    """

    __slots__ = ("_sites", "_untrusted")

    def __init__(self, untrusted: Iterable[str | os.PathLike[str]] = ()) -> None:
        places = [*(os.fspath(place) for place in untrusted), *_places]
        try:
            places.append(os.getcwd())
        except OSError:
            pass  # the current directory has been deleted, so nothing lies inside it
        self._untrusted = tuple(dict.fromkeys(os.path.realpath(place) for place in places))
        self._sites: frozenset[str] | None = None

    def objection(self, path: str) -> str:
        """Why `path` may not bring plugins, or nothing."""
        real = os.path.realpath(path or ".")
        for place in self._untrusted:
            if is_inside(real, place) and not self._is_site(real, place):
                return f"lies inside {place}, where an agent could have written it"
        return ""

    def _is_site(self, path: str, place: str) -> bool:
        return any(is_inside(path, own) and is_inside(own, place) for own in self._site_directories())

    def _site_directories(self) -> frozenset[str]:
        if self._sites is None:
            sites = list(site.getsitepackages())
            if site.ENABLE_USER_SITE:
                sites.append(site.getusersitepackages())
            self._sites = frozenset(map(os.path.realpath, sites))
        return self._sites


def program(name: str) -> str | None:
    """Where a program is on the PATH, never in the current directory or one relative to it: that may be a workspace."""
    import shutil

    # Where programs are is the process's affair, as for `subprocess`; whoever starts it with another PATH means that.
    places = filter(os.path.isabs, os.environ.get("PATH", os.defpath).split(os.pathsep))
    return shutil.which(name, path=os.pathsep.join(places))


def is_inside(path: str, directory: str) -> bool:
    """Whether `path` is `directory` or lies beneath it; both are real paths.

    >>> is_inside("/srv/a/b", "/srv/a"), is_inside("/srv/ab", "/srv/a")
    (True, False)
    """
    return path == directory or path.startswith(directory.rstrip(os.sep) + os.sep)


class _StandIn:
    """In the place of a finder: imports as it does, and tells of no distribution that an agent could have written."""

    def __init__(self, finder: Any) -> None:
        self._finder = finder
        # importlib_metadata knows the standard library's finder by this, and takes the method away from it: so it is an
        # attribute of the stand-in alone.
        self.__module__ = finder.__module__
        self.find_distributions = self._trusted

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Where a module is."""
        spec = self._finder.find_spec(name, path, target)
        if name.rpartition(".")[2] == _FINDERS[1] and getattr(spec, "loader", None) is not None:
            _then_stand_in(spec.loader)
        return spec

    def invalidate_caches(self) -> None:
        """Look at the disk again."""
        self._finder.invalidate_caches()

    def _trusted(self, context: Any = None) -> Iterable[Any]:
        trust = Trust(_places)
        paths: Any = sys.path if context is None else context.path
        kept = [path for path in paths if not trust.objection(path)]
        found = self._finder.find_distributions(_Context(getattr(context, "name", None), kept))
        return map(_readable, found)


def _readable(found: Any) -> Any:
    """The same distribution, whose metadata raise nothing: libraries read those of every package, and one that is broken
    would end them all. What is no file is not there, what is no UTF-8 is replaced, and lines that are no entry points go.
    """
    read = found.read_text
    place = str(getattr(found, "_path", ""))

    def read_text(filename: str) -> str | None:
        path = os.path.join(place, filename)
        if place and os.path.lexists(path) and not os.path.isfile(path):
            return None  # opening a FIFO would wait for ever
        try:
            text: str | None = read(filename)
        except UnicodeDecodeError as error:
            text = bytes(error.object).decode("utf-8", "replace")
        except OSError:
            return None
        if text is None or filename != "entry_points.txt":
            return text
        return "\n".join(filter(_is_sound, text.splitlines()))

    found.read_text = read_text
    return found


def _is_sound(line: str) -> bool:
    """Whether the libraries can read a line of `entry_points.txt`."""
    line = line.strip()
    return line.startswith("#") or "=" in line or (line.startswith("[") and line.endswith("]"))


class _Context:
    """What a finder is asked for."""

    def __init__(self, name: str | None, path: list[Any]) -> None:
        self.name, self.path = name, path


def _stand_in() -> None:
    sys.meta_path[:] = [
        _StandIn(finder)
        if not isinstance(finder, _StandIn)
        and hasattr(finder, "find_distributions")
        and str(getattr(finder, "__module__", "")).endswith(_FINDERS)
        else finder
        for finder in sys.meta_path
    ]


def _then_stand_in(loader: Any) -> None:
    """importlib_metadata adds a finder of its own when it is imported."""
    execute = loader.exec_module

    def execute_and_stand_in(module: Any) -> None:
        execute(module)
        _stand_in()

    loader.exec_module = execute_and_stand_in
