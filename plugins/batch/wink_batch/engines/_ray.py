"""Run attempts on Ray: one that is started for the batch on this machine, or a cluster by its address.

Ray is imported here and nowhere else, when an engine is made. It is told not to repeat anything by itself: what is lost is
the driver's to see and to count.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import socket
import sys
import tempfile
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from wink.errors import ExtraMissing
from wink_batch._attempt import Attempt, Key
from wink_batch._errors import BatchError, EngineFailed
from wink_batch._meter import Meter
from wink_batch._outcome import Outcome, lost

if TYPE_CHECKING:
    from wink_batch._meter import MeterLike

_STORE_BYTES: Final = 256 * 1024 * 1024
_ACTOR_SECONDS: Final = 120.0
_PREFIX: Final = "wink-ray-"
_CONNECT_SECONDS: Final = 15.0
_QUIET: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_enable_metrics_collection": "0",
    "RAY_DISABLE_IMPORT_WARNING": "1",
}


def imported(*, own: bool = False) -> Any:
    """Ray, told to keep quiet, and if it is to be our `own`, to let nobody else in; raises `ExtraMissing`."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    if own and "ray" not in sys.modules and "RAY_AUTH_MODE" not in os.environ:
        # Ray looks when it is imported, and without a key would make one in the user's home.
        os.environ["RAY_AUTH_MODE"] = "token"
        if "RAY_AUTH_TOKEN_PATH" not in os.environ:
            os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    try:
        ray: Any = import_module("ray")
    except ImportError:
        raise ExtraMissing("`wink batch` on Ray", "ray", "ray") from None
    logging.getLogger("ray").setLevel(logging.ERROR)
    return ray


