"""Versions as a package's releases are, drawn from a seed: for where no index can be asked."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

from .trees import Entry, Tree, beneath, with_parents

_WORDS: Final = [
    "path",
    "file",
    "mode",
    "call",
    "tree",
    "link",
    "undo",
    "name",
    "part",
    "text",
    "read",
    "note",
    "step",
    "kind",
    "line",
]


def generated(seed: int, count: int) -> Iterator[Tree]:
    """`count` versions: files come, change in few places or in all, move, and go; once the package is renamed."""
    drawn = random.Random(seed)
    tree: Tree = {}
    for path in ("README.md", "setup.cfg", "docs/index.rst", "docs/conf.py", "tests/test_all.py", "docs/größe.txt"):
        tree[path] = _file(_text(drawn, 60))
    for number in range(14):
        tree[f"pack/{_WORDS[number]}.py"] = _file(_text(drawn, drawn.randint(1, 300)))
    tree["pack/__init__.py"], tree["pack/py.typed"] = _file(_text(drawn, 9)), _file("")
    tree["docs/crlf.txt"] = _file(_text(drawn, 30).replace("\n", "\r\n"))
    yield with_parents(tree)
    for version in range(1, count):
        files = sorted(path for path, entry in tree.items() if entry.kind == "file")
        for path in drawn.sample(files, len(files) // 2):
            lines = tree[path].content.decode().splitlines(keepends=True)
            for _ in range(drawn.choice((1, 1, 2, 3, 40))):
                at = drawn.randint(0, len(lines))
                lines[at : at + drawn.randint(0, 3)] = [_line(drawn) for _ in range(drawn.randint(0, 3))]
            tree[path] = _file("".join(lines))
        for path in drawn.sample(files, 2):
            target = f"{drawn.choice(('docs', 'tests/data', 'pack/inner'))}/{version}-{path.rpartition('/')[2]}"
            tree[target] = tree.pop(path)
        for path in drawn.sample(sorted(tree), 2):
            del tree[path]
        for _ in range(4):
            tree[f"{drawn.choice(('pack', 'tests', 'docs/more'))}/{version}_{drawn.choice(_WORDS)}.py"] = _file(
                _text(drawn, drawn.randint(1, 120))
            )
        if version == count // 2:
            for path in beneath(tree, "pack"):
                tree[f"src/{path}"] = tree.pop(path)
        yield with_parents(tree)


def _file(text: str) -> Entry:
    return Entry("file", 0o644, text.encode())


def _text(drawn: random.Random, lines: int) -> str:
    return "".join(_line(drawn) for _ in range(lines))


def _line(drawn: random.Random) -> str:
    return " ".join(drawn.choices(_WORDS, k=drawn.randint(0, 9))) + "\n"
