"""Draw how the packages of wink import each other, from their imports."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

import grimp

ROOT: Final = Path(__file__).resolve().parents[2]
NAME: Final = "architecture.svg"
KERNEL: Final = "wink"
LEFT_OUT: Final = frozenset(
    ["__main__", "batch", "contrib", "mcp", "prompts", "sandbox", "tries", "ui"]
)  # which only repeat names of other packages

_WIDTH, _BOX, _HIGH, _ROW, _MARGIN = 1000, 124, 34, 66, 12

Edges = Mapping[str, frozenset[str]]


def pictures() -> dict[str, str]:
    """The picture by its file's name."""
    return {NAME: draw(reduced(imports()))}


def imports() -> Edges:
    """Which packages and modules of wink import which others, imports within functions included, those for types not."""
    graph = grimp.build_graph(KERNEL, exclude_type_checking_imports=True, cache_dir=None)
    found: dict[str, set[str]] = {child.partition(".")[2]: set() for child in sorted(graph.find_children(KERNEL))}
    for module in graph.modules - {KERNEL}:
        above = module.split(".")[1]
        found[above] |= {one.split(".")[1] for one in graph.find_modules_directly_imported_by(module) if one != KERNEL}
    return {name: frozenset(below - {name} - LEFT_OUT) for name, below in found.items() if name not in LEFT_OUT}


def reduced(edges: Edges) -> Edges:
    """The same without what follows from the rest: an arrow from a to c where there are ones from a to b and from b to c.

    >>> {name: sorted(below) for name, below in reduced({"a": {"b", "c"}, "b": {"c"}, "c": set()}).items()}
    {'a': ['b'], 'b': ['c'], 'c': []}
    """

    @cache
    def all_below(name: str) -> frozenset[str]:
        return frozenset(edges[name]).union(*map(all_below, edges[name]))

    return {name: frozenset(below) - frozenset().union(*map(all_below, below)) for name, below in edges.items()}


def rows(edges: Edges) -> list[list[str]]:
    """The packages by how many others lie in a line beneath them, the highest first.

    Within a row they are in the order of what imports them, so that few arrows cross.
    """

    @cache
    def height(name: str) -> int:
        return 1 + max((height(one) for one in edges[name]), default=-1)

    placed: dict[str, float] = {}
    found: list[list[str]] = []
    for level in range(max(map(height, edges)), -1, -1):
        row = [name for name in edges if height(name) == level]
        row.sort(key=lambda name: (_middle(placed[one] for one in placed if name in edges[one]), name))
        placed |= {name: (index + 1) / (len(row) + 1) for index, name in enumerate(row)}
        found.append(row)
    return found


def draw(edges: Edges) -> str:
    """The picture."""
    levels = rows(edges)
    places = {
        name: (_WIDTH * (column + 1) / (len(row) + 1) - _BOX / 2, _MARGIN + level * _ROW)
        for level, row in enumerate(levels)
        for column, name in enumerate(row)
    }
    lines = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_MARGIN + len(levels) * _ROW}" role="img" '
            'aria-label="How the packages of wink import each other: arrows go down" '
            'font-family="ui-monospace, monospace" font-size="14">'
        ),
        '<rect width="100%" height="100%" fill="#fff"/>',
        (
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            '<path d="M0 0 8 4 0 8z" fill="#8a94a6"/></marker></defs>'
        ),
        *(_arrow(places[name], places[below]) for name in edges for below in sorted(edges[name])),
        *(_box(name, *places[name]) for name in places),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    (x, y), (to_x, to_y) = start, end
    x, y, to_x = x + _BOX / 2, y + _HIGH, to_x + _BOX / 2
    bend = (to_y - y) / 2
    path = f"M{x:.0f} {y:.0f}C{x:.0f} {y + bend:.0f} {to_x:.0f} {to_y - bend:.0f} {to_x:.0f} {to_y:.0f}"
    return f'<path d="{path}" fill="none" stroke="#8a94a6" marker-end="url(#tip)"/>'


def _box(name: str, x: float, y: float) -> str:
    return (
        f'<g><title>{escape(_summary(name))}</title><rect x="{x:.0f}" y="{y:.0f}" width="{_BOX}" height="{_HIGH}" rx="5" '
        f'fill="#eef3fb" stroke="#3b5b92"/><text x="{x + _BOX / 2:.0f}" y="{y + 22:.0f}" text-anchor="middle" '
        f'fill="#1d2b44">{escape(name)}</text></g>'
    )


def _summary(name: str) -> str:
    return (inspect.getdoc(import_module(f"{KERNEL}.{name}")) or "").partition("\n")[0]


def _middle(numbers: Iterable[float]) -> float:
    found = list(numbers)
    return sum(found) / len(found) if found else 0.5
