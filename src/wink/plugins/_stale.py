"""See whether an editable install still has the entry points that its project declares."""

import os
from collections.abc import Iterable, Mapping
from typing import Any, cast

from wink.bounded import SETTINGS, content, toml
from wink.plugins._entry_points import EntryPoint
from wink.plugins._info import PluginInfo
from wink.plugins._metadata import Distribution
from wink.plugins._names import GROUPS, HOOKS_GROUP

_REMEDY = "run `pip install -e` again"


Project = Mapping[str, Any] | None
"""The parsed `pyproject.toml` of a project, None where there is none that can be read."""


def staleness(plugin: PluginInfo, projects: dict[str, Project]) -> str:
    """How the project of an editable plugin differs from what is installed, or nothing.

    Only a static `[project.entry-points]` is compared; projects that let their build backend compute it cannot be
    judged. `projects` keeps what has been read, since one project often has several plugins.
    """
    if plugin.project is None:
        return ""
    if not os.path.isdir(plugin.project):
        return f"its project {plugin.project} is gone; {_REMEDY} where it is now, or uninstall {plugin.distribution}"
    if plugin.project not in projects:
        projects[plugin.project] = _read(plugin.project)
    declared = _declared(projects[plugin.project], plugin.name)
    if declared is None:
        return ""
    installed = {(offer.kind, offer.name): offer.target for offer in plugin.offers}
    wanted = {(GROUPS[point.group], point.name): point.target for point in declared if point.group in GROUPS}
    missing = sorted(f"{kind} {name}" for kind, name in wanted.keys() - installed.keys())
    gone = sorted(f"{kind} {name}" for kind, name in installed.keys() - wanted.keys())
    moved = sorted(
        f"{kind} {name}" for kind, name in wanted.keys() & installed if wanted[kind, name] != installed[kind, name]
    )
    hooks = next((point.target for point in declared if point.group == HOOKS_GROUP), "")
    if hooks != plugin.hooks:
        moved.append("hooks")
    parts = (("adds", missing), ("no longer has", gone), ("moves", moved))
    said = ", ".join(f"{verb} {', '.join(names)}" for verb, names in parts if names)
    return f"pyproject.toml {said}; {_REMEDY}" if said else ""


def undeclared(name: str, dists: Iterable[Distribution]) -> str:
    """Where an editable project declares a plugin that its installed metadata do not have, or nothing.

    This opens every distribution, so it is for explaining what was not found.
    """
    for dist in dists:
        project = dist.project()
        if project is not None and _declared(_read(project), name):
            return f"{os.path.join(project, 'pyproject.toml')} declares it, and what is installed does not; {_REMEDY}"
    return ""


def _read(directory: str) -> Project:
    try:
        return toml(content(os.path.join(directory, "pyproject.toml"), most=SETTINGS))
    except (OSError, ValueError):
        return None


def _declared(document: Project, plugin: str) -> list[EntryPoint] | None:
    """The entry points that a project declares for one plugin now, or None where that cannot be told."""
    project = _table(document, "project")
    if project is None or "entry-points" in project.get("dynamic", ()):
        return None
    if _table(_table(_table(document, "tool"), "poetry"), "plugins") is not None:
        return None
    groups = _table(project, "entry-points") or {}
    return [
        EntryPoint(group, name, str(target).partition("[")[0].strip())
        for group in (*GROUPS, HOOKS_GROUP)
        for name, target in (_table(groups, group) or {}).items()
        if name.partition(".")[0] == plugin
    ]


def _table(parent: Project, key: str) -> Project:
    value: Any = None if parent is None else parent.get(key)
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None
