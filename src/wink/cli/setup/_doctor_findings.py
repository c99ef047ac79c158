"""What `wink doctor` looks at, one function for each group of findings."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterable
from typing import Final

from wink import __version__
from wink.cli._views import Checkup, Finding, checkups
from wink.cli.settings import VARIABLES, commands_catalog, installed_catalog
from wink.errors import RecordError, WinkError
from wink.plugins import Catalog
from wink.state import unknown
from wink.trust import program
from wink.workspace import state_place

_GIT: Final = "apt-get install git (Debian, Ubuntu), dnf install git (Fedora), brew install git (macOS)"
_SECONDS: Final = 10
_EXTRA: Final = re.compile(r"(?P<name>[\w.-]+)[^;]*;.*\bextra\s*==\s*['\"](?P<extra>[\w-]+)['\"].*")


def findings(workspace: str) -> tuple[list[Finding], list[Checkup]]:
    """Everything, in the order in which it is told, and what plugins found of that; no secrets, and `~` for the home directory."""
    problem = None
    try:
        catalog = installed_catalog(workspace)
    except WinkError as error:  # then nobody knows which plugins of others are wanted
        catalog, problem = Catalog.installed(workspace=workspace), str(error)
    plugins = list(_plugins(catalog, problem))  # as they are before some of them are asked
    checked = list(checkups(commands_catalog(workspace)[0], workspace))
    told = [one for checkup in checked for one in checkup.findings]
    found = [*_wink(), *told, *_files(workspace), _git(), *_extras(), *plugins, *_variables()]
    shown = [one._replace(detail=_at_home(one.detail), remedy="" if one.ok else _at_home(one.remedy)) for one in found]
    return shown, checked


def _wink() -> Iterable[Finding]:
    import sqlite3

    python = f"{platform.python_implementation()} {platform.python_version()}"
    environment = "in a virtual environment" if sys.prefix != sys.base_prefix else "without a virtual environment"
    yield Finding("wink", "wink", ok=True, detail=__version__)
    yield Finding("wink", "python", ok=True, detail=f"{python}, {environment}")
    yield Finding(
        "wink", "machine", ok=True, detail=f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"
    )
    yield Finding("wink", "sqlite", ok=True, detail=sqlite3.sqlite_version)


def _files(workspace: str) -> Iterable[Finding]:
    """How paths are kept inside the workspace, and what its filesystem can do."""
    from wink.filesystem import HostFilesystem, can_exchange

    try:
        with HostFilesystem(workspace, read_only=True) as files:
            level = files.level
    except OSError as error:
        yield Finding("workspace", "workspace", ok=False, detail=error.strerror or str(error))
        return
    by = (
        "the kernel keeps every path inside the workspace"
        if level == "openat2"
        else "wink walks every path step by step"
    )
    yield Finding("workspace", "paths", ok=True, detail=f"{level}: {by}")
    if not os.access(workspace, os.W_OK):
        remedy = "give yourself the right to write to the workspace, or choose another with --workspace"
        yield Finding("workspace", "writing", ok=False, detail="it cannot be written to", remedy=remedy)
        return
    try:
        state = state_place(os.path.abspath(workspace), None)
    except RecordError as error:
        yield Finding("workspace", "state", ok=False, detail=str(error), remedy="do as it says")
        return
    for one in unknown(os.path.realpath(workspace)):
        remedy = "`wink recover --set-aside`; or put your own away and `wink trust --state`"
        yield Finding("workspace", f"state {one.name}", ok=False, detail=one.why, remedy=remedy)
    try:
        swaps = can_exchange(state if os.path.isdir(state) else workspace)
    except OSError as error:
        yield Finding("workspace", "exchange", ok=False, detail=error.strerror or str(error))
        return
    how = "files change places in one step" if swaps else "files change places in several steps, which recovery ends"
    yield Finding("workspace", "exchange", ok=True, detail=how)


def _git() -> Finding:
    import subprocess

    try:
        command = [program("git") or "/usr/bin/git", "--version"]
        said = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return Finding("workspace", "git", ok=False, detail=reason or "", remedy=_GIT)
    return Finding("workspace", "git", ok=True, detail=said.stdout.strip().removeprefix("git version "))


def _extras() -> Iterable[Finding]:
    """What wink's own metadata call an extra, and whether all of it is installed."""
    from importlib.metadata import PackageNotFoundError, requires, version

    wanted: dict[str, list[str]] = {}
    try:
        requirements = requires("wink") or []
    except PackageNotFoundError:
        return  # it is run from its sources
    for match in filter(None, map(_EXTRA.fullmatch, requirements)):
        wanted.setdefault(match["extra"], []).append(match["name"])
    for extra, names in sorted(wanted.items()):
        there: list[str] = []
        missing: list[str] = []
        for name in names:
            try:
                there.append(f"{name} {version(name)}")
            except PackageNotFoundError:
                missing.append(name)
        detail = f"without {', '.join(missing)}" if missing else ", ".join(there)
        yield Finding("extras", extra, not missing, detail, f"pip install 'wink[{extra}]'")


def _plugins(catalog: Catalog, problem: str | None) -> Iterable[Finding]:
    """How many there are; each that cannot be used, and each directory that was not looked at."""
    from wink.cli.setup._plugins_table import counted

    if problem is not None:
        yield Finding("plugins", "settings", ok=False, detail=problem, remedy="fix what is named")
        return
    yield Finding("plugins", "plugins", ok=True, detail=counted(catalog.plugins).partition(". ")[0].removesuffix("."))
    for plugin in catalog.plugins:
        if plugin.state in ("broken", "conflict", "incompatible", "stale"):
            detail = f"{plugin.distribution} {plugin.version}, {plugin.state}: {plugin.reason}"
            yield Finding("plugins", plugin.name, ok=False, detail=detail, remedy=f"wink plugins why {plugin.name}")
    for one in catalog.ignored:
        yield Finding(
            "plugins", one.distribution, ok=False, detail=f"ignored: {one.reason}", remedy="install it with pip"
        )


def _variables() -> Iterable[Finding]:
    """Which of wink's variables are set; only those that name plugins are shown with what they say."""
    for name in VARIABLES:
        if (value := os.environ.get(name)) is not None:
            yield Finding("variables", name, ok=True, detail=repr(value))


def _at_home(text: str) -> str:
    home = os.environ.get("HOME", "").rstrip("/")
    return re.sub(rf"{re.escape(home)}(?=/|$|\W)", "~", text) if os.path.isabs(home) else text
