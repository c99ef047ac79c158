"""Read the metadata of installed distributions without importing any of them.

Directories, which is what nearly every entry of `sys.path` is, are read here; zip files, and finders that other packages
put on `sys.meta_path`, are left to importlib-metadata. Measured on 2 cores with byte code in place, on top of click and
dataclasses: importing importlib-metadata takes 27 ms (`importlib.resources`, `tempfile`, `urllib.parse`, `pathlib`,
`platform`), the standard library's twin 45 ms (it does not put off `email`, `csv`, `json` and `zipfile`), and reading
410 distributions through it another 30 ms; the reader below takes 11 ms for the same and needs no import. Without byte
code each import costs more than 60 ms. `wink plugins` may take 120 ms and `wink call` 150 ms as whole processes, so the
library is kept for what only it can read.
A test holds both readers to the same answers.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from wink.bounded import content
from wink.plugins._names import normalized
from wink.plugins._versions import version_key

_INFO: Final = (".dist-info", ".egg-info")
_MOST: Final = 16 * 1024 * 1024
"""Bytes that are read of one file of metadata; a description may be long."""
_NATIVE_FINDERS: Final = ("_frozen_importlib_external", "importlib_metadata")


class Distribution(NamedTuple):
    """One installed distribution: `read` gives a metadata file's bytes, or None where there is no such file.

    `name` and `version` come from the directory's name, `root` is the entry of the path that it was found in.
    """

    name: str
    version: str
    location: str
    root: str
    read: Callable[[str], bytes | None]

    def project(self) -> str | None:
        """The directory that an editable install points at (PEP 610), None where it is not one."""
        data = self.read("direct_url.json")
        if not data or b"editable" not in data:
            return None
        import json

        try:
            origin: Any = json.loads(data)
            if origin["dir_info"]["editable"] is not True:
                return None
            url: str = origin["url"].removeprefix("file://")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return None
        if "%" not in url:
            return url
        from urllib.parse import unquote  # 5 ms to import, for a path with a space in it

        return unquote(url)


def distributions(paths: Sequence[str] | None = None) -> Iterator[Distribution]:
    """Every distribution on `paths` (`sys.path` unless given), in the order of the path and by name within an entry.

    Where one directory holds several versions of a distribution, as an interrupted upgrade leaves it, the newest comes
    first.
    """
    others: list[str] = []
    for root in dict.fromkeys(sys.path if paths is None else paths):
        try:
            names = os.listdir(root or ".")
        except NotADirectoryError:
            if os.path.isfile(root):  # a FIFO would keep whoever opens it
                others.append(root)
        except OSError:
            continue
        else:
            yield from _in_directory(root, names)
    if others:
        yield from _from_library(others)
    for finder in sys.meta_path:
        if hasattr(finder, "find_distributions") and _module_of(finder) not in _NATIVE_FINDERS:
            yield from _from_finder(finder, paths)


def _in_directory(root: str, names: Iterable[str]) -> list[Distribution]:
    found: list[Distribution] = []
    for name in names:
        stem, extension = os.path.splitext(name) if name[-5:].lower() == "-info" else (name, "")
        # pip renames what it is about to remove to `~name`, and may be killed before it does.
        if extension.lower() in _INFO and not stem.startswith("~"):
            found.append(_at(root, os.path.join(root, name), stem))
    if root.lower().endswith(".egg") and "EGG-INFO" in names:
        stem = os.path.splitext(os.path.basename(root))[0]
        found.append(_at(root, os.path.join(root, "EGG-INFO"), stem))
    found.sort(key=_order)
    if len({dist.name for dist in found}) < len(found):
        found.sort(key=lambda dist: version_key(dist.version) or (-1,), reverse=True)
        found.sort(key=lambda dist: dist.name)
    return found


def _at(root: str, location: str, stem: str) -> Distribution:
    def read(file: str) -> bytes | None:
        try:
            return content(f"{location}/{file}", most=_MOST)
        except OSError:
            return None

    name, _, rest = stem.partition("-")
    return Distribution(normalized(name), rest.partition("-")[0], location, root, read)


def _module_of(finder: object) -> str:
    return str(getattr(finder, "__module__", ""))


def _from_library(paths: list[str]) -> Iterator[Distribution]:
    """Zip files and wheels on the path."""
    from importlib_metadata import MetadataPathFinder

    for path in paths:
        yield from _from_finder(MetadataPathFinder, [path], root=path)


def _from_finder(finder: Any, paths: Sequence[str] | None, *, root: str = "") -> list[Distribution]:
    """What a finder knows of: importlib-metadata's own, or another package's, such as a frozen application's."""
    from importlib_metadata import DistributionFinder

    context = DistributionFinder.Context() if paths is None else DistributionFinder.Context(path=list(paths))
    try:
        return sorted((_adopted(found, root) for found in finder.find_distributions(context)), key=_order)
    except Exception:  # foreign code
        return []


def _adopted(found: Any, root: str) -> Distribution:
    location = str(getattr(found, "_path", found))
    name, _, version = os.path.splitext(os.path.basename(location.rstrip("/")))[0].partition("-")

    def read(file: str) -> bytes | None:
        try:
            text: str | None = found.read_text(file)
        except UnicodeDecodeError as error:
            return bytes(error.object)
        except Exception:  # foreign code
            return None
        return None if text is None else text.encode("utf-8", "surrogateescape")

    return Distribution(normalized(name), version, location, root, read)


def _order(dist: Distribution) -> tuple[str, str]:
    return dist.name, dist.location
