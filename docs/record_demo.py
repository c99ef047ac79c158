"""Record `docs/demo.svg`: run `wink demo` with its own project and script, and draw what it shows in brief.

    python docs/record_demo.py

Times and the temporary path are left out, so that the picture changes only when the demo does.
"""

from __future__ import annotations

import io
import re
import tempfile
from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console

from wink.cli.work._demo import play, shipped_script
from wink.cli.work._progress import LiveProgress
from wink.cli.work._repository import copy_project
from wink.cli.work._story import Began, Differs, Suggested
from wink.cli.work._view import Limits

PICTURE = Path(__file__).with_name("demo.svg")
COLUMNS = 90
FONT = "Consolas, Menlo, 'DejaVu Sans Mono', monospace"


class Recording(LiveProgress):
    """Shows what fits into a picture: each reply's first line, some lines of each diff, no final diff."""

    def __init__(self, console: Console) -> None:
        super().__init__(console, moving=False, limits=Limits(reply=1, diff=9, times=False))

    def event(self, event: object) -> None:
        """Draw an event, without what differs from run to run."""
        if isinstance(event, Began):
            event = replace(event, directory="~/invoice")
        if not isinstance(event, (Differs, Suggested)):
            super().event(event)


def record() -> str:
    """Run the demo; the picture as SVG."""
    console = Console(
        record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor", highlight=False
    )
    console.print("[green]$[/] [bold]wink demo[/]")
    with tempfile.TemporaryDirectory() as name, as_file(files("wink.cli") / "demo" / "project") as project:
        copy_project(project, Path(name))
        if play(shipped_script(), Path(name), Recording(console)):
            raise SystemExit("the demo did not end well; nothing was recorded")
    # The picture brings no font along and fetches none: it has to look the same wherever a README is shown.
    look = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL).replace(
        "Fira Code, monospace", FONT
    )
    return console.export_svg(title="wink demo", code_format=look, unique_id="wink-demo")


if __name__ == "__main__":
    PICTURE.write_text(record(), encoding="utf-8")
