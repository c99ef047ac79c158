"""Put a distribution with entry points and modules on the path for the time of a test."""

import importlib
import os
import sys
import textwrap
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from tempfile import TemporaryDirectory

from wink.dataclass import dataclass

__all__ = ["FakeDistribution", "fake_distribution"]


@dataclass(frozen=True, slots=True)
class FakeDistribution:
    """A distribution that was written to disk: `path` is its entry of `sys.path`, `info` its `.dist-info` directory."""

    name: str
    version: str
    path: str
    info: str


@contextmanager
def fake_distribution(
    name: str,
    version: str = "1.0",
    *,
    entry_points: Mapping[str, Mapping[str, str]] | str | bytes | None = None,
    modules: Mapping[str, str] | None = None,
    summary: str = "",
    requires: Sequence[str] = (),
    files: Mapping[str, str | bytes] | None = None,
    directory: str | os.PathLike[str] | None = None,
    on_path: bool = True,
) -> Generator[FakeDistribution]:
    """A real `.dist-info` directory and importable modules, on a temporary entry of `sys.path`.

    `entry_points` maps groups to names to targets, or is the text of `entry_points.txt`; `modules` maps dotted names to
    source code (`"wink_notes"`, `"wink_notes.hooks"`), which is dedented. `files` are further files of the metadata
    directory, and replace those that would be written. In `directory`, if given, everything stays; otherwise it is
    gone afterwards, as are the imported modules.

    >>> from wink.plugins import Catalog
    >>> with fake_distribution(
    ...     "wink-notes", entry_points={"wink.sections": {"notes.notebook": "wink_notes:notebook"}}
    ... ) as installed:
    ...     [(plugin.name, plugin.state) for plugin in Catalog.installed(paths=[installed.path]).plugins]
    [('notes', 'available')]
    """
    sources = dict(modules or {})
    with TemporaryDirectory(prefix="wink-") if directory is None else nullcontext(os.fspath(directory)) as root:
        path = os.path.realpath(root)
        info = os.path.join(path, f"{name.replace('-', '_')}-{version}.dist-info")
        metadata = [f"Name: {name}", f"Version: {version}", f"Summary: {summary}"]
        metadata += [f"Requires-Dist: {requirement}" for requirement in requires]
        _write(info, "METADATA", "\n".join(("Metadata-Version: 2.1", *metadata, "", "A description.")))
        if entry_points is not None:
            _write(info, "entry_points.txt", _entry_points(entry_points))
        for file, content in (files or {}).items():
            _write(info, file, content)
        for module, source in sources.items():
            _write(path, _file_of(module, sources), textwrap.dedent(source))
        before = set(sys.modules)
        if on_path:
            sys.path.insert(0, path)
        importlib.invalidate_caches()
        try:
            yield FakeDistribution(name, version, path, info)
        finally:
            if on_path:
                sys.path.remove(path)
            tops = {module.partition(".")[0] for module in sources}
            for module in set(sys.modules) - before:
                if module.partition(".")[0] in tops:
                    del sys.modules[module]
            sys.path_importer_cache.pop(path, None)
            importlib.invalidate_caches()


def _entry_points(given: Mapping[str, Mapping[str, str]] | str | bytes) -> str | bytes:
    if not isinstance(given, Mapping):
        return given
    lines: list[str] = []
    for group, points in given.items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in points.items()), ""]
    return "\n".join(lines)


def _file_of(module: str, modules: Mapping[str, str]) -> str:
    is_package = any(other.startswith(f"{module}.") for other in modules)
    return module.replace(".", os.sep) + (f"{os.sep}__init__.py" if is_package else ".py")


def _write(directory: str, file: str, content: str | bytes) -> None:
    path = os.path.join(directory, file)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as opened:
        opened.write(content.encode() if isinstance(content, str) else content)
