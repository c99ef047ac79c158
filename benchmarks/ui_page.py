"""What a person waits for in the page of `wink ui`, over ten thousand calls and a hundred thousand files, in one run.

    python -m benchmarks.ui_page [--calls 10000] [--files 100000] [--rounds 15] [--place DIRECTORY]

A real `wink ui` serves a real workspace: every call has written a file, and the record and the staged pre-images are those
that `write_file` leaves. `first paint` is what Chromium itself reports, in a browser that has not seen the page before,
from the start of the navigation to the first text on the screen; beside it stands what a page of one sentence takes on
this machine at this moment, which is what the browser itself costs. The others are whole requests over HTTP, rendering
included: a filter that fits nothing has looked at every call, the diff is that of a call in the middle, and an undo is
its preview and its confirmation, each for itself. Figures are medians and maxima, in milliseconds; the aim is 200.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
from plugins.ui.tests.scene import Agent

from wink.workspace import Workspace

AIM = 200.0
PAINTED = """() => new Promise((tell) => new PerformanceObserver((list) => {
  const found = list.getEntriesByName("first-contentful-paint")[0];
  if (found) tell(found.startTime);
}).observe({ type: "paint", buffered: true }))"""
PER_DIRECTORY = 100


def make(place: Path, calls: int, files: int) -> None:
    """A project of many files, of which an agent has written some, each a few times."""
    for number in range(files // PER_DIRECTORY):
        directory = place / f"src/part{number:04}"
        directory.mkdir(parents=True)
        for name in range(PER_DIRECTORY):
            (directory / f"module{name:02}.py").write_text(f"VALUE = {name}\n")
    with Workspace.open(place) as workspace:
        agent = Agent(workspace)
        agent.call("planning_setup_plan", objective="Number all parts", initial_steps=["one", "two", "three"])
        for number in range(calls - 1):
            path = f"out/{number % 2500 // 50}/{number % 2500}.py"
            lines = "".join(
                f"def function_{line}(value: int) -> int:\n    return value + {number + line}\n" for line in range(12)
            )
            if number % 5 == 4:
                agent.call("read_file", file_path=path)
            else:
                agent.call("read_file", file_path=path) if number >= 2500 and number % 5 == 0 else None
                agent.call("write_file", file_path=path, content=lines)
            if workspace.record.queries.last_place().call >= calls:
                break


@contextmanager
def served(place: Path) -> Iterator[str]:
    """The address of a page of its own."""
    command = [sys.executable, "-m", "wink", "ui", "--no-open", "--workspace", os.fspath(place)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.send_signal(signal.SIGINT)


def first_paints(url: str, rounds: int) -> dict[str, list[float]]:
    """What Chromium reports, each time in a new profile that only has the cookie; and for a page of one sentence."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    assert program is not None, "install Chromium: apt-get install chromium"
    arguments = ["--no-sandbox"] if os.getuid() == 0 else []
    found: dict[str, list[float]] = {"": [], "nothing": []}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        base = url.partition("?")[0]
        for _ in range(rounds + 1):
            with browser.new_context() as first:
                page = first.new_page()
                page.goto(url)
                page.wait_for_url(base)
                cookies = first.cookies()
            for path, painted in found.items():
                with browser.new_context() as context:
                    context.add_cookies(cookies)  # type: ignore[arg-type]  # as the browser itself gave them
                    page = context.new_page()
                    page.goto(base + path)
                    page.wait_for_load_state("domcontentloaded")
                    assert page.locator("#calls li.row").count() == (0 if path else 50)
                    painted.append(page.evaluate(PAINTED))
        browser.close()
    return {"first paint": found[""][1:], "first paint of one sentence": found["nothing"][1:]}


def timed(rounds: int, ask: Callable[[int], None]) -> list[float]:
    """Milliseconds of each round after the first."""
    found: list[float] = []
    for number in range(rounds + 1):
        began = time.perf_counter()
        ask(number)
        found.append((time.perf_counter() - began) * 1000)
    return found[1:]


def requests(url: str, calls: int, rounds: int) -> dict[str, list[float]]:
    """The other figures, over one connection as a browser keeps it."""
    parts = urlsplit(url)
    base = f"http://{parts.netloc}"
    own = {"origin": base, "sec-fetch-site": "same-origin"}
    part = {"hx-request": "true"}
    previews: list[float] = []
    with httpx2.Client(base_url=base, timeout=60) as client:
        assert client.get(f"/?{parts.query}").status_code == 200

        def get(path: str, *expected: str) -> str:
            answer = client.get(path, headers=part)
            assert answer.status_code == 200, answer.text
            assert all(text in answer.text for text in expected), answer.text[:2000]
            return answer.text

        def undo(number: int) -> None:
            del number
            began = time.perf_counter()
            shown = client.get("/do/undo?n=1").text
            previews.append((time.perf_counter() - began) * 1000)
            seal = re.search(r'name="seal" value="(\w+)"', shown)
            assert seal is not None, shown
            began = time.perf_counter()
            done = client.post("/do/undo", data={"n": "1", "seal": seal[1]}, headers=own)
            assert done.status_code == 303, done.text
            confirms.append((time.perf_counter() - began) * 1000)

        confirms: list[float] = []
        figures = {
            "list of calls": timed(rounds, lambda number: (get("/", 'id="r'), None)[1]),
            "filter by text, none fits": timed(
                rounds, lambda number: (get(f"/?text=nothing-{number}", "No call"), None)[1]
            ),
            "filter by text, many fit": timed(
                rounds, lambda number: (get(f"/?text=function_{number % 10}", 'id="r'), None)[1]
            ),
            "filter by path and outcome": timed(
                rounds, lambda number: (get("/?path=out/7/*&outcome=ok", 'id="r'), None)[1]
            ),
            "oldest page": timed(rounds, lambda number: (get("/?before=60", 'id="r'), None)[1]),
            "diff of a call": timed(
                rounds, lambda number: (get(f"/calls/{calls // 2 + number}", "call-title"), None)[1]
            ),
            "diff of an early call": timed(
                rounds, lambda number: (get(f"/calls/{10 + number}", "call-title"), None)[1]
            ),
        }
        timed(rounds, undo)
        figures["undo: preview"], figures["undo: confirm"] = previews[1:], confirms[1:]
        figures["undo of an early call: preview"] = timed(
            rounds, lambda number: (client.get(f"/do/undo?call={11 + number}"), None)[1]
        )
    return figures


def main() -> None:
    """Make the workspace, measure, and say what is above the aim."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--place", type=Path, help="where to make the project, and leave it; one that is there is used")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        place = (given.place or Path(temporary)) / "project"
        if not place.exists():
            place.mkdir(parents=True)
            make(place, given.calls, given.files)
        with served(place) as url:
            figures = {**first_paints(url, given.rounds), **requests(url, given.calls, given.rounds)}
    print(f"{given.calls:,} calls, {given.files:,} files, {given.rounds} rounds; milliseconds")
    for name, found in figures.items():
        median = statistics.median(found)
        print(f"{name:34} {median:8.1f}  max {max(found):8.1f}  {'' if median <= AIM else f'above {AIM:.0f}'}".rstrip())


if __name__ == "__main__":
    main()
