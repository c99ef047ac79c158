"""The process that tries plugins: it makes a copy of itself for each, and watches that."""

import importlib
import json
import os
import pickle
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final, NoReturn

from wink.errors import BindingConflict, InvalidOption, OfferBroken, PluginWarning, PromptValidationError, WinkError
from wink.plugins._catalog import Catalog
from wink.plugins._guard import Failed, described
from wink.plugins._info import PluginInfo
from wink.plugins._soundness import check_section
from wink.plugins.trial._traces import Traces
from wink.plugins.trial._trial import Task
from wink.trust import guard

_SHARED: Final = (
    "wink.filesystem", "wink.plugins._hooks", "wink.policies", "wink.prompt", "wink.resources", "wink.session", "wink.tools",
)  # fmt: skip
"""What every plugin imports of wink; the first one would otherwise pay for it."""

_KEPT: Final = 65536
"""Bytes that are read at a time of what a plugin prints, and thrown away."""

_POLL: Final = 0.05
"""Seconds between two looks at whether a plugin's process has ended without a word, as `os._exit` ends one, and whether
anybody still waits for an answer."""


def main() -> None:
    """Read a `Task` from standard input and write one line of JSON for each of its plugins."""
    asker = os.getppid()
    task: Task = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the process that started this one
    if task.guarded is not None:
        guard(*task.guarded)
    signal.signal(signal.SIGTERM, _stop)
    with suppress(Exception):  # what is wrong with them, the first plugin that imports them says
        for name in _SHARED:
            importlib.import_module(name)
    warnings.simplefilter("ignore", PluginWarning)
    plugins = {(plugin.name, plugin.distribution): plugin for plugin in task.plugins}
    for name, distribution in task.keys:
        outcome = {"name": name, "distribution": distribution}
        outcome |= _watched(partial(_outcome, task, plugins[name, distribution]), task.seconds, asker)
        print(json.dumps(outcome), flush=True)


def _stop(number: int, frame: object) -> NoReturn:  # noqa: ARG001
    raise SystemExit(1)


def _watched(act: Callable[[], dict[str, Any]], seconds: float, asker: int) -> dict[str, Any]:
    """What `act` returns in a copy of this process, or how that ended instead; gives up when `asker` has gone."""
    results, result = os.pipe()
    outputs, output = os.pipe()
    child = os.fork()
    if child == 0:
        _be_the_copy(act, result, output)
    os.close(result)
    os.close(output)
    said, printed, status = b"", 0, None
    end = time.monotonic() + seconds
    try:
        open_ends = [results, outputs]
        while not said.endswith(b"\n") and status is None and time.monotonic() < end:
            for ready in select.select(open_ends, (), (), _POLL)[0]:
                data = os.read(ready, _KEPT)
                if ready == results:
                    said += data
                else:
                    printed += len(data)
                if not data:
                    open_ends.remove(ready)
            if os.getppid() != asker:
                raise SystemExit(1)
            if not said.endswith(b"\n"):
                ended, code = os.waitpid(child, os.WNOHANG)
                status = code if ended else None
        if status is not None and select.select([results], (), (), 0)[0]:
            said += os.read(results, _KEPT * 16)
        if select.select([outputs], (), (), 0)[0]:
            printed += len(os.read(outputs, _KEPT))
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)  # with whatever programs it has started
        if status is None:
            os.kill(child, signal.SIGKILL)  # it may not lead a group yet
            os.waitpid(child, 0)
        os.close(results)
        os.close(outputs)
    if not said.endswith(b"\n"):
        ending = f"takes longer than {seconds:g} s" if status is None else _ending(status)
        return {"state": "broken", "reason": f"importing it {ending}"}
    outcome: dict[str, Any] = json.loads(said)
    if printed:
        outcome["notes"].append("prints to standard output while it is imported or made")
    return outcome


