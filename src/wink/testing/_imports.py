"""Import a module in a fresh process, and look at what comes with it and what it costs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Collection, Mapping
from typing import Any, Final

from wink.dataclass import dataclass

_ATTEMPTS: Final = 5
_SHOWN: Final = 10

# Who asks for a forbidden module first is seen by a finder that finds nothing. Before the import nothing is loaded that an
# interpreter does not have anyway.
_PROGRAM: Final = """
import sys, time
given = {given!r}
sys.path[:] = given["path"]
asked = {{}}
class Asking:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in given["tops"] and name not in asked:
            frame = sys._getframe(1)
            while frame is not None and "importlib" in frame.f_code.co_filename:
                frame = frame.f_back
            if frame is not None:
                asked[name] = "%s, line %d" % (frame.f_globals.get("__name__"), frame.f_lineno)
sys.meta_path.insert(0, Asking)
before = set(sys.modules)
wall, cpu = time.perf_counter(), time.process_time()
__import__(given["module"])
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
loaded = sorted(set(sys.modules) - before)
import json
print(json.dumps(dict(modules=loaded, asked=asked, ms=min(wall, cpu) * 1000)))
"""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What one import loads: `modules` in order of their names, and the least time that it took, in milliseconds."""

    module: str
    modules: tuple[str, ...]
    ms: float


def assert_import_light(module: str, *, forbid: Collection[str] = (), under_ms: float | None = None) -> ImportReport:
    """Import `module` in a process of its own, and fail if that loads a module named in `forbid`, or takes too long.

    Listing plugins imports none of them, and using one imports its module: what is heavy has to be imported inside the
    functions that need it. What is forbidden is forbidden with everything below it. The time is that of the processor, and
    the best of five attempts counts; without `under_ms` nothing is timed.

    >>> report = assert_import_light("wink", forbid={"pydantic", "git"})
    >>> "wink" in report.modules
    True
    >>> assert_import_light("json", forbid={"json.decoder"})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    AssertionError: importing json loads json.decoder (asked for by json, line ...); import it inside the function that ...
    """
    found = _import(module, forbid)
    modules = tuple(found["modules"])
    heavy = [name for name in forbid if any(one == name or one.startswith(f"{name}.") for one in modules)]
    if heavy:
        asked: Mapping[str, str] = found["asked"]
        told = [f"{name} (asked for by {asked.get(name, 'nobody that is known')})" for name in sorted(heavy)]
        raise AssertionError(f"importing {module} loads {', '.join(told)}; import it inside the function that needs it")
    least = float(found["ms"])
    if under_ms is not None:
        for _ in range(_ATTEMPTS - 1):
            if least <= under_ms:
                break
            least = min(least, float(_import(module, forbid)["ms"]))
        if least > under_ms:
            raise AssertionError(
                f"importing {module} takes {least:.0f} ms, and may take {under_ms:.0f}; the slowest of what it loads:\n"
                f"{_slowest(module, modules)}"
            )
    return ImportReport(module, modules, least)


def _import(module: str, forbid: Collection[str]) -> dict[str, Any]:
    given = {"module": module, "path": sys.path, "tops": sorted({name.partition(".")[0] for name in forbid})}
    done = _python("-c", _PROGRAM.format(given=given))
    if done.returncode:
        raise AssertionError(f"{module} cannot be imported by itself:\n{done.stderr.strip()}")
    # What the module itself prints comes before.
    return json.loads(done.stdout.splitlines()[-1])


def _slowest(module: str, loaded: Collection[str]) -> str:
    """The modules that took longest by themselves, as `-X importtime` tells."""
    program = f"import sys; sys.path[:] = {sys.path!r}; import {module}"
    rows: list[tuple[int, str]] = []
    for line in _python("-X", "importtime", "-c", program).stderr.splitlines():
        own, _, rest = line.removeprefix("import time:").partition("|")
        name = rest.partition("|")[2].strip()
        if own.strip().isdigit() and name in loaded:
            rows.append((int(own), name))
    return "\n".join(f"  {own / 1000:8.1f} ms  {name}" for own, name in sorted(rows, reverse=True)[:_SHOWN])


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
