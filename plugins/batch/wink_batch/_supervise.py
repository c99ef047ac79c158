"""Run one attempt from its files to its outcome, on whatever thread or machine: the function that engines run.

It always comes back with an outcome, except when its own process is killed. What hangs, uses up its time or is to stop is
told so first, and killed when it does not listen.
"""

from __future__ import annotations

import io
import os
import shutil
import signal
import threading
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from wink.limits import utc_now
from wink_batch._attempt import Attempt, Gone
from wink_batch._errors import SourceUnavailable
from wink_batch._git import GitFailed
from wink_batch._meter import MeterLike
from wink_batch._nursery import Nursery, Running
from wink_batch._outcome import Outcome, Usage, Verdict, lost
from wink_batch._plan import NO_CHECKPOINT, ORIGIN
from wink_batch._room import room_for, size_of, without_state
from wink_batch.content import Base, Cache, Changed, Collected, changes_between, changes_over, collect, usual_cache

Stopping = Callable[[], int]
"""Is asked whether an attempt is to end: 0 for no, 1 when it may take back what it is in the middle of, 2 for at once."""

GRACE: Final = 20.0
"""Seconds in which an attempt that was told to end can take back what it is in the middle of."""

_TURN: Final = 0.25
_LOG: Final = 1 << 17
_STARTS: Final = 300.0
"""Seconds that a process may take to begin, with all that it imports, on a machine that has a lot to do."""

_kept = threading.local()
_caches: Final[dict[str, Cache]] = {}
_no_overlays: Final[dict[str, str]] = {}
"""Directories in which overlays cannot be mounted, and why."""


def run_attempt(attempt: Attempt, meter: MeterLike | None = None, stopping: Stopping = lambda: 0) -> Outcome:
    """What an attempt comes to; `stopping` is asked a few times a second whether it is to end."""
    started, clock = utc_now(), time.monotonic()
    try:
        outcome = _run(attempt, meter, stopping)
    except SourceUnavailable as error:
        outcome = lost("workspace", str(error))
    except GitFailed as error:
        outcome = lost("checkpoint", str(error))
    except OSError as error:
        outcome = lost("error", f"{error.strerror or error}: {error.filename or ''}".rstrip(": "))
    except Gone:
        outcome = lost("crash", "the process that begins attempts is gone")
    return replace(
        outcome,
        seconds=round(time.monotonic() - clock, 3),
        started_at=started.isoformat(timespec="milliseconds"),
        node=os.uname().nodename,
    )


def _run(attempt: Attempt, meter: MeterLike | None, stopping: Stopping) -> Outcome:
    place = attempt.plan.cache or usual_cache()
    cache = _caches.setdefault(place, Cache(place))
    base = cache.base(attempt.task.workspace, attempt.plan.name)
    if (os.path.realpath(place) + "/").startswith(base.tree.rstrip("/") + "/") and base.tree != f"{place}/empty":
        raise SourceUnavailable(base.tree, f"the cache {place!r} lies in it; name another with --cache")
    with room_for(place) as room:
        return _Supervised(attempt, base, room, meter, stopping).run()


