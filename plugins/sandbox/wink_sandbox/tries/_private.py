"""Show a program the home directory and the machine's temporary files, and keep what it writes there in the try."""

from __future__ import annotations

import os
from typing import Final

from wink.errors import SandboxUnavailable
from wink.trust import is_inside
from wink_sandbox import GitHome, Mount, Overlay, layers, mounted_in

_TEMPORARY: Final = {"/tmp": "tmp", "/var/tmp": "var-tmp"}  # noqa: S108 - whose they are is what this is about
"""Where all users' temporary files lie, and what the directory in the try is called that holds what was changed there."""
HOME: Final = "home"
"""What the directory in the try is called that holds what was changed in the home."""


def private_places(
    overlay: Overlay, home: str, git: GitHome | None = None
) -> tuple[tuple[Mount, ...], tuple[str, ...]]:
    """Overlays of the home and of the temporary directories, beside a try's own and in the order in which to mount them.

    So it is with where what git writes is accepted to, wherever that lies.
    The second part says, a line each, what stays empty, and why. Raises `SandboxUnavailable` where the home cannot be
    shown. A socket that is seen through an overlay has nobody behind it.
    """
    made, told = [_mount(overlay, place, HOME) for place in _overlaid(home)], list[str]()
    for place, name in _TEMPORARY.items():
        # The workspace may lie there, or be that directory; and a link leads to where another mount may be.
        if os.path.realpath(place) != place or not os.path.isdir(place) or place in (overlay.root, *home_of(home)):
            continue
        inside = mounted_in(place)
        if inside:
            told.append(
                f"{place} is empty, and nothing in it is kept: other filesystems are mounted in the machine's, at {_names(inside)}"
            )
            continue
        made.append(_mount(overlay, place, name))
    if git is not None and not any(is_inside(git.place, mount.target) for mount in made) and not mounted_in(git.place):
        made.append(_mount(overlay, git.place, "main"))
    return tuple(sorted(made, key=lambda mount: mount.target)), tuple(told)


def home_of(home: str) -> tuple[str, ...]:
    """The real path of a home that can be shown, if it is one."""
    place = os.path.realpath(home)
    return (place,) if os.path.isdir(place) and place != "/" else ()


def _overlaid(home: str) -> tuple[str, ...]:
    """The same; raises `SandboxUnavailable` where no overlay of it can be made."""
    for inside in filter(None, map(mounted_in, places := home_of(home))):
        # The kernel lets nobody see what is below a mount, so it makes no overlay of what has one in it.
        why = f"other filesystems are mounted in the home directory, at {_names(inside)}"
        how = "unmount them, set HOME to a directory without them, or use --profile closed"
        raise SandboxUnavailable("overlay", (f"{why}; {how}",))
    return places


def _mount(overlay: Overlay, place: str, name: str) -> Mount:
    upper, work = layers(f"{overlay.directory}/{name}")
    os.chmod(upper, os.stat(place).st_mode & 0o1777)
    return Mount(place, (place,), upper, work)


def _names(inside: tuple[str, ...]) -> str:
    more = f" and {len(inside) - 3} more" if len(inside) > 3 else ""
    return ", ".join(map(repr, inside[:3])) + more
