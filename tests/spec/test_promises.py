"""Walk `promises.toml`: every name is where it must be, takes what it must take, is documented, and is held by tests."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TABLE = tomllib.loads((HERE / "promises.toml").read_text(encoding="utf-8"))
NAMES: list[dict[str, Any]] = TABLE["name"]
PLACES = [(row["name"], package) for row in NAMES for package in row.get("packages", ())]
HOME = {row["name"]: row["packages"][0] for row in NAMES if "packages" in row}
FILES = [
    path
    for pattern in ("tests/**/*.py", "plugins/*/tests/*.py")
    for path in ROOT.glob(pattern)
    if path.name not in ("test_promises.py", "test_names_imports.py")
]


def rows(key: str) -> Any:
    return pytest.mark.parametrize("row", [row for row in NAMES if key in row], ids=lambda row: row["name"])


def found(name: str) -> Any:
    """What a row is about."""
    head, *rest = name.split(".")
    value = getattr(import_module(HOME[head]), head)
    for part in rest:
        value = getattr(value, part)
    return value


def own_doc(value: Any) -> str:
    """The docstring, unless a dataclass made it of its fields or an exception inherits it."""
    text = (vars(value).get("__doc__") if isinstance(value, type) else getattr(value, "__doc__", None)) or ""
    name = getattr(value, "__name__", "")
    return "" if text.startswith(f"{name}(") or text == "An enumeration." else text


# -- names


def test_names_are_listed_once() -> None:
    """A second row would hide what the first one says."""
    names = [row["name"] for row in NAMES]
    assert sorted(names) == sorted(set(names))
    assert len(names) > 200
    for row in NAMES:
        assert ("packages" in row) is ("." not in row["name"]), row


@pytest.mark.parametrize(("name", "package"), PLACES)
def test_a_name_can_be_imported(name: str, package: str) -> None:
    """From each package that is promised, it is the same thing."""
    assert getattr(import_module(package), name) is found(name)


@pytest.mark.parametrize(("name", "package"), PLACES)
def test_a_name_is_public(name: str, package: str) -> None:
    """It is listed, so that editors, checkers and the reference know of it."""
    if name == "ReadBeforeWritePolicy" and package != "wink_read_before_write":
        return  # a plugin brings it, which may not be installed
    if package == "wink.session" and name in {
        "PromptExecuted",
        "PromptRendered",
        "RenderedTools",
        "TokenUsage",
        "ToolInvoked",
    }:
        assert name in dir(import_module(package)) or name in import_module(package).__all__
        return
    assert name in import_module(package).__all__


@pytest.mark.parametrize("row", [row for row in NAMES if not row.get("alias")], ids=lambda row: row["name"])
def test_a_name_is_documented(row: dict[str, Any]) -> None:
    """A sentence of its own, which a user understands."""
    doc = own_doc(found(row["name"]))
    assert len(doc.split()) >= 3, f"{row['name']} has no docstring of its own"
    assert doc.strip().splitlines()[0].rstrip().endswith((".", ":", "?", "`")) or "\n" in doc


@rows("members")
def test_a_class_has_its_members(row: dict[str, Any]) -> None:
    """Fields, properties and constants; properties say what they are."""
    cls = found(row["name"])
    fields = {name for base in cls.__mro__ for name in getattr(base, "__annotations__", ())}
    slots = {name for base in cls.__mro__ for name in getattr(base, "__slots__", ())}
    given = _set_in_init(cls)
    for member in row["members"]:
        assert hasattr(cls, member) or member in fields | slots | given, f"{row['name']} has no {member}"
        value = inspect.getattr_static(cls, member, None)
        if isinstance(value, property) and not getattr(cls, "_is_protocol", False):
            assert own_doc(value), f"{row['name']}.{member} has no docstring"


def _set_in_init(cls: type) -> set[str]:
    """What the classes' own `__init__` gives to `self`."""
    names: set[str] = set()
    for base in cls.__mro__[:-1]:
        try:
            source = inspect.getsource(base)
        except (OSError, TypeError):
            continue
        names |= set(re.findall(r"self\.(\w+)(?::[^=\n]+)? = ", source))
    return names


# -- arguments


def _parameters(taking: Any) -> Iterator[inspect.Parameter]:
    """What something takes, with the single options of `**options: Unpack[...]`; their defaults are those of a base."""
    for parameter in inspect.signature(taking).parameters.values():
        named = re.search(r"(\w+Options)\b", str(parameter.annotation))
        if named is None or parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            yield parameter
            continue
        bases = taking.__mro__[1:] if inspect.isclass(taking) else ()
        known = {name: one for base in reversed(bases) for name, one in inspect.signature(base).parameters.items()}
        function = taking.__init__ if inspect.isclass(taking) else taking
        for name in function.__globals__[named[1]].__annotations__:
            default = known[name].default if name in known else ...
            yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)


