"""A file of functions as a section: every tool in it, and its docstring as the section's text.

Such a file is a program of the user's, so only the user names one, on the command line or in settings of their own. One that lies in the workspace could have
been written by the agent that it is for: it runs only as it was when the user trusted it, by its content.
"""

from __future__ import annotations

import inspect
import linecache
import os
import re
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import click

from wink.bounded import content, content_beneath
from wink.cli._shorten import one_line
from wink.cli._wrong import wrong

if TYPE_CHECKING:
    from wink.prompt import Section
    from wink.tools import Tool

MOST_BYTES: Final = 4 * 1024 * 1024
_PATHS: Final = "wink.tools"


def note_files(ctx: click.Context, _: click.Parameter, paths: Sequence[str]) -> Sequence[str]:
    """Keep the files that a command was given until its prompt is composed."""
    ctx.meta[_PATHS] = (*ctx.meta.get(_PATHS, ()), *paths)
    return paths


tools_option = click.option(
    "--tools",
    multiple=True,
    metavar="FILE",
    type=click.Path(),
    expose_value=False,
    callback=note_files,
    help="Add the tools of a Python file: each function in it that is marked with @tool.",
)


def named_files() -> tuple[str, ...]:
    """The files that the command which runs was given."""
    context = click.get_current_context(silent=True)
    return () if context is None else tuple(dict.fromkeys(context.meta.get(_PATHS, ())))


def file_sections(root: str) -> list[Section[Any]]:
    """The sections of the files that the user's settings name, and the command was given; wrong input where one cannot be used."""
    paths = _files(root)
    sections = [tools_section(path, root) for path in paths]
    keys: dict[str, str] = {}
    for path, section in zip(paths, sections, strict=True):
        if section.key in keys:
            raise wrong(f"{keys[section.key]!r} and {path!r} have the same name; rename one of the files")
        keys[section.key] = path
    return sections


def _files(root: str) -> tuple[str, ...]:
    from wink.cli.settings import tools_files_settings

    own = tools_files_settings(root)
    for note in own.notes:
        click.echo(one_line(f"wink: {note}"), err=True)
    return tuple(dict.fromkeys((*own.entries, *named_files())))


def tools_section(path: str, root: str) -> Section[Any]:
    """The section of one file, which is executed for that."""
    from wink.errors import PromptValidationError
    from wink.prompt import MarkdownSection

    name = os.path.basename(path).removesuffix(".py")
    key = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "tools"
    try:
        module = _executed(path, _source(path, root), f"wink_tools_file_{key.replace('-', '_')}")
        tools = _tools_of(module)
        if not tools:
            raise wrong(f"there is no tool in {path!r}; mark a function with `@tool`, from `from wink import tool`")
        text = "\n\n".join((inspect.cleandoc(module.__doc__ or ""), *_details(tools))).strip()
        title = name.replace("_", " ").replace("-", " ").strip().capitalize() or "Tools"
        return MarkdownSection(title=title, key=key, template=text.replace("$", "$$"), tools=tools)
    except PromptValidationError as error:
        raise wrong(f"{path!r} cannot be used: {error}") from error


def _source(path: str, root: str) -> bytes:
    """What the file has, read once; from inside the workspace only what the user has trusted."""
    absolute, top = os.path.abspath(path), os.path.realpath(root)
    real = os.path.realpath(path)
    if not path.endswith(".py"):
        raise wrong(f"{path!r} is no Python file; its name has to end in .py")
    inside = next((one for one in (absolute, real) if one == top or one.startswith(f"{top.rstrip('/')}/")), None)
    try:
        if inside is None:
            return content(path, most=MOST_BYTES)
        data = content_beneath(top, os.path.relpath(inside, top), most=MOST_BYTES)
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise wrong(f"cannot read the tools in {path!r}: {reason}") from error
    from wink.cli.settings import trusted_as_it_is

    standing = trusted_as_it_is(inside, data, root)
    if standing != "trusted":
        changed = " and has changed since it was trusted" if standing == "changed" else ""
        raise wrong(
            f"{path!r} lies in the workspace, where an agent could have written it{changed}; look at it, and let it count as it is "
            f"now with `wink trust --tools {path}`, or keep it elsewhere"
        )
    return data


def _executed(path: str, data: bytes, name: str) -> ModuleType:
    """Run the file as a module, without leaving compiled code beside it, or looking for others there."""
    from wink.errors import PromptValidationError
    from wink.limits import is_interruption, said_by
    from wink.tools import SOURCE

    module = ModuleType(name)
    module.__file__ = os.path.abspath(path)
    sys.modules[name] = module
    try:
        code = compile(data, module.__file__, "exec", dont_inherit=True)
        linecache.cache[module.__file__] = (len(data), None, data.decode().splitlines(keepends=True), module.__file__)
        setattr(module, SOURCE, data.decode())
        exec(code, vars(module))  # noqa: S102 - the user named the file as a program to run
    except PromptValidationError:
        raise
    except BaseException as error:  # foreign code
        if is_interruption(error):
            raise
        raise wrong(f"{path!r} cannot be used: {_where(error, module.__file__)}{said_by(error)}") from error
    return module


def _where(error: BaseException, path: str) -> str:
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: "
    lines = [number for frame, number in _frames(error) if frame == path]
    return f"{type(error).__name__} in line {lines[-1]}: " if lines else f"{type(error).__name__}: "


def _frames(error: BaseException) -> Iterator[tuple[str, int]]:
    step = error.__traceback__
    while step is not None:
        yield step.tb_frame.f_code.co_filename, step.tb_lineno
        step = step.tb_next


def _tools_of(module: ModuleType) -> list[Tool[Any, Any]]:
    """The tools that the file defines itself, in its order."""
    from wink.tools import FunctionTool, Tool

    found: dict[str, Any] = {}
    for value in vars(module).values():
        own = not isinstance(value, FunctionTool) or value.function.__module__ == module.__name__
        if isinstance(value, Tool) and own:
            found[str(id(value))] = value  # pyright: ignore[reportUnknownArgumentType]
    return list(found.values())


def _details(tools: Sequence[Tool[Any, Any]]) -> Iterator[str]:
    """What the docstrings of functions say beyond a description."""
    from wink.tools import FunctionTool

    for tool in tools:
        if isinstance(tool, FunctionTool) and tool.details:
            yield f"`{tool.name}`: {tool.details}"
