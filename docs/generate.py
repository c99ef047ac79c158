"""Write the parts of the reference that are taken from the code: `python -m docs.generate`.

A page is written by hand, except for its blocks: what stands between `<!-- generated: NAME -->` and `<!-- end -->` is
replaced. With `--check` nothing is written, and the exit status is 1 if a page does not say what the code says.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from docs.generator import api, architecture, commands, errors, events, hooks, llms, settings

ROOT: Final = Path(__file__).resolve().parents[1]
COMMAND: Final = "python -m docs.generate"
REFERENCE: Final = "docs/reference"

Blocks = Mapping[str, str]
PAGES: Final[Mapping[str, Callable[[], Blocks]]] = {
    "commands.md": commands.blocks,
    "errors.md": errors.blocks,
    "events.md": events.blocks,
    "hooks.md": hooks.blocks,
    "settings.md": settings.blocks,
}
"""What fills the blocks of each page; every public package has a page of its own besides, see `api`."""
_BLOCK: Final = re.compile(r"^<!-- generated: (?P<name>[^\n]+?) -->\n.*?^<!-- end -->$", re.MULTILINE | re.DOTALL)


class Stale(Exception):
    """Pages that do not say what the code says."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


def block(name: str, text: str) -> str:
    """A block as it stands in a page."""
    return f"<!-- generated: {name} -->\n\n{text.strip()}\n\n<!-- end -->"


def fill(page: str, blocks: Blocks) -> str:
    """The page with its blocks filled; one that has no place yet gets a heading, before the block that comes after it.

    Raises `KeyError` with the name of a block that the code has nothing for any more.

    >>> page = "# Hooks\\n\\n## `b`\\n\\n<!-- generated: b -->\\nold\\n<!-- end -->\\n\\nMore.\\n"
    >>> print(fill(page, {"a": "one", "b": "two"}).replace("\\n\\n", "\\n"), end="")
    # Hooks
    ## `a`
    <!-- generated: a -->
    one
    <!-- end -->
    ## `b`
    <!-- generated: b -->
    two
    <!-- end -->
    More.
    """
    following: str | None = None
    for name in reversed(list(blocks)):
        if f"<!-- generated: {name} -->" not in page:
            place = len(page) if following is None else _heading(page, following)
            level = "###" if name.count(" ") > 1 else "##"  # of commands below a command
            new = f"{level} `{name}`\n\n{block(name, blocks[name])}\n\n"
            page = f"{page[:place].rstrip()}\n\n{new}{page[place:]}".rstrip() + "\n"
        following = name
    return _BLOCK.sub(lambda found: block(found["name"], blocks[found["name"]]), page)


def _heading(page: str, name: str) -> int:
    """Where the section begins in which a block stands."""
    at = page.index(f"<!-- generated: {name} -->")
    return page.rfind("\n#", 0, at) + 1


def pages(root: Path = ROOT) -> dict[str, str]:
    """Every page that the code has a part in, by its path, as it should be. Raises `Stale` where a person has to act."""
    wanted: dict[str, str] = {}
    problems: list[str] = []
    for name, blocks in PAGES.items():
        path = f"{REFERENCE}/{name}"
        try:
            wanted[path] = fill((root / path).read_text(encoding="utf-8"), blocks())
        except KeyError as error:
            problems.append(f"{path}: nothing is called {error.args[0]!r} any more; take its block and its words out")
    if problems:
        raise Stale(problems)
    wanted |= {f"{REFERENCE}/api/{name}": text for name, text in api.pages().items()}
    wanted |= {f"docs/explanation/{name}": text for name, text in architecture.pictures().items()}
    wanted["llms.txt"] = llms.text(lambda page: wanted.get(page) or (root / page).read_text(encoding="utf-8"))
    return wanted


def check(root: Path = ROOT) -> None:
    """Raise `Stale` unless every page is as it should be, and no page is left of a package that is gone."""
    wanted = pages(root)
    problems = [
        f"{path} does not say what the code says; `{COMMAND}` writes it anew"
        for path, text in wanted.items()
        if not (root / path).is_file() or (root / path).read_text(encoding="utf-8") != text
    ]
    problems += [f"{path} is about nothing that there is; delete it" for path in _left_over(root, wanted)]
    if problems:
        raise Stale(problems)


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or check them; the exit status."""
    if any(argument != "--check" for argument in arguments):
        print(f"usage: {COMMAND} [--check]", file=sys.stderr)
        return 2
    try:
        if arguments:
            check()
        else:
            wanted = pages()
            for path in _left_over(ROOT, wanted):
                (ROOT / path).unlink()
                print(f"deleted {path}")
            for path, text in wanted.items():
                place = ROOT / path
                if not place.is_file() or place.read_text(encoding="utf-8") != text:
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_text(text, encoding="utf-8")
                    print(f"wrote {path}")
    except (Stale, ValueError) as problem:  # what a generator cannot do without, a docstring for example
        print(problem, file=sys.stderr)
        return 1
    return 0


def _left_over(root: Path, wanted: Mapping[str, str]) -> list[str]:
    found = [path.relative_to(root).as_posix() for path in sorted((root / REFERENCE / "api").glob("*.md"))]
    return [path for path in found if path not in wanted]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
