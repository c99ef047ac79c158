"""Find names of the specification that live in plugins, without importing any plugin before it is asked for."""

import os
import site
import sysconfig
from importlib import import_module, metadata
from typing import Any, Final

__all__ = ["FORWARDED", "forwarded", "is_installed"]

FORWARDED: Final = {"ReadBeforeWritePolicy": ("wink.policies", "read-before-write.files")}
"""Name in `wink.policies` and `wink.prompt` → the group and the offer whose module has an attribute of that name."""


def forwarded(name: str, package: str) -> Any:
    """What `name` stands for, for somebody who asks `package` for it.

    Raises `ImportError` when the plugin that brings it is not installed, and `AttributeError` for any other name.
    """
    if name not in FORWARDED:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    group, offer = FORWARDED[name]
    points = {point.value: point for point in metadata.entry_points(group=group, name=offer) if is_installed(point)}
    if not points:
        raise ImportError(
            f"{name} comes from the plugin that offers {offer!r} ({group}), and none is installed; "
            "install wink with its plugins",
            name=f"{package}.{name}",
        )
    if len(points) > 1:
        raise ImportError(f"{name} comes from {' and '.join(sorted(points))}; uninstall one of them")
    (point,) = points.values()
    return getattr(import_module(point.module), name)


def is_installed(point: metadata.EntryPoint) -> bool:
    """Whether a distribution was installed, rather than written into the current directory, as an agent could do."""
    if point.dist is None:
        return True
    where = os.path.realpath(str(point.dist.locate_file("")))
    installed = (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), site.USER_SITE)
    return where in [os.path.realpath(path) for path in installed if path] or not _is_below(
        where, os.path.realpath(os.curdir)
    )


def _is_below(path: str, parent: str) -> bool:
    return os.path.commonpath((path, parent)) == parent