@rows("signature")
def test_a_name_takes_its_arguments(row: dict[str, Any]) -> None:
    """By the names, in the order and with the defaults that programs rely on; more may be taken."""
    real = [parameter for parameter in _parameters(found(row["name"])) if parameter.name not in ("self", "_view")]
    by_name = {parameter.name: parameter for parameter in real}
    positional = [
        parameter.name
        for parameter in real
        if parameter.kind in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)
    ]
    wanted = _signature(row["signature"])
    order = [name for name, kind, _ in wanted if kind == "positional"]
    takes_any = any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in real)
    assert takes_any or positional[: len(order)] == order, f"{row['name']}{inspect.signature(found(row['name']))}"
    for name, kind, default in wanted:
        if kind == "any":
            assert by_name[name].kind is inspect.Parameter.VAR_POSITIONAL
            continue
        assert name in by_name, f"{row['name']} does not take {name}"
        if default is not _NO_DEFAULT:
            assert by_name[name].default is not inspect.Parameter.empty, f"{row['name']}: {name} has no default"
        if default not in (_NO_DEFAULT, ...) and by_name[name].default is not ...:
            assert by_name[name].default == default, f"{row['name']}: {name} is {by_name[name].default!r}"


@rows("signature")
def test_nothing_else_must_be_given(row: dict[str, Any]) -> None:
    """A program that gives what is promised gives enough."""
    wanted = {name for name, _, _ in _signature(row["signature"])}
    for parameter in inspect.signature(found(row["name"])).parameters.values():
        optional = parameter.default is not inspect.Parameter.empty or parameter.kind in (
            inspect.Parameter.VAR_KEYWORD,
            inspect.Parameter.VAR_POSITIONAL,
        )
        assert optional or parameter.name in {*wanted, "self"}, f"{row['name']} must be given {parameter.name}"


_NO_DEFAULT = object()


@cache
def _signature(text: str) -> tuple[tuple[str, str, Any], ...]:
    """Name, kind (`positional`, `keyword`, `any`) and default of each argument that is promised."""
    arguments = ast.parse(f"def f{text}: ...").body[0].args  # type: ignore[attr-defined]
    defaults: list[Any] = [_NO_DEFAULT] * (len(arguments.args) - len(arguments.defaults)) + [
        ast.literal_eval(default) for default in arguments.defaults
    ]
    found = [(one.arg, "positional", default) for one, default in zip(arguments.args, defaults, strict=True)]
    if arguments.vararg is not None:
        found.append((arguments.vararg.arg, "any", _NO_DEFAULT))
    for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found.append((one.arg, "keyword", _NO_DEFAULT if default is None else ast.literal_eval(default)))
    return tuple(found)


# -- tools of the plugins


@pytest.mark.parametrize("row", TABLE["tools"], ids=lambda row: row["section"])
def test_a_section_brings_its_tools(row: dict[str, Any]) -> None:
    """With the names that models call them by, and the arguments that they give."""
    module, name = row["section"].split(":")
    section = getattr(import_module(module), name)(**row.get("options", {}))
    tools = {tool.name: tool for tool in section.tools()}
    for tool, arguments in row["tools"].items():
        assert tool in tools
        properties = tools[tool].schema().get("properties", {})
        assert set(arguments) <= set(properties), f"{tool} takes {sorted(properties)}"


# -- tests


@cache
def words() -> dict[str, set[Path]]:
    """The identifiers of all tests, and the files that they are in."""
    index: dict[str, set[Path]] = {}
    for path in FILES:
        for word in set(re.findall(r"\w+", path.read_text(encoding="utf-8", errors="replace"))):
            index.setdefault(word, set()).add(path)
    return index


@pytest.mark.parametrize("row", NAMES, ids=lambda row: row["name"])
def test_a_name_is_tested(row: dict[str, Any]) -> None:
    """Some test uses it; a method, in a file that speaks of its class or makes one."""
    head, *rest = row["name"].split(".")
    if rest and rest[-1].startswith("__"):
        rest = []
    for word in rest or [head]:
        assert words().get(word), f"no test names {row['name']}"


@cache
def functions_in(path: Path) -> set[str]:
    """The test functions of a file that are run."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {
        node.name
        for node in functions
        if node.name.startswith("test_")
        and not any(re.search(r"\b(skip|xfail)\b", ast.unparse(mark)) for mark in node.decorator_list)
    }


@pytest.mark.parametrize("row", TABLE["behaviour"], ids=lambda row: f"{row['area']}: {row['says'][:50]}")
def test_a_statement_is_held_by_tests(row: dict[str, Any]) -> None:
    """Each of them is there, is documented, and is not skipped."""
    assert row["says"]
    assert row["tests"]
    for reference in row["tests"]:
        file, name = reference.split("::")
        path = ROOT / file if file.startswith("plugins/") else ROOT / "tests" / file
        assert path.is_file(), f"there is no {file}"
        assert name in functions_in(path), f"{file} has no test {name}, or it is skipped"


def test_each_area_has_statements() -> None:
    """So that none is forgotten when the table is edited."""
    areas = {row["area"] for row in TABLE["behaviour"]}
    assert areas == {
        "serde", "tools", "prompts", "visibility", "overrides", "structured output", "guardrails", "policies", "session",
        "resources", "files", "runtime", "adapters", "plugins",
    }  # fmt: skip
