"""Images in the page that is a file: as data, of raster types alone, and no more than it can bear."""

from __future__ import annotations

import base64
from html.parser import HTMLParser
from pathlib import Path

import pytest
from plugins.ui.tests.conftest import text_of
from plugins.ui.tests.scene import tried

from wink.workspace import Workspace
from wink_ui import _static, static_page
from wink_ui._images import LARGEST

PNG, GIF = b"\x89PNG\r\n\x1a\n", b"GIF89a"
SECRET = b"sk-proj-Zq3vT9xLm2Rk8wYb"


class Images(HTMLParser):
    """The images of a page, by what they are called."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: dict[str, str] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        fields = dict(attrs)
        if tag == "img":
            self.found[fields["alt"] or ""] = fields["src"] or ""


def accepted(workspace: Workspace, **files: bytes) -> None:
    """A call that writes these files."""
    one = tried(workspace, "images", **dict.fromkeys(files, ""))
    for path, content in files.items():
        (Path(one.overlay.upper) / path).write_bytes(content)
    one.accept()


def data(kind: str, content: bytes) -> str:
    """The address of an image that is in it."""
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def test_both_sides_of_an_image_are_on_the_page(workspace: Workspace) -> None:
    """Each as it was; one that looks like another thing in the name is what it begins with."""
    accepted(workspace, **{"a.png": PNG + b"one", "b.jpg": GIF + b"<script>alert(1)</script>"})
    accepted(workspace, **{"a.png": PNG + b"two"})

    page, _, _ = static_page(workspace, "default")

    assert Images(page).found == {
        "a.png after": data("png", PNG + b"two"),
        "a.png before": data("png", PNG + b"one"),
        "b.jpg after": data("gif", GIF + b"<script>alert(1)</script>"),
    }
    assert page.count(data("png", PNG + b"one")) == 2  # made by one call, changed by the other
    assert "; img-src data:" in page
    assert "left out" not in text_of(page)


def test_what_is_no_raster_image_is_not(workspace: Workspace) -> None:
    """Text stays text, an SVG image too; what a secret was taken out of is no image any more."""
    svg = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"
    accepted(workspace, **{"a.svg": svg, "b.png": b"<b>no image</b>", "c.png": PNG + b"Comment " + SECRET + b" more"})

    page, _, _ = static_page(workspace, "default")

    assert Images(page).found == {}
    assert "onload='alert(1)'/>" in text_of(page)
    assert SECRET.decode() not in page
    assert base64.b64encode(SECRET[:18]).decode() not in page


@pytest.mark.parametrize("most", [50_000, 130_000])
def test_images_that_would_make_the_page_large_are_left_out_and_counted(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """One that is large by itself, and those for which there is no room any more."""
    monkeypatch.setattr(_static, "IMAGES", most)
    images = {f"{name}.png": PNG + name.encode() * 40_000 for name in "abcd"}
    accepted(workspace, **images, **{"large.png": PNG + b"x" * LARGEST})

    page, _, _ = static_page(workspace, "default")

    fit = most // 40_000
    assert len(Images(page).found) == fit
    assert "large.png after" not in Images(page).found
    assert text_of(page).count("bytes, left out") == 5 - fit
    assert f"{5 - fit} images left out: a page has images of {most >> 10} KiB at most." in text_of(page)
    assert len(page) < most * 1.4 + 100_000
