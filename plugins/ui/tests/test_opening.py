"""How a browser gets to the page: by a file, since what stands in its command line is for every user to read."""

from __future__ import annotations

import html
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import httpx2
import pytest
from plugins.ui.tests.serving import WINK

PATIENCE = 60
BROWSER = """#!{python}
import os, sys
with open({seen!r} + ".part", "wb") as file:
    with open("/proc/self/cmdline", "rb") if os.path.exists("/proc/self/cmdline") else open(os.devnull, "rb") as own:
        file.write(b"\\0".join(map(os.fsencode, sys.argv)) + own.read())
os.rename({seen!r} + ".part", {seen!r})
"""


@dataclass
class Opened:
    """A page that was opened: its address, and what the browser was started with."""

    url: str
    command: str
    state: Path

    @property
    def token(self) -> str:
        """The token of the page."""
        return urlsplit(self.url).query.removeprefix("token=")

    @property
    def file(self) -> Path:
        """The file that the browser was given."""
        found = re.search(r"file://(\S+\.html)", self.command)
        assert found is not None, self.command
        return Path(unquote(found[1]))


@pytest.fixture
def opened(place: Path, tmp_path: Path) -> Iterator[Opened]:
    """A page, and a browser that only notes how it was started."""
    browser, seen, state = tmp_path / "browser", tmp_path / "seen", tmp_path / "a state"
    browser.write_text(BROWSER.format(python=sys.executable, seen=str(seen)))
    browser.chmod(0o700)
    environment = {**os.environ, "BROWSER": str(browser), "XDG_STATE_HOME": str(state)}
    command = [*WINK, "ui", "--workspace", str(place)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as page:
        assert page.stdout is not None
        try:
            url = page.stdout.readline().strip()
            for _ in range(PATIENCE * 10):
                if seen.exists():
                    break
                try:
                    page.wait(0.1)
                except subprocess.TimeoutExpired:
                    continue
            yield Opened(url, seen.read_text().replace("\0", " "), state)
        finally:
            page.send_signal(signal.SIGINT)
            _, said = page.communicate(timeout=PATIENCE)
        assert "Traceback" not in said, said
    assert [*state.rglob("*.html")] == []


def test_the_token_is_in_no_command_line(opened: Opened) -> None:
    """Neither the browser's nor that of what opens it."""
    assert len(opened.token) > 30
    assert opened.token not in opened.command


def test_the_file_is_its_owners_alone_and_leads_to_the_page(opened: Opened) -> None:
    """A real client follows it and is let in."""
    assert opened.file.is_relative_to(opened.state)
    assert stat.S_IMODE(opened.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(opened.file.parent.stat().st_mode) == 0o700
    page = opened.file.read_text()
    (refresh,) = re.findall(r'http-equiv="refresh" content="0;url=([^"]+)"', page)
    (link,) = re.findall(r'<a href="([^"]+)"', page)
    assert html.unescape(refresh) == html.unescape(link) == opened.url
    parts = urlsplit(opened.url)
    with httpx2.Client(base_url=f"{parts.scheme}://{parts.netloc}", timeout=PATIENCE) as client:
        assert client.get("/").status_code == 403
        from_a_file = {"sec-fetch-site": "cross-site", "sec-fetch-dest": "document", "sec-fetch-mode": "navigate"}
        assert client.get(html.unescape(link), headers=from_a_file).status_code == 200
        assert client.get("/").status_code == 200


def test_without_a_directory_for_the_file_the_address_is_still_told(place: Path, tmp_path: Path) -> None:
    """And the browser is not given it."""
    (tmp_path / "state").write_text("in the way")
    environment = {**os.environ, "BROWSER": "/bin/false", "XDG_STATE_HOME": str(tmp_path / "state")}
    command = [*WINK, "ui", "--workspace", str(place)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as page:
        assert page.stdout is not None
        assert page.stdout.readline().startswith("http://127.0.0.1:")
        assert page.stderr is not None
        said = [page.stderr.readline(), page.stderr.readline()]
        page.send_signal(signal.SIGINT)
        page.communicate(timeout=PATIENCE)
    assert said[1].startswith("wink: open the address yourself")
