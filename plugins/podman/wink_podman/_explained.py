"""What `wink explain` asks of paths and hosts: what commands in containers see, change and reach, where an image is set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from wink_podman._config import PodmanConfig

if TYPE_CHECKING:
    from wink.cli import Verdict
    from wink.plugins import Catalog

_WHO: Final = "shell_execute"
_USUAL: Final = "there is no network unless [plugins.podman] opens all of it"
_IMAGE: Final = "in a container that is a path of its image"


def explained(
    workspace: str, about: str, subjects: Sequence[str], look_up: bool, settings: PodmanConfig, catalog: Catalog
) -> tuple[tuple[Verdict, ...], ...]:
    """What a call of `shell_execute` may do to each path or host; nothing of one that cannot be made."""
    if not settings.image:
        return ((),) * len(subjects)
    from wink.cli import Verdict
    from wink_sandbox.commands import CalledPrograms, Reach

    def outside(_: str) -> tuple[Verdict, ...]:
        return Verdict(_WHO, "read", "deny", _IMAGE), Verdict(_WHO, "write", "deny", _IMAGE)

    said = (table.origin for table in reversed(catalog.settings.tables_of("podman")) if "network" in table.values)
    origin = next(said, "")
    reach = Reach(settings.network)
    programs = CalledPrograms(workspace, _WHO, effects="process", reach=reach, origin=origin, usual=_USUAL)
    return programs.explained(about, subjects, look_up, outside)
