"""What a call of an isolated function costs beside the same function in this process: `python -m benchmarks.isolated`."""

from __future__ import annotations

import importlib
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
ROUNDS = 15
SOURCE = '''
{imports}
from wink import tool

@tool(isolated={isolated})
def append(text: str) -> int:
    """Append."""
    with open("{place}/a.txt", "a") as file:
        return file.write(text)
'''


def milliseconds(place: Path, site: Path, name: str, imports: str, *, isolated: bool) -> float:
    """The median of a few calls."""
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
    return statistics.median(times)


def main() -> None:
    """Print one line for each of what the function's module imports."""
    with tempfile.TemporaryDirectory() as directory:
        place, site = Path(directory, "place"), Path(directory, "site")
        place.mkdir()
        site.mkdir()
        sys.path.insert(0, str(site))
        print("| the module imports | in this process, ms | isolated, ms | over it, ms | aim, ms |")
        print("|---|---|---|---|---|")
        for what, imports in (("wink", ""), ("pandas too", "import pandas")):
            tag = what.split()[0]
            bare = milliseconds(place, site, f"bench_bare_{tag}", imports, isolated=False)
            apart = milliseconds(place, site, f"bench_apart_{tag}", imports, isolated=True)
            print(f"| {what} | {bare:.1f} | {apart:.0f} | {apart - bare:.0f} | {AIM_MS:g} |")


if __name__ == "__main__":
    main()