class _Supervised:
    """One attempt under way."""

    def __init__(self, attempt: Attempt, base: Base, room: str, meter: MeterLike | None, stopping: Stopping) -> None:
        self._attempt, self._base, self._room = attempt, base, room
        self._meter, self._stopping = meter, stopping
        self._usage = Usage()
        self._ended: Outcome | None = None
        self._verdict: Verdict | None = None
        self._unmounted = ""
        self._collected = Collected()
        self._copy, self._copied_ns = "", 0
        self._imported: list[str] = []

    def run(self) -> Outcome:
        """Run it; over an overlay if that can be, and otherwise over a copy."""
        place = os.path.dirname(os.path.dirname(self._room))
        if place not in _no_overlays:
            outcome = self._once(self._with_overlay())
            if not self._unmounted:
                return outcome
            _no_overlays[place] = self._unmounted
        self._copy = os.path.join(self._room, "copy")
        shutil.copytree(self._base.tree, self._copy, symlinks=True, ignore=without_state(self._base.tree))
        self._copied_ns = os.stat(self._copy).st_ctime_ns
        return self._once({"root": self._copy, "mount": None})

    def _with_overlay(self) -> dict[str, Any]:
        from wink.errors import SandboxUnavailable
        from wink_sandbox import Overlay, check_mounts

        overlay = Overlay(self._base.tree, os.path.join(self._room, "overlay"))
        overlay.open()
        try:
            try:
                check_mounts(self._base.tree)
            except SandboxUnavailable as error:
                self._unmounted = str(error)
                return {}
            found = overlay.mount()
        finally:
            overlay.close()
        mount = {name: getattr(found, name) for name in ("target", "lower", "upper", "work", "identity")}
        return {"root": self._base.tree, "mount": mount}

    def _once(self, where: dict[str, Any]) -> Outcome:
        if not where:
            return lost("error", self._unmounted)
        plan = self._attempt.plan
        state = os.path.join(self._room, "state")
        os.makedirs(state, exist_ok=True)
        request = {
            "task": self._attempt.task.to_row(),
            "plan": plan.to_json(),
            "env": dict(self._attempt.env),
            "place": self._room,
            "state": state,
            "log": os.path.join(self._room, "output.log"),
            **where,
        }
        running = _nursery(plan.paths, (plan.assembly.partition(":")[0],)).begin(request)
        try:
            cause, message = self._watch(running)
        finally:
            self._end(running)
            running.close()
        _learn(self._imported)
        if self._unmounted:
            return lost("error", self._unmounted)
        return self._outcome(cause, message)

    # -- while it runs

    def _watch(self, running: Running) -> tuple[str, str]:
        """Hear it to its end; why it had to be ended, if it had to be."""
        limits = self._attempt.plan.limits
        began = heard = time.monotonic()
        told_at: float | None = None
        has_begun = False
        go_at: float | None = None
        cause = message = ""
        while running.status is None:
            for said in running.hear(_TURN if go_at is None else max(0.0, min(_TURN, go_at - time.monotonic()))):
                heard, has_begun = time.monotonic(), True
                go_at = self._answer(running, said, go_at)
            now = time.monotonic()
            if go_at is not None:
                heard = now  # it waits for us
                if now >= go_at:
                    running.channel.tell(go=True)
                    go_at = None
            if told_at is None and self._ended is None:
                if self._stopping():
                    cause, message, told_at = "interrupted", "the batch was interrupted", now
                elif limits.seconds is not None and now - began > limits.seconds + GRACE:
                    cause, message, told_at = "time", f"it was not done after {limits.seconds:g} s", now
                elif limits.idle is not None and now - heard > (
                    limits.idle if has_begun else max(limits.idle, _STARTS)
                ):
                    cause, message, told_at = "hang", f"it gave no sign of life for {now - heard:.0f} s", now
                if told_at is not None:
                    running.signal(signal.SIGINT)
            elif told_at is None:
                most = limits.idle if limits.idle is not None else 3600.0
                if now - heard > max(most, self._attempt.plan.check_seconds) + GRACE:
                    return "hang", f"its check gave no sign of life for {now - heard:.0f} s"
            if self._stopping() > 1:
                return "interrupted", "the batch was interrupted"
            if told_at is not None and now - told_at > GRACE and self._ended is None:
                return cause, f"{message}, and did not end when it was told to"
        return cause, message

    def _answer(self, running: Running, said: dict[str, Any], go_at: float | None) -> float | None:
        try:
            if "usage" in said:
                self._usage = Usage(**said["usage"])
            elif "ask" in said:
                self._usage = Usage(**said["ask"])
                wait, problem = self._asked()
                if problem:
                    running.channel.tell(over=problem)
                    return None
                return time.monotonic() + wait
            elif "slow" in said and self._meter is not None:
                self._meter.slow(said["slow"])
            elif "unmounted" in said:
                self._unmounted = said["unmounted"]
            elif "imported" in said:
                self._imported = said["imported"]
            elif "ended" in said:
                self._ended = Outcome.from_row(said["ended"])
                self._usage = self._ended.usage
                self._collect()
                has_check = bool(self._attempt.plan.check) and self._ended.status == "done"
                running.channel.tell(check=has_check)
            elif "verdict" in said:
                self._verdict = Verdict(**said["verdict"])
        except Gone:
            pass  # its process is over, which is told next
        return go_at

    def _asked(self) -> tuple[float, str]:
        if self._meter is None:
            return 0.0, ""
        used = self._usage
        return self._meter.ask(
            "/".join(map(str, self._attempt.key)),
            (used.input_tokens, used.output_tokens, used.cached_tokens, used.cost, used.requests),
        )

    def _end(self, running: Running) -> None:
        """Kill it, if it is not over, and wait until it is."""
        if running.status is None:
            running.signal(signal.SIGKILL)
        while running.status is None:
            running.hear(_TURN)

    # -- afterwards

    def _collect(self) -> None:
        changed = self._changed()
        plan, attempt = self._attempt.plan, self._attempt
        where = plan.checkpoint
        if where == ORIGIN:
            is_git = attempt.task.workspace.kind == "git"
            where = attempt.task.workspace.address if is_git else "bundle"
        if self._ended is None or self._ended.status != "done":
            where = NO_CHECKPOINT  # what did not come to its end is kept as a patch alone
        message = f"{plan.name}: {attempt.name}"
        self._collected = collect(
            changed, self._base, self._room, name=attempt.name, batch=plan.name, message=message, checkpoint=where
        )

    def _changed(self) -> tuple[Changed, ...]:
        if self._copy:
            return changes_between(self._base.tree, self._copy, self._copied_ns)
        return changes_over(self._base.tree, os.path.join(self._room, "overlay", "upper"))

    def _outcome(self, cause: str, message: str) -> Outcome:
        end = self._ended
        if cause == "interrupted":
            end = Outcome("stopped", cause, message)
        elif end is None or cause:
            if not cause:
                cause, message = "crash", f"its process ended{self._log_tail()}"
            end = Outcome("failed", cause, message)
            with suppress(GitFailed, OSError):
                self._collect()
        got = self._collected
        return replace(
            end,
            usage=self._usage,
            verdict=self._verdict if end.status == "done" else None,
            changed=got.paths,
            patch=got.patch,
            bundle=got.bundle,
            checkpoint=got.checkpoint,
            commit=got.commit,
            base=got.base,
            record=self._record(),
            disk_bytes=size_of(self._room),
            shared="copy" if self._copy else "overlay",
        )

    def _log_tail(self) -> str:
        with suppress(OSError), open(os.path.join(self._room, "output.log"), "rb") as file:
            lines = file.read()[-_LOG:].decode("utf-8", "replace").strip().splitlines()
            if lines:
                return f"; it said last: {lines[-1][:300]}"
        return ""

    def _record(self) -> bytes:
        """The record of calls and what was printed, packed."""
        if not self._attempt.plan.keep_records:
            return b""
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
            for name in ("state/record.db", "state/record.db-wal", "output.log"):
                place = os.path.join(self._room, name)
                if os.path.exists(place) and os.path.getsize(place):
                    with open(place, "rb") as file:
                        data = file.read()
                    archive.writestr(zipfile.ZipInfo(os.path.basename(name)), data[-_LOG:] if "log" in name else data, zipfile.ZIP_DEFLATED)  # fmt: skip
        return packed.getvalue()


def _nursery(paths: tuple[str, ...], modules: tuple[str, ...]) -> Nursery:
    """This thread's nursery."""
    found: Nursery | None = getattr(_kept, "nursery", None)
    if found is not None and (not found.is_alive or found.about != (paths, modules)):
        found.close()
        found = None
    if found is None:
        found = _kept.nursery = Nursery(paths, modules)
        if getattr(_kept, "known", None) is not None:
            _kept.known = set[str]()
    return found


def _learn(modules: list[str]) -> None:
    """Let this thread's nursery know what attempts import, until something is among it that it cannot have."""
    nursery: Nursery | None = getattr(_kept, "nursery", None)
    known: set[str] | None = getattr(_kept, "known", set[str]())
    if nursery is None or known is None or not (fresh := [name for name in modules if name not in known]):
        return
    try:
        nursery.learn(fresh)
        _kept.known = known | set(fresh)
    except Gone:
        _kept.known = _kept.nursery = None
        nursery.close()


def close_nursery() -> None:
    """End this thread's nursery, if it has one."""
    found: Nursery | None = getattr(_kept, "nursery", None)
    if found is not None:
        _kept.nursery = None
        found.close()