def _be_the_copy(act: Callable[[], dict[str, Any]], result: int, output: int) -> NoReturn:
    try:
        os.setpgid(0, 0)
        # Whoever started the process above ends this one if that cannot: told before a plugin could end it.
        print(json.dumps({"pid": os.getpid()}), flush=True)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDWR)
        for number, stream in enumerate((nothing, output, nothing)):
            os.dup2(stream, number)
        try:
            outcome = act()
        except BaseException as error:  # foreign code
            outcome: dict[str, Any] = {"state": "broken", "reason": described(error), "notes": []}
        data = json.dumps(outcome).encode() + b"\n"
        sys.stdout.flush()
        while data:
            data = data[os.write(result, data) :]
    finally:
        os._exit(0)


def _ending(status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"was killed by {signal.Signals(number).name}" if number in set(signal.Signals) else f"died ({number})"
    return f"ended the process with status {os.WEXITSTATUS(status)}"


def _outcome(task: Task, plugin: PluginInfo) -> dict[str, Any]:
    """Import one plugin, ask its hooks, make what can be made without options, and see what that left behind."""
    alone = Catalog([plugin], task.settings, trust=task.trust)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", PluginWarning)
        with Traces() as traces:
            begun = time.perf_counter()
            alone.load_all()
            seconds = time.perf_counter() - begun
    told = [
        f"{one.message} ({os.path.basename(one.filename)}:{one.lineno})"
        for one in warned
        if issubclass(one.category, PluginWarning) and not str(one.message).startswith("plugin ")
    ]
    bound = _asked(alone)
    unmade, problem = _made(task, alone)
    (now,) = alone.plugins
    offers = alone.offers()
    return {
        "state": "broken" if problem and now.state == "loaded" else now.state,
        "reason": problem if problem and now.state == "loaded" else now.reason,
        # What is said of `plugin …` is among the notes already; the rest is of hooks that are going away.
        "notes": [*now.notes, *told, *traces.found, *unmade],
        "seconds": seconds,
        "offers": [
            {name: getattr(offer, name) for name in ("kind", "name", "distribution", "target", "problem", "summary")}
            for offer in offers
        ],
        "binds": bound,
    }


def _asked(alone: Catalog) -> list[str]:
    """The types that a plugin binds resources of; asks for its subscriptions too. What fails ends in its state."""
    alone.session()
    try:
        registry = alone.resources()
    except BindingConflict:
        return []
    return sorted(f"{one.protocol.__module__}:{one.protocol.__qualname__}" for one in registry)


def _made(task: Task, alone: Catalog) -> tuple[list[str], str]:
    """Notes on what needs more than its defaults, and the first that is made wrongly.

    Sections and policies are only values; a filesystem or an adapter may reach out when it is made.
    """
    everything = Catalog(task.plugins, task.settings, trust=task.trust)  # a factory may want others' offers
    notes: list[str] = []
    for offer in alone.offers():
        if offer.kind not in ("section", "policy"):
            continue
        try:
            alone.load(offer)
        except OfferBroken:
            continue  # its state says so
        try:
            made: Any = everything.use(offer.kind, offer.name)
            if offer.kind == "section":
                check_section(made)
        except InvalidOption:
            continue  # it needs options, and is none the worse for it
        except Failed as failed:
            return (
                notes,
                f"section {offer.name} cannot be shown to a model: {failed.reason}; {offer.target} has to fix that",
            )
        except OfferBroken as error:
            if error.__cause__ is None:  # it made something else
                return notes, error.reason
            # With an error of wink's own a factory may say which setting it lacks; but not of a tool that is none.
            cause = error.__cause__
            if not isinstance(cause, WinkError) or (isinstance(cause, PromptValidationError) and cause.tool):
                return notes, (
                    f"{offer.kind} {offer.name} cannot be made: {error.reason}; {offer.target} has to fix that, or to take "
                    f"what it lacks as an option without a default"
                )
            notes.append(f"{offer.kind} {offer.name} needs more than its defaults: {error.reason}")
        except WinkError as error:
            notes.append(f"{offer.kind} {offer.name} needs more than its defaults: {described(error)}")
    return notes, ""
