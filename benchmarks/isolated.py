"""What a call of an isolated function costs beside the same function in this process: `python -m benchmarks.isolated`."""

from __future__ import annotations

import importlib
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from wink.filesystem import Filesystem
from wink.prompt import Prompt, PromptTemplate, ToolsSection
from wink.runtime import ToolCall, ToolExecutor
from wink.session import Session
from wink.workspace import Workspace

AIM_MS = 15.0
ROUNDS = 30
SOURCE = '''
{imports}
from wink import tool

@tool(isolated={isolated})
def append(text: str) -> int:
    """Append."""
    with open("{place}/a.txt", "a") as file:
        return file.write(text)
'''


def milliseconds(place: Path, site: Path, name: str, imports: str, *, isolated: bool) -> list[float]:
    """What a few calls take, the first one first: isolated ones import the module until a server has done so."""
    (site / f"{name}.py").write_text(SOURCE.format(imports=imports, isolated=isolated, place=place))
    module: Any = importlib.import_module(name)
    times: list[float] = []
    with Workspace.open(place) as workspace:
        template = PromptTemplate(ns="bench", key="isolated", sections=[ToolsSection("Some", [module.append])])
        prompt, session = Prompt(template).bind(resources={Filesystem: workspace.filesystem}), Session()
        executor = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)
        for _ in range(ROUNDS):
            begun = time.perf_counter()
            reply = executor.execute(ToolCall("append", '{"text": "x"}'))
            times.append((time.perf_counter() - begun) * 1000)
            assert reply.success, reply.text
    return times


def main() -> None:
    """Print one line for each of what the function's module imports."""
    with tempfile.TemporaryDirectory() as directory:
        place, site = Path(directory, "place"), Path(directory, "site")
        place.mkdir()
        site.mkdir()
        sys.path.insert(0, str(site))
        print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; medians of {ROUNDS} calls")
        print(
            "| the module imports | in this process, ms | first isolated, ms | isolated, ms | least, ms | over it, ms | aim, ms |"
        )
        print("|---|---|---|---|---|---|---|")
        for what, imports in (("wink", ""), ("pandas too", "import pandas")):
            tag = what.split()[0]
            bare = statistics.median(milliseconds(place, site, f"bench_bare_{tag}", imports, isolated=False))
            times = milliseconds(place, site, f"bench_apart_{tag}", imports, isolated=True)
            apart = statistics.median(times)
            numbers = f"{bare:.1f} | {times[0]:.0f} | {apart:.1f} | {min(times):.1f} | {apart - bare:.1f} | {AIM_MS:g}"
            print(f"| {what} | {numbers} |")


if __name__ == "__main__":
    main()
