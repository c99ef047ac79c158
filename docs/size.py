"""Count the lines of code: `python -m docs.size`.

A line of code is one that has a token of Python on it which is no comment and no docstring.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
SOURCE: Final = ROOT / "src/wink"
AROUND: Final = frozenset(["cli", "testing"])
"""What of `src/wink` stands around the kernel."""

_NO_CODE: Final = frozenset(
    [tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER]
)


def lines(text: str) -> int:
    """How many lines of code a module has.

    >>> lines('"A docstring."\\n\\n# A comment.\\nx = (\\n    1\\n)\\n')
    3
    """
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            found.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            found.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(found)


def modules(top: Path = SOURCE) -> list[Path]:
    """The modules of a tree, without the project that the demo copies and without tests."""
    return [
        path
        for path in sorted(top.rglob("*.py"))
        if "/demo/project/" not in path.as_posix() and "tests" not in path.parts
    ]


@cache
def packages() -> Counter[str]:
    """Lines of code by package: those of `wink` by their name, first-party plugins by theirs."""
    found: Counter[str] = Counter()
    for path in modules():
        found[path.relative_to(SOURCE).parts[0].removesuffix(".py")] += lines(path.read_text(encoding="utf-8"))
    for top in sorted((ROOT / "plugins").iterdir()):
        for path in modules(top):
            found[f"plugins/{top.name}"] += lines(path.read_text(encoding="utf-8"))
    return found


def kernel(counted: Counter[str]) -> int:
    """Lines of code of `src/wink` without what stands around the kernel."""
    return sum(number for name, number in counted.items() if "/" not in name and name not in AROUND)


def folders() -> Counter[str]:
    """How many modules each folder has, those in folders below it not counted."""
    tops = [SOURCE, *(path for path in sorted((ROOT / "plugins").iterdir()) if path.is_dir())]
    return Counter(path.parent.relative_to(ROOT).as_posix() for top in tops for path in modules(top))


def main() -> None:
    """Print what there is, the largest first."""
    counted = packages()
    for name, number in counted.most_common():
        print(f"{number:7,}  {name}")
    print(f"{kernel(counted):7,}  the kernel: src/wink without {' and '.join(sorted(AROUND))}")
    print(f"{counted.total():7,}  in all")
    (folder, number), *_ = folders().most_common()
    print(f"{number:7,}  modules in the largest folder, {folder}")


if __name__ == "__main__":
    main()
