"""`wink batch run`: begin a batch, or go on with one."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

import click

from wink.cli import installed_catalog, model_offer, visible, wrong
from wink.errors import ExtraMissing
from wink_batch import (
    Driver,
    Journal,
    Limits,
    LocalEngine,
    Meter,
    Plan,
    Prices,
    Rates,
    Source,
    Task,
    masked,
    read_tasks,
    resolve,
    sink,
    summary,
)
from wink_batch import lines as summary_lines
from wink_batch._assembly import ASSEMBLY
from wink_batch._errors import SourceUnavailable
from wink_batch.commands._options import batch_options
from wink_batch.commands._progress import watcher

if TYPE_CHECKING:
    from wink_batch import Engine, Sink

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_UNSTARTED: Final = 4
"""The exit status of a batch that a limit has ended before all tasks were over."""
_INTERRUPTED: Final = 130


@click.command()
@click.argument("tasks", required=False, metavar="[TASKS]")
@batch_options
def run(tasks: str | None, **given: Any) -> int:
    """Let a model work on each of the TASKS, in a workspace of its own.

    TASKS is a table in JSON lines, CSV or Parquet, local or at an fsspec URL. Nothing is written to the workspaces that
    it names: what an attempt changes is kept apart, as a patch and as a commit. Interrupt it once, and what runs takes back
    what it is in the middle of; `--resume DIR` goes on.

    The exit status is 0 when all tasks are done, 1 when some failed, 4 when a limit of the batch ended it.
    """
    if sys.platform != "linux":
        raise wrong(
            "attempts need Linux's processes and namespaces; on macOS run wink in a virtual machine, as podman machine makes"
        )
    if given["resume"] is not None:
        if tasks is not None:
            raise wrong("a batch goes on with the tasks that it was begun with; leave out TASKS, or --resume")
        with Journal(given["resume"]) as journal:
            env = _environment(given)
            _go_on(journal, given)
            return _work(journal, given, env, *_ready(journal, given))
    if tasks is None:
        raise wrong("name a table of tasks, as in wink batch tasks.jsonl --model openai:NAME")
    plan, rows = _plan(tasks, given), [replace(one, model=_script_here(one.model)) for one in read_tasks(tasks)]
    _check_models(rows, given)
    rows, env = _pinned(rows), _environment(given)
    out = os.path.abspath(given["out"] or os.path.join("batches", plan.name))
    new = {path: _first_missing(path) for path in (out, *filter(_is_local, plan.results))}
    with Journal.begin(out, plan, rows) as journal:
        try:
            ready = _ready(journal, given)
        except BaseException:
            _forget(out, new)
            raise
        return _work(journal, given, env, *ready)


def _is_local(address: str) -> bool:
    return "://" not in address and address.lower().endswith(".jsonl")


def _first_missing(path: str) -> str:
    """The uppermost of a path and the directories it is in that is not there; "" where all of it is."""
    missing = ""
    while not os.path.lexists(path):
        missing, path = path, os.path.dirname(path)
    return missing


def _forget(out: str, new: dict[str, str]) -> None:
    """Leave nothing of a batch that could not begin: what it has made, and directories that are empty without that."""
    for name in os.listdir(out):
        path = os.path.join(out, name)
        shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
    for path, first in new.items():
        if first and path != out:
            with suppress(OSError):
                if not os.path.getsize(path):
                    os.unlink(path)
            path = os.path.dirname(path)
        while first and len(path) >= len(first):
            with suppress(OSError):
                os.rmdir(path)
            path = os.path.dirname(path)


def _plan(tasks: str, given: dict[str, Any]) -> Plan:
    if given["engine"] == "local" and given["address"]:
        raise wrong("--address is for Ray; leave out --engine local")
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", os.path.basename(tasks.rstrip("/")).split(".")[0]).strip("-.") or "batch"
    name = given["name"] or f"{stem[:60]}-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    if not _NAME.fullmatch(name) or ".." in name or name.endswith((".lock", ".")):
        raise wrong(f"{name!r} cannot be the name of a batch; use letters, digits, '.', '_' and '-'")
    checkpoint = given["checkpoint"] or "bundle"
    if checkpoint not in ("bundle", "none", "origin") and "://" not in checkpoint and ":" not in checkpoint:
        checkpoint = os.path.abspath(checkpoint)
    options = {
        "model": _script_here(given["model"] or ""),
        "base_url": given["base_url"],
        "template": given["template"],
        "sections": list(given["sections"]),
        "policies": list(given["policies"]),
    }
    usual = Plan(name, ASSEMBLY)
    plan = Plan(
        name=name,
        assembly=ASSEMBLY,
        options={key: value for key, value in options.items() if value},
        attempts=given["attempts"] or 1,
        retries=usual.retries if given["retries"] is None else given["retries"],
        prices=Prices(given["input_price"] or 0.0, given["output_price"] or 0.0, given["cached_price"]),
        rates=Rates(given["requests_per_minute"], given["tokens_per_minute"]),
        check=given["check"] or "",
        check_seconds=given["check_time"] or usual.check_seconds,
        checkpoint=checkpoint,
        keep_records=not given["no_records"],
        cache=os.path.abspath(given["cache"]) if given["cache"] else "",
        paths=() if given["ship"] or not _own_code(given) else (os.getcwd(),),
        results=tuple(_absolute(address) for address in given["results"]),
    )
    plan = plan.with_limits(*_limits(given))
    limits = plan.limits, plan.batch_limits
    if any(one.cost is not None for one in limits) and not (plan.prices.input or plan.prices.output):
        raise wrong("a limit of cost needs prices; give --input-price and --output-price, for a million tokens each")
    return plan


def _own_code(given: dict[str, Any]) -> list[str]:
    """What the user names of code that lies in the current directory, or in what is shipped."""
    from wink_batch import is_function

    check = given["check"]
    return [place for place in (given["template"], check if check and is_function(check) else None) if place]


def _limits(given: dict[str, Any]) -> tuple[Limits, Limits]:
    return (
        Limits(given["task_time"], given["task_tokens"], given["task_cost"], given["idle_time"]),
        Limits(given["batch_time"], given["batch_tokens"], given["batch_cost"]),
    )


def _script_here(model: str) -> str:
    """A script's path means the directory that the batch begins in, and not the one that an attempt works in."""
    kind, _, path = model.partition(":")
    return f"scripted:{os.path.abspath(path)}" if kind == "scripted" and path else model


