"""Tell distributions that a person installed from those that an agent could have written."""

import os
import site
from collections.abc import Iterable


class Trust:
    """Which entries of the path may bring plugins.

    An agent that can write files can write a `.dist-info` directory too. So nothing that lies inside a workspace or the
    current directory brings plugins, unless it is a site directory of the running interpreter: a virtual environment
    inside the project is where a person installs to, and wink's file tools cannot write there.
    """

    __slots__ = ("_sites", "_untrusted")

    def __init__(self, untrusted: Iterable[str | os.PathLike[str]] = ()) -> None:
        places = [os.fspath(place) for place in untrusted]
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


def is_inside(path: str, directory: str) -> bool:
    """Whether `path` is `directory` or lies beneath it; both are real paths.

    >>> is_inside("/srv/a/b", "/srv/a"), is_inside("/srv/ab", "/srv/a")
    (True, False)
    """
    return path == directory or path.startswith(directory.rstrip(os.sep) + os.sep)
