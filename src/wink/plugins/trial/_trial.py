"""Import plugins in processes of their own, so that none can harm another, this process, or go on for ever."""

import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, NamedTuple, cast

from wink.plugins._info import Offer, PluginInfo
from wink.plugins._settings import Settings
from wink.trust import Trust, guarded_places

Key = tuple[str, str]
"""A plugin's name and its distribution's."""

_START: Final = "import sys; sys.path[:] = {path!r}; from wink.plugins.trial._worker import main; main()"


class Task(NamedTuple):
    """What the process that tries plugins is told: to try those of `keys`, each for at most `seconds`, and what to `guard`."""

    plugins: tuple[PluginInfo, ...]
    settings: Settings
    trust: Trust | None
    seconds: float
    keys: tuple[Key, ...]
    guarded: tuple[str, ...] | None


def tried(
    plugins: Sequence[PluginInfo], settings: Settings, trust: Trust | None, seconds: float
) -> tuple[PluginInfo, ...]:
    """The same plugins, those that may be used in the state in which a process that imported them found them.

    One process tries them one after the other, each in a copy of itself (a fork). Whichever ends it too is found out by
    starting another for those that are left.
    """
    outcomes: dict[Key, dict[str, Any]] = {}
    left: list[Key] = [(plugin.name, plugin.distribution) for plugin in plugins if plugin.usable]
    # An error that a plugin raised may be of a class that cannot be found again by its name.
    plain = tuple(replace(plugin, error=None) for plugin in plugins)
    while left:
        reports, complaint = _reports(
            Task(plain, replace(settings, strict=False), trust, seconds, tuple(left), guarded_places())
        )
        for outcome in reports:
            outcomes[outcome["name"], outcome["distribution"]] = outcome
        untold = next((key for key in left if key not in outcomes), None)
        if untold is not None:
            reason = f"importing it ended the process that tried it{complaint and ': '}{complaint}"
            outcomes[untold] = {"state": "broken", "reason": reason}
        left = [key for key in left if key not in outcomes]
    found = [_with(plugin, outcomes.get((plugin.name, plugin.distribution))) for plugin in plugins]
    return tuple(_with_conflicts(found, outcomes))


def _reports(task: Task) -> tuple[list[dict[str, Any]], str]:
    """What one process has to say before it ends, in whatever way, and its last complaint."""
    # `-P`: a program given with `-c` would otherwise import from the current directory, where an agent can write.
    flags = ["-P", *(["-I"] if sys.flags.isolated else [])]
    command = [sys.executable, *flags, "-c", _START.format(path=[entry for entry in sys.path if entry])]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as worker:
        try:
            output, complaints = worker.communicate(pickle.dumps(task))
        except BaseException:
            worker.terminate()  # it ends the plugin that it is trying; then `with` waits for it
            raise
    said: list[dict[str, Any]] = [json.loads(line) for line in output.splitlines() if line.endswith(b"}")]
    if said and "pid" in said[-1]:  # the last one that was begun had no end
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(said[-1]["pid"], signal.SIGKILL)
    complaint = (complaints.decode(errors="replace").splitlines() or [""])[-1].strip()
    return [one for one in said if "pid" not in one], complaint


def _with(plugin: PluginInfo, outcome: dict[str, Any] | None) -> PluginInfo:
    if outcome is None:
        return plugin
    offers = tuple(Offer(**offer) for offer in cast("Sequence[dict[str, Any]]", outcome.get("offers", ())))
    return replace(
        plugin,
        state=outcome["state"],
        reason=outcome["reason"],
        notes=tuple(dict.fromkeys((*plugin.notes, *outcome.get("notes", ())))),
        seconds=outcome.get("seconds"),
        offers=offers or plugin.offers,
    )


def _with_conflicts(plugins: Sequence[PluginInfo], outcomes: dict[Key, dict[str, Any]]) -> Iterable[PluginInfo]:
    """Those that bind a resource of a type that another one binds, which only shows when both have been asked."""
    owners: dict[str, list[str]] = {}
    for plugin in plugins:
        for bound in outcomes.get((plugin.name, plugin.distribution), {}).get("binds", ()):
            owners.setdefault(bound, []).append(plugin.name)
    for plugin in plugins:
        rivals = {
            (bound, other)
            for bound, names in owners.items()
            if plugin.name in names
            for other in names
            if other != plugin.name
        }
        if plugin.state in ("loaded", "stale") and rivals:
            bound, other = min(rivals)
            reason = f"{bound.rpartition(':')[2]} is bound by this plugin and by {other!r}; disable one of them"
            yield replace(plugin, state="conflict", reason=reason)
        else:
            yield plugin