def _absolute(address: str) -> str:
    return address if "://" in address else os.path.abspath(address)


def _check_models(tasks: Sequence[Task], given: dict[str, Any]) -> None:
    """What would make every task fail is said before the first one begins."""
    if given["model"] is None and (lacking := [task.id for task in tasks if not task.model]):
        names = ", ".join(lacking[:5]) + (" …" if len(lacking) > 5 else "")
        raise wrong(
            f"say which model is to do it with --model KIND:NAME, or in the column 'model'; it lacks for {names}"
        )
    catalog = installed_catalog(os.getcwd())
    models: list[str] = [given["model"] or "", *(one.model for one in tasks)]
    for model in filter(None, dict.fromkeys(models)):
        model_offer(model, catalog)
    if given["template"] is None and (odd := next((task for task in tasks if task.params), None)):
        raise wrong(f"task {odd.id!r} has params, but there is no --template to take them")
    places = _own_code(given)
    if places:  # only then: whatever is imported could also be a file that lies here
        sys.path.insert(0, given["ship"] or os.getcwd())
    from wink_batch import named

    for place in places:
        try:
            named(place)
        except ImportError as error:
            raise wrong(str(error)) from None


def _pinned(tasks: Sequence[Task]) -> tuple[Task, ...]:
    """The tasks with branches and tags as commits, so that they mean the same on every node, today and after a crash."""
    known: dict[Source, Source] = {}
    for task in tasks:
        place = task.workspace
        if place.kind == "git" and place not in known:
            try:
                known[place] = replace(place, revision=resolve(place.address, place.revision))
            except SourceUnavailable as error:
                # Perhaps the nodes can reach it; if not, the tasks that need it fail, and the others do not.
                click.echo(visible(f"wink: {masked(str(error))}"), err=True)
                known[place] = place
    return tuple(replace(task, workspace=known.get(task.workspace, task.workspace)) for task in tasks)


