"""Take the prefix that a model's paths carry off them, and put it back in what the model is told."""

from __future__ import annotations

from dataclasses import dataclass

from wink.errors import PathRefused


@dataclass(frozen=True, slots=True)
class MountPoint:
    """The place, as the model sees it, of the filesystem's root.

    >>> mount = MountPoint("/workspace")
    >>> mount.inside("//workspace/./src/a.py"), mount.inside("src/a.py"), mount.shown("src/a.py")
    ('src/a.py', 'src/a.py', '/workspace/src/a.py')
    >>> mount.inside("/workspace/../etc/passwd")
    Traceback (most recent call last):
    ...
    wink.errors.PathRefused: '/workspace/../etc/passwd' is outside /workspace
    """

    prefix: str | None = None

    def inside(self, path: str) -> str:
        """The path below the filesystem's root; one that does not carry the prefix is taken to be relative to it.

        Slashes and dots are evened out first: `//workspace/./a` must not pass for another file than `/workspace/a`.
        Raises `PathRefused` for an absolute path that is not beneath the prefix.
        """
        if self.prefix is None:
            return path
        absolute = path.startswith("/")
        names, own = _names(path), _names(self.prefix)
        if absolute == self.prefix.startswith("/") and names[: len(own)] == own:
            return "/".join(names[len(own) :])
        if absolute:
            raise PathRefused(path, f"is outside {self.prefix}")
        return path

    def shown(self, path: str) -> str:
        """The path as the model writes it."""
        return path if self.prefix is None else f"{self.prefix.rstrip('/')}/{path}"


def _names(path: str) -> list[str]:
    names: list[str] = []
    for name in path.split("/"):
        if name == ".." and names and names[-1] != "..":
            names.pop()
        elif name not in ("", "."):
            names.append(name)
    return names
