"""Fill the templates of a package: which files it has, and what is in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import resources
from string import Template
from typing import Final

from wink.cli.scaffold._kinds import KINDS, OfferKind

SUFFIX: Final = ".tmpl"
"""Ends every template's name, so that no tool takes one for the program that it becomes."""

_WIDTH: Final = 100
"""Characters in a line of what is written."""


@dataclass(frozen=True, slots=True)
class Package:
    """A package to be written: the plugin's name, and the kinds of offers that it makes, in their order.

    Without a kind it is the smallest there can be: two functions that are tools, in one module.

    >>> package = Package("git-tools", ("section",), wink="0.1.0")
    >>> package.distribution, package.module, package.prefix, package.requirement
    ('wink-git-tools', 'wink_git_tools', 'git_tools', 'wink>=0.1,<1')
    """

    plugin: str
    kinds: tuple[str, ...]
    wink: str

    @property
    def distribution(self) -> str:
        """The name under which it is installed, and of its directory."""
        return f"wink-{self.plugin}"

    @property
    def module(self) -> str:
        """The name under which it is imported."""
        return self.distribution.replace("-", "_")

    @property
    def prefix(self) -> str:
        """What its tools' names begin with, so that two sections can share a prompt."""
        return self.plugin.replace("-", "_")

    @property
    def requirement(self) -> str:
        """The versions of wink that it works with: from this one up to the next that may break it."""
        major, minor = self.wink.split(".")[:2]
        return f"wink>={major}.{minor},<{int(major) + 1}"

    def offer_name(self, kind: OfferKind) -> str:
        """The name of an offer, empty for hooks, which have none."""
        return f"{self.plugin}.{kind.short.replace('PLUGIN', self.plugin)}" if kind.short else ""

    @property
    def offers(self) -> tuple[tuple[str, OfferKind], ...]:
        """The kinds with what they bring."""
        return tuple((name, KINDS[name]) for name in KINDS if name in self.kinds)


def files_of(package: Package) -> dict[str, str]:
    """Every file of the package: its path below the package's directory, and its text, in the order of the report."""
    values = _values(package)
    if not package.kinds:
        return dict(sorted(_templates("smallest", values)))
    folders = ["project", *(name for name, _ in package.offers)]
    found = {path: text for folder in folders for path, text in _templates(folder, values)}
    source, tests = f"src/{package.module}/", "tests/"
    found[f"{source}__init__.py"] = _init(package)
    found[f"{source}py.typed"] = ""
    return {path: found[path] for path in sorted(found, key=lambda path: _turn(path, source, tests))}


def _turn(path: str, *folders: str) -> tuple[object, ...]:
    """What people open first comes first; then the sources, then the tests."""
    first = ("pyproject.toml", "README.md", "CHANGELOG.md", "noxfile.py")
    if path in first:
        return (0, first.index(path))
    place = next((number for number, folder in enumerate(folders, 1) if path.startswith(folder)), 0)
    name = path.rpartition("/")[2]
    return (place, len(first), name == "py.typed", name not in ("__init__.py", "conftest.py"), name)


def _values(package: Package) -> dict[str, str]:
    parts = {name: dict(_templates(f"parts/{name}", {})) for name, _ in package.offers}
    values = {
        "plugin": package.plugin,
        "distribution": package.distribution,
        "package": package.module,
        "prefix": package.prefix,
        "requirement": package.requirement,
        "testing": package.requirement.replace("wink", "wink[testing]", 1),
        "summary": _and([kind.summary for _, kind in package.offers] or ["two tools"]),
        "hooks_target": f"{package.module}.hooks" if "hooks" in package.kinds else "",
    }
    values["entry_points"] = "\n\n".join(_entry_point(package, kind) for _, kind in package.offers)
    values["offers"] = "\n\n".join(
        Template(parts[name]["README.md"].strip()).substitute(values) for name, _ in package.offers
    )
    values["added"] = "\n".join(
        f"* {kind.summary[:1].upper()}{kind.summary[1:]}{_named(package, kind)}." for _, kind in package.offers
    )
    values["expected"] = _expected(package)
    return values


def _templates(folder: str, values: dict[str, str]) -> Iterator[tuple[str, str]]:
    """The templates below a folder, with their paths; filled in, where there are values."""
    top = resources.files("wink.cli.scaffold") / "templates"
    for step in folder.split("/"):
        top = top / step
    pending = [("", top)]
    while pending:
        above, directory = pending.pop()
        for entry in directory.iterdir():
            path = f"{above}{entry.name}"
            if entry.is_dir():
                pending.append((f"{path}/", entry))
            elif path.endswith(SUFFIX):
                path, text = path.removesuffix(SUFFIX), entry.read_text(encoding="utf-8")
                path = path.replace("PACKAGE", values.get("package", "")).replace("DOT", ".")
                yield path, Template(text).substitute(values) if values else text


def _init(package: Package) -> str:
    public = sorted(name for _, kind in package.offers for name in kind.public)
    lines = [f'"""What the plugin `{package.plugin}` brings to wink."""']
    imports = sorted((kind.module, kind.public) for _, kind in package.offers if kind.public)
    if imports:
        lines += ["", *(f"from {package.module}.{module} import {', '.join(names)}" for module, names in imports)]
        lines += ["", "__all__ = [", *(f'    "{name}",' for name in public), "]"]
    return "\n".join(lines) + "\n"


def _entry_point(package: Package, kind: OfferKind) -> str:
    name = f'"{package.offer_name(kind)}"' if kind.short else package.plugin
    return f'[project.entry-points."{kind.group}"]\n{name} = "{package.module}{kind.target}"'


def _expected(package: Package) -> str:
    """The list of offers, written as ruff would."""
    offers = sorted((name, package.offer_name(kind)) for name, kind in package.offers if kind.short)
    if not offers:
        return "[]"
    return "\n".join(["[", *(_row(kind, name) for kind, name in offers), "    ]"])


def _row(kind: str, name: str) -> str:
    row = f'        ("{kind}", "{name}"),'
    return row if len(row) <= _WIDTH else f'        (\n            "{kind}",\n            "{name}",\n        ),'


def _named(package: Package, kind: OfferKind) -> str:
    return f", `{package.offer_name(kind)}`" if kind.short else ""


def _and(words: Iterable[str]) -> str:
    """Words as a person would list them.

    >>> _and(["a", "b", "c"])
    'a, b and c'
    """
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