def _go_on(journal: Journal, given: dict[str, Any]) -> None:
    fixed = ("model", "template", "base_url", "attempts", "check", "check_time", "name", "out", "checkpoint", "cache")
    for name in (*fixed, "sections", "policies", "no_records"):
        if given[name]:
            option = {"sections": "section", "policies": "policy"}.get(name, name.replace("_", "-"))
            raise wrong(f"a batch goes on as it was begun; leave out --{option}, or begin another one")
    plan = journal.plan.with_limits(*_limits(given))
    if given["retries"] is not None:
        plan = replace(plan, retries=given["retries"])
    if given["requests_per_minute"] or given["tokens_per_minute"]:
        plan = replace(plan, rates=Rates(given["requests_per_minute"], given["tokens_per_minute"]))
    if given["results"]:
        plan = replace(plan, results=tuple(_absolute(address) for address in given["results"]))
    if plan != journal.plan:
        journal.replan(plan)


def _environment(given: dict[str, Any]) -> dict[str, str]:
    """The variables that attempts are given."""
    missing = [name for name in given["env"] if name not in os.environ]
    if missing:
        raise wrong(f"--env {missing[0]}: there is no such variable")
    return {name: os.environ[name] for name in given["env"]}


def _ready(journal: Journal, given: dict[str, Any]) -> tuple[Engine, list[Sink]]:
    """What runs attempts, and where records go besides."""
    with ExitStack() as undone:
        engine = _engine(journal, given)
        undone.callback(engine.close)
        sinks: list[Sink] = []
        for address in journal.plan.results:
            sinks.append(sink(address, journal.directory, journal.results))
            undone.callback(sinks[-1].close)
        undone.pop_all()
        return engine, sinks


def _work(journal: Journal, given: dict[str, Any], env: dict[str, str], engine: Engine, sinks: list[Sink]) -> int:
    ending = "interrupted"
    try:
        with watcher(journal, engine, as_json=given["as_json"]) as watching:
            driver = Driver(journal, engine, env, (watching,), tuple(sinks))
            with _interrupting(driver):
                ending = driver.run()
    finally:
        engine.close()
        for one in sinks:
            one.close()
    return _told(journal, ending, as_json=given["as_json"])


def _engine(journal: Journal, given: dict[str, Any]) -> Engine:
    plan = journal.plan
    meter = Meter.of(plan, journal.spent) if plan.is_metered else None
    if given["engine"] != "local":
        from wink_batch import RayEngine

        try:
            return RayEngine(
                address=given["address"] or "",
                cpus=given["cpus"],
                parallel=given["parallel"] or 0,
                logs=os.path.join(journal.directory, "logs"),
                meter=meter,
                ship=given["ship"] or "",
            )
        except ExtraMissing as error:
            if given["engine"] or given["address"] or given["ship"]:
                raise
            click.echo(
                f"wink: {error}; without it attempts run on this machine alone, as with --engine local", err=True
            )
    return LocalEngine(given["parallel"] or 0, meter=meter)


@contextmanager
def _interrupting(driver: Driver) -> Generator[None]:
    """The first interrupt ends the batch in order, the second one at once."""
    times = 0

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal times
        del frame
        times += 1
        if times > 1:
            raise KeyboardInterrupt
        driver.interrupt()
        word = "interrupted" if number == signal.SIGINT else "told to end"
        os.write(
            2,
            f"\nwink: {word}; what runs takes back what it is in the middle of. Once more ends it at once.\n".encode(),
        )

    kept = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def _told(journal: Journal, ending: str, *, as_json: bool) -> int:
    import json

    found = summary(tuple(journal.tasks), journal.results, judged=bool(journal.plan.check))
    if as_json:
        click.echo(json.dumps({"event": "end", "ending": ending, "directory": journal.directory, **found.to_json()}))
    else:
        for line in summary_lines(found):
            click.echo(visible(line))
    if ending != "over":
        why = {
            "interrupted": "interrupted",
            "time": "the batch's time is over",
            "budget": "what the batch may use is used up",
        }
        more = "" if ending == "interrupted" else ", with a higher limit,"
        click.echo(f"wink: {why[ending]}; `wink batch --resume {journal.directory}`{more} goes on", err=True)
        return _INTERRUPTED if ending == "interrupted" else _UNSTARTED
    if not as_json:
        click.echo(f"wink: `wink batch show {os.path.relpath(journal.directory)}` shows more", err=True)
    return 1 if found.failed else 0
