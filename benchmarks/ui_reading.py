"""How long a person waits who reads a long run on the page of `wink ui`, or on that of `wink export --html`, in a real Chromium.

    python -m benchmarks.ui_reading [--calls 8000] [--rounds 7] [--place DIRECTORY] [--pictures DIRECTORY]

A run of so many calls is recorded through the tools, with what a model says before each few of them, images that change, a file of
150 KB that is edited, and a try of 3,000 paths. `first paint` is what Chromium reports from the start of the navigation to
the first text on the screen; a filter is measured from the key to the answer on the screen. Beside each stands the processor's time that the
server itself took, which a busy machine does not change much. The exported page is a file without scripts, so it has no filter: there a
call of 51 files is opened, until the frame after the one with its diffs. Figures are medians and maxima, in milliseconds; the aim is 300.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from plugins.ui.tests.scene import OWN, Agent, tried

from benchmarks.ui_page import PAINTED
from wink.adapters import ModelTurn, RecordJournal
from wink.limits import TokenUsage
from wink.workspace import Workspace

AIM = 300.0
FILES = 50
OPENED = """() => new Promise((tell) => {
  const files = (call) => call.querySelectorAll("table.diff").length;
  const largest = [...document.querySelectorAll("article.call")].reduce((one, other) => (files(other) > files(one) ? other : one));
  const began = performance.now();
  largest.closest("details").open = true;
  largest.scrollIntoView();
  requestAnimationFrame(() => requestAnimationFrame(() => tell(performance.now() - began)));
})"""
PROSE = (
    "The parser drops the second digit of the cents, so `12.5` becomes 12.05. I look at where amounts are read first, then "
    "fix that one place, and run the tests of the module before I go on with what shows them.\n\n"
) * 2


def image(shade: int) -> bytes:
    """A PNG of one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + bytes((shade, 120, 255 - shade)) * 64) * 64
    head = struct.pack(">IIBBBBB", 64, 64, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def make(place: Path, calls: int) -> None:
    """A project in which a model has worked for so many calls."""
    (place / "src").mkdir(parents=True)
    for number in range(FILES):
        lines = "".join(f"def step_{line}(value: int) -> int:\n    return value + {line}\n\n\n" for line in range(30))
        (place / f"src/module{number:02}.py").write_text(lines)
    (place / "large.txt").write_text("".join(f"line {line:06} of a file that is long\n" for line in range(4200)))
    with (
        Workspace.open(place) as workspace,
        RecordJournal.begin(
            workspace, plan={"task": "Round amounts as accountants do", "model": "example-large"}
        ) as journal,
    ):
        agent = Agent(workspace, run=journal.context)
        journal.rendered(agent.rendered.prompt_name, agent.rendered.text, [tool.name for tool in agent.rendered.tools])
        agent.call("read_file", file_path="large.txt")
        made = turn = 1
        while made < calls:
            turn += 1
            model = "example-small" if turn % 3 else "example-large"
            used = TokenUsage(9_000 + turn, 240, 8_000)
            journal.turned(turn, ModelTurn(PROSE, usage=used, thinking="Which of them is read first?", model=model))
            for part in range(4):
                number = (made // 4) % FILES
                path = f"src/module{number:02}.py"
                if part < 3 or made > 40 * FILES:
                    agent.call("read_file", file_path=path, limit=20)
                else:
                    agent.call(
                        "edit_file",
                        file_path=path,
                        old_string="return value + 3\n",
                        new_string=f"return value - {made}\n",
                    )
                made += 1
            journal.replied(turn, (), "")
        files = {f"src/module{number:02}.py": "" for number in range(FILES)} | {"large.txt": ""}
        changed = {path: (place / path).read_text().replace("line 002000 of", "line 2000 of") for path in files}
        changed = {path: text.replace("value + 7\n", "value - 7\n") for path, text in changed.items()}
        assert agent.call(OWN, files=changed).success
        journal.turned(turn + 1, ModelTurn("Amounts are rounded as accountants do now.", usage=TokenUsage(9_000, 90)))
        journal.ended("")
        tried(workspace, "deps", **{f".venv/lib/{n // 100}/module{n}.py": f"VALUE = {n}\n" for n in range(3_000)},
              **{"src/module00.py": "def step() -> None: ...\n"})  # fmt: skip
        for step, name in enumerate(("icons", "pictures")):
            pictures = tried(workspace, name, **{"README.md": f"new {step}\n"})
            for path, shade in (("logo.png", 40), ("icon.png", 200)):
                (Path(pictures.overlay.upper) / path).write_bytes(image(shade + 50 * step))
            if name == "icons":
                pictures.accept()


@contextmanager
def served(place: Path) -> Generator[tuple[str, int]]:
    """The address of a page of its own, and its process."""
    command = [sys.executable, "-m", "wink", "ui", "--no-open", "--workspace", os.fspath(place)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip(), server.pid
        finally:
            server.send_signal(signal.SIGINT)


def exported(place: Path, to: Path) -> Path:
    """The page of the session as a file."""
    command = [
        sys.executable,
        "-m",
        "wink",
        "export",
        "--html",
        "--force",
        os.fspath(to),
        "--workspace",
        os.fspath(place),
    ]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return to


def spent(process: int) -> float:
    """Milliseconds of a processor that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def measure(
    url: str, process: int, file: Path, calls: int, rounds: int, pictures: Path | None
) -> dict[str, list[tuple[float, float]]]:
    """Milliseconds on the screen, and of the server's processor, of each round after the first."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    assert program is not None, "install Chromium: apt-get install chromium"
    found: dict[str, list[tuple[float, float]]] = {}
    base = url.partition("?")[0].rstrip("/")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"] if os.getuid() == 0 else [])
        context = browser.new_context(base_url=base, viewport={"width": 1360, "height": 860})
        page = context.new_page()
        page.goto(url)
        page.wait_for_url(f"{base}/")

        def timed(name: str, act: Callable[[], float]) -> None:
            for number in range(rounds + 1):
                before = spent(process)
                took = act()
                if number:
                    found.setdefault(name, []).append((took, spent(process) - before))

        def painted(path: str, shown: str) -> Callable[[], float]:
            def act() -> float:
                page.goto(path, wait_until="domcontentloaded")
                page.locator(shown).first.wait_for()
                return float(page.evaluate(PAINTED))

            return act

        def filtered(selector: str, given: str, shown: str) -> Callable[[], float]:
            def act() -> float:
                began = time.perf_counter()
                page.locator(selector).fill(given)
                page.locator(selector).press("Enter")
                page.locator(shown).first.wait_for()
                took = (time.perf_counter() - began) * 1000
                page.go_back()
                return took

            return act

        timed("calls: first paint", painted("/", "#calls li.row"))
        timed("a run: first paint", painted("/runs/1", ".turn .words"))
        timed("a run at a call in its middle: first paint", painted(f"/runs/1?call={calls // 2}", "[aria-current]"))
        timed("a call in its middle: first paint", painted(f"/calls/{calls // 2}", "#call-title"))
        timed(f"diff of {FILES} files: first paint", painted("/changes?run=r1", ".reading"))
        timed("the same side by side: first paint", painted("/changes?run=r1&view=side", ".diff.wide"))
        timed("a try of 3,000 paths: first paint", painted("/tries/deps", ".pick.group"))
        page.goto("/changes?run=r1")
        timed("a filter of the changes by path", filtered("#search", "module17", ".tree a"))
        timed("changes of a try of 3,000 paths: first paint", painted("/changes?try=deps", ".tree summary"))

        def anew(act: Callable[[], float]) -> Callable[[], float]:
            return lambda: (page.goto("about:blank"), act())[1]

        def opened() -> float:
            page.goto(file.as_uri())
            return float(page.evaluate(OPENED))

        timed("export: first paint", anew(painted(file.as_uri(), ".turn .words")))
        at = f"{file.as_uri()}#c{calls // 2}"
        timed("export at a call in its middle: first paint", anew(painted(at, f"#c{calls // 2} pre")))
        timed(f"export: a call of {FILES + 1} files opened", anew(opened))
        if pictures is not None:
            shots(page, pictures, calls)
        browser.close()
    return found


def shots(page: Any, pictures: Path, calls: int) -> None:
    """The pictures in the documentation."""
    for name, path in {
        "run": f"/runs/1?call={calls // 2}",
        "changes": "/changes?run=r1&view=side",
        "images": "/changes?try=pictures",
        "try": "/tries/deps",
    }.items():
        page.goto(path, wait_until="networkidle" if name == "images" else "load")
        page.screenshot(path=os.fspath(pictures / f"page-{name}-light.png"))


def main() -> None:
    """Make the workspace, measure, and say what is above the aim."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=8_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--place", type=Path, help="where to make the project, and leave it; one that is there is used")
    parser.add_argument("--pictures", type=Path, help="where to put pictures of the pages")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        place = (given.place or Path(temporary)) / "project"
        if not place.exists():
            place.mkdir(parents=True)
            make(place, given.calls)
        file = exported(place, Path(temporary) / "session.html")
        print(f"the exported page has {file.stat().st_size / 1e6:.1f} MB")
        with served(place) as (url, process):
            figures = measure(url, process, file, given.calls, given.rounds, given.pictures)
    print(f"{given.calls:,} calls, {given.rounds} rounds; milliseconds, and those of the server's processor")
    for name, found in figures.items():
        shown, own = ([one[at] for one in found] for at in (0, 1))
        median = statistics.median(shown)
        told = f"{name:46} {median:8.1f}  max {max(shown):8.1f}  server {statistics.median(own):7.1f}"
        print(f"{told}  {'' if median <= AIM else f'above {AIM:.0f}'}".rstrip())


if __name__ == "__main__":
    main()
