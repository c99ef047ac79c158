"""The page for whoever wants to change wink names what there is."""

from __future__ import annotations

import ast
import re
from graphlib import CycleError, TopologicalSorter

import grimp
from docs.size import ROOT, SOURCE, folders, kernel, modules, packages

PAGE = (ROOT / "docs/explanation/architecture.md").read_text(encoding="utf-8")
KERNEL = 32_550
"""Lines of code that the kernel may have; lower it when some go."""
MODULES = 25
LARGER = {
    "src/wink/record": 31,
}
"""Folders that have more modules than that, and how many; none may grow, and none may come to them."""


def defined(text: str) -> set[str]:
    """The classes and functions of a module, methods after their class's name."""
    found: set[str] = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef):
            found |= {
                f"{node.name}.{one.name}"
                for one in node.body
                if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
            }
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
    return found


def test_paths_on_the_page_are_there() -> None:
    """A reader opens them."""
    paths = set(re.findall(r"`((?:src|plugins|tests)/[\w/.-]*)`", PAGE))

    assert len(paths) > 20
    assert sorted(path for path in paths if not (ROOT / path).exists()) == []


def test_names_on_the_page_are_there() -> None:
    """A reader searches for them."""
    everything = {
        name
        for top in (SOURCE, ROOT / "plugins")
        for path in modules(top)
        for name in defined(path.read_text(encoding="utf-8"))
    }
    names = set(re.findall(r"`([A-Z]\w*[a-z]\w*(?:\.\w+)?)`", PAGE))

    assert len(names) > 20
    assert sorted(names - everything) == []


def test_names_are_where_the_page_says() -> None:
    """`X` in `path`, and `X` (`path`)."""
    said = re.findall(r"`([\w.]+)`(?: in |\n? *\()`((?:src|plugins)/[\w/]+\.py)`", PAGE)

    assert len(said) > 10
    assert [(name, path) for name, path in said if name not in defined((ROOT / path).read_text(encoding="utf-8"))] == []


def test_all_packages_are_on_the_map() -> None:
    """One that is missing cannot be found."""
    left_out = {
        "__init__",
        "__main__",
        "batch",
        "contrib",
        "history",
        "http",
        "mcp",
        "prompts",
        "sandbox",
        "tries",
        "ui",
    }
    assert [name for name in packages() if "/" not in name and name not in left_out and f"`{name}`" not in PAGE] == []


def circle(graph: grimp.ImportGraph) -> list[str]:
    """Modules each of which imports the one before it, and the first the last; none where there is no circle."""
    try:
        TopologicalSorter({name: graph.find_modules_directly_imported_by(name) for name in graph.modules}).prepare()
    except CycleError as found:
        return found.args[1]
    return []


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Whoever reads one of them has to read them all; an import in a function hides that, and does not undo it."""
    plugins = sorted(path.name for path in ROOT.glob("plugins/*/wink_*"))
    graph = grimp.build_graph("wink", *plugins, exclude_type_checking_imports=True, cache_dir=None)

    assert len(plugins) > 10
    assert circle(graph) == []


def test_a_circle_is_told_by_the_names_of_its_modules() -> None:
    """Nobody finds one among a thousand modules."""
    graph = grimp.ImportGraph()
    for importer, imported in ("ab", "bc", "cb", "cd"):
        graph.add_import(importer=importer, imported=imported)

    assert set(circle(graph)) == {"b", "c"}


def test_the_kernel_does_not_grow() -> None:
    """It only ever grew until there was a bound."""
    assert kernel(packages()) <= KERNEL


def test_folders_do_not_grow() -> None:
    """Somebody who opens one has to see what is in it."""
    assert {folder: number for folder, number in folders().items() if number > LARGER.get(folder, MODULES)} == {}