class RayEngine:
    """Ray, from now until `close`."""

    def __init__(
        self,
        *,
        address: str = "",
        cpus: float = 1.0,
        parallel: int = 0,
        logs: str = "",
        meter: Meter | None = None,
        ship: str = "",
    ) -> None:
        """Connect to `address`, or start a Ray of this batch's own; raises `ExtraMissing` and `EngineFailed`.

        Each attempt takes `cpus` of a node's processors, a fraction too, and at most `parallel` run at once where that is
        given. `logs` is where Ray's logs are put. `ship` is a directory that every node is sent, in which attempts begin.
        """
        self._ray: Any = imported(own=not address)
        if self._ray.is_initialized():
            raise BatchError(
                "this process uses Ray already; shut that down first, or give its address to another process"
            )
        self._cpus, self._parallel, self._address = cpus, parallel, address
        self._logs, self._temporary = logs, ""
        self._running: dict[Any, Key] = {}
        self._stopped: list[tuple[Key, Outcome]] = []
        try:
            self._start(ship)
            self._function = self._ray.remote(num_cpus=cpus, max_retries=0, scheduling_strategy="SPREAD")(_run)
            self._meter = None if meter is None else self._shared(meter)
        except Exception as error:  # foreign code: anything that keeps Ray from starting
            self.close()
            text = f"{error}".strip().splitlines()
            where = f"at {address!r}" if address else "on this machine"
            raise EngineFailed("Ray", f"cannot be had {where}: {text[0] if text else type(error).__name__}") from error

    def _start(self, ship: str) -> None:
        quiet: dict[str, Any] = {"log_to_driver": False, "configure_logging": False, "logging_level": logging.ERROR}
        if ship:
            quiet["runtime_env"] = {"working_dir": ship}
        if self._address:
            _reached(self._address)
            self._ray.init(address=self._address, **quiet)
            return
        # Sockets beneath the directory must have short names.
        _sweep(tempfile.gettempdir())
        self._temporary = tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-")
        if self._logs:
            os.makedirs(self._logs, exist_ok=True)
            link = os.path.join(self._logs, "ray")
            with suppress(OSError):
                os.unlink(link)
            with suppress(OSError):
                os.symlink(os.path.join(self._temporary, "session_latest", "logs"), link)
        self._ray.init(
            num_cpus=max(1, self._parallel and -(-int(self._parallel * self._cpus * 1000) // 1000))
            if self._parallel
            else None,
            include_dashboard=False,
            object_store_memory=_STORE_BYTES,
            _temp_dir=self._temporary,
            **quiet,
        )

    def _shared(self, meter: Meter) -> Any:
        """The meter as an actor beside the driver, with whom alone it goes."""
        options: dict[str, Any] = {"num_cpus": 0, "max_concurrency": 64, "max_restarts": 0}
        with suppress(Exception):  # foreign code: a client has no node of its own
            strategies: Any = import_module("ray.util.scheduling_strategies")
            node = self._ray.get_runtime_context().get_node_id()
            options["scheduling_strategy"] = strategies.NodeAffinitySchedulingStrategy(node, soft=True)
        actor = self._ray.remote(**options)(_MeterActor).remote(meter.terms())
        self._ray.get(actor.ready.remote(), timeout=_ACTOR_SECONDS)
        return actor

    @property
    def name(self) -> str:
        """What it is."""
        nodes = len([node for node in self._ray.nodes() if node["Alive"]])
        return f"Ray, {nodes} node{'' if nodes == 1 else 's'}, {self._places()} at once"

    def _places(self) -> int:
        found = float(self._ray.cluster_resources().get("CPU", 0.0))
        places = int(found / self._cpus + 1e-6)
        return min(places, self._parallel) if self._parallel else places

    def slots(self) -> int:
        """As many as run at once, and as many again that wait, so that no node is idle while the driver is told."""
        try:
            places = self._places()
        except Exception as error:  # foreign code
            raise self._failed(error) from error
        return places if self._parallel else max(1, 2 * places)

    def submit(self, attempt: Attempt) -> None:
        """Have Ray run an attempt."""
        try:
            self._running[self._function.remote(attempt, self._meter)] = attempt.key
        except Exception as error:  # foreign code
            raise self._failed(error) from error

    def wait(self, seconds: float) -> list[tuple[Key, Outcome]]:
        """The attempts that have come back, or that Ray says are lost."""
        if self._stopped:
            found, self._stopped = self._stopped, []
            return found
        references = list(self._running)
        if not references:
            return []
        try:
            ready, _ = self._ray.wait(references, num_returns=1, timeout=seconds)
            if ready and len(references) > 1:
                ready, _ = self._ray.wait(references, num_returns=len(references), timeout=0)
        except Exception as error:  # foreign code
            raise self._failed(error) from error
        return [(self._running.pop(reference), self._taken(reference)) for reference in ready]

    def _taken(self, reference: Any) -> Outcome:
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except errors.TaskCancelledError:
            return Outcome("stopped", "interrupted", "the batch was interrupted")
        except errors.RayTaskError as error:
            if isinstance(error, errors.TaskCancelledError) or "KeyboardInterrupt" in str(error):
                return Outcome("stopped", "interrupted", "the batch was interrupted")
            return lost("error", _last_line(error))
        except errors.RuntimeEnvSetupError as error:
            return lost("template", _last_line(error))
        except errors.RayError as error:
            return lost("node", f"{type(error).__name__}: {_first_line(error)}")

    def stop(self) -> None:
        """Tell all attempts to end. What has begun takes back what it is in the middle of."""
        for reference in self._running:
            with suppress(Exception):  # foreign code: it may be over, or its node gone
                self._ray.cancel(reference, force=False)

    def close(self) -> None:
        """Shut down what was started here, and put its logs where they were wanted."""
        with suppress(Exception):  # foreign code: whatever state it is in
            self._ray.shutdown()
        if self._temporary:
            self._keep_logs()
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = ""

    def _keep_logs(self) -> None:
        if not self._logs:
            return
        link, kept = os.path.join(self._logs, "ray"), os.path.join(self._logs, "ray.kept")
        with suppress(OSError, shutil.Error):
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(os.path.realpath(os.path.join(self._temporary, "session_latest", "logs")), kept, ignore_dangling_symlinks=True)  # fmt: skip
            os.unlink(link)
            os.rename(kept, link)

    def _failed(self, error: Exception) -> EngineFailed:
        return EngineFailed("Ray", f"is gone: {_first_line(error)}; `--resume` goes on when it is back")


class _MeterActor:
    """A meter that the whole fleet asks."""

    def __init__(self, terms: Any) -> None:
        self._meter = Meter(*terms)

    def ready(self) -> bool:
        return True

    def ask(self, attempt: str, usage: tuple[int, int, int, float, int]) -> tuple[float, str]:
        return self._meter.ask(attempt, usage)

    def slow(self, seconds: float) -> None:
        self._meter.slow(seconds)


class _Asking:
    """The actor, as an attempt's worker asks it."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    def ask(self, attempt: str, usage: tuple[int, int, int, float, int]) -> tuple[float, str]:
        ray = imported()
        return ray.get(self._actor.ask.remote(attempt, usage), timeout=_ACTOR_SECONDS)

    def slow(self, seconds: float) -> None:
        self._actor.slow.remote(seconds)


_threads: list[Any] = []


def _run(attempt: Attempt, actor: Any) -> Outcome:
    """What Ray runs, in a worker's main thread: it may be interrupted there at any time, so the work is on another one."""
    import threading
    from concurrent.futures import ThreadPoolExecutor
    from concurrent.futures import TimeoutError as NotYet

    from wink_batch._supervise import run_attempt

    if not _threads:
        _threads.append(ThreadPoolExecutor(1))  # it keeps its nursery for the next attempt
    stop = threading.Event()
    meter: MeterLike | None = None if actor is None else _Asking(actor)
    future = _threads[0].submit(run_attempt, attempt, meter, stop.is_set)
    while True:
        try:
            return future.result(timeout=1.0)
        except NotYet:
            continue
        except KeyboardInterrupt:
            stop.set()


def _sweep(above: str) -> None:
    """Remove what drivers left that were killed; their Ray has ended with them."""
    for name in os.listdir(above):
        pid = name.removeprefix(_PREFIX).partition("-")[0]
        place = os.path.join(above, name)
        if name.startswith(_PREFIX) and pid.isdigit() and os.lstat(place).st_uid == os.geteuid():
            try:
                os.kill(int(pid), 0)
            except ProcessLookupError:
                shutil.rmtree(place, ignore_errors=True)
            except PermissionError:
                pass


def _reached(address: str) -> None:
    """See whether anybody listens there: Ray itself would try for minutes, and then end the process."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return
    with socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_SECONDS):
        pass


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__


def _last_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1][:300] if lines else type(error).__name__
