"""Look at built pages as a browser would: `python -m docs.check HTML`.

Every link within the pages leads somewhere, every picture is there, is one, and says what it shows, and nothing is loaded from
another place.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree as ET

LOADED: Final = {"script": "src", "img": "src", "iframe": "src", "source": "src", "object": "data", "video": "src"}
"""What a browser loads by itself, besides style sheets and icons."""
_PICTURES: Final = {".png": b"\x89PNG\r\n", ".jpg": b"\xff\xd8\xff", ".jpeg": b"\xff\xd8\xff", ".gif": b"GIF8"}


class Page(HTMLParser):
    """What one page links to, loads, and can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.nameless: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take down what matters of one element."""
        given: Mapping[str, str] = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and {"stylesheet", "icon", "preload"} & set(given.get("rel", "").split()):
            self.loads.append(given["href"])
        if given.get(LOADED.get(tag, "")):
            self.loads.append(given[LOADED[tag]])
        if tag == "img" and not given.get("alt", "").strip():
            self.nameless.append(given.get("src", ""))


def problems(root: Path) -> Iterator[str]:
    """What is wrong with the pages below `root`, a line for each."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(root.rglob("*.html"))}
    if not pages:
        yield f"{root} has no pages"
    for path, page in pages.items():
        where = path.relative_to(root)
        for target in page.links:
            yield from _link(where, path, target, pages)
        for target in page.loads:
            yield from _loaded(where, path, target)
        for source in page.nameless:
            yield f"{where}: the picture {source} does not say what it shows"
    for path in sorted(root.rglob("*.css")):
        for target in re.findall(
            r"(?:url\(|@import)\s*['\"]?((?:https?:)?//[^'\")]+)", path.read_text(encoding="utf-8")
        ):
            yield f"{path.relative_to(root)} loads {target}, which is not ours"


def _link(where: Path, path: Path, target: str, pages: Mapping[Path, Page]) -> Iterator[str]:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return
    file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not file.exists():
        yield f"{where} links to {target}, which is not there"
    elif parts.fragment and file in pages and unquote(parts.fragment) not in pages[file].anchors:
        yield f"{where} links to {target}, and there is no such place on that page"


def _loaded(where: Path, path: Path, target: str) -> Iterator[str]:
    parts = urlsplit(target)
    if parts.scheme == "data":
        return
    if parts.scheme or parts.netloc:
        yield f"{where} loads {target}, which is not ours"
        return
    file = (path.parent / unquote(parts.path)).resolve()
    if not file.is_file():
        yield f"{where} loads {target}, which is not there"
    elif problem := picture_problem(file):
        yield f"{where} shows {target}, which {problem}"


def picture_problem(file: Path) -> str:
    """What is wrong with a picture; nothing for a good one, and for files of other kinds."""
    content = file.read_bytes()
    if file.suffix in _PICTURES:
        return "" if content.startswith(_PICTURES[file.suffix]) else f"is no {file.suffix[1:]}"
    if file.suffix == ".svg":
        try:
            drawn = ET.fromstring(content)  # noqa: S314  our own pictures
        except ET.ParseError as error:
            return f"is no XML: {error}"
        targets = [value for one in drawn.iter() for name, value in one.attrib.items() if name.endswith("href")]
        outside = [target for target in targets if not target.startswith(("#", "data:"))]
        outside += re.findall(r"url\(['\"]?(https?:[^'\")]+)", content.decode())
        return f"loads {outside[0]}" if outside else ""
    return ""


def main(root: str) -> int:
    """Print what is wrong; the exit status."""
    found = list(problems(Path(root).resolve()))
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
