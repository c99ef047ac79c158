"""What the commands of `wink prompts` share: which prompt is meant, in which workspace, under which tag."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from wink.cli import compose, installed_catalog, nearest, open_workspace, visible, workspace_option, wrong
from wink.prompt import PromptDescriptor, PromptTemplate
from wink_overrides import LocalPromptOverridesStore

F = TypeVar("F", bound=Callable[..., Any])


def prompt_options(*, tag: bool = True) -> Callable[[F], F]:
    """The options that tell which prompt of which workspace is meant, and which tag."""

    def add(command: F) -> F:
        option = click.option
        command = option("--section", "sections", multiple=True, metavar="NAME", help="Add a section of a plugin.")(
            command
        )
        command = workspace_option(command)
        if not tag:
            return command
        return option("--tag", default="latest", show_default=True, metavar="TAG", help="Under which tag.")(command)

    return add


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")


@contextmanager
def opened_prompt(
    workspace: str, sections: tuple[str, ...]
) -> Generator[tuple[PromptTemplate[Any], LocalPromptOverridesStore]]:
    """The template that `run` would use, and the store of the workspace."""
    with open_workspace(workspace) as opened:
        # Rules have no say in what a prompt's texts are.
        prompt = compose(opened, installed_catalog(workspace), sections=sections, with_rules=False)
        yield prompt.template, LocalPromptOverridesStore(os.path.abspath(workspace))


def section_of(template: PromptTemplate[Any], section: str) -> tuple[str, ...]:
    """The path of a section that can be overridden, from its path or from its key alone where that is clear."""
    paths = [one.path for one in PromptDescriptor.from_prompt(template).sections]
    found = [path for path in paths if "/".join(path) == section] or [path for path in paths if path[-1] == section]
    if len(found) == 1:
        return found[0]
    names = ["/".join(path) for path in found or paths]
    if found:
        raise wrong(f"several sections are {section!r}: {', '.join(names)}; give the whole path")
    known = f"they are: {', '.join(names) or 'none'}"
    raise wrong(f"no section {section!r} accepts overrides; {nearest(section, names, otherwise=known)}")


def echo_text(text: str) -> None:
    """Print a text, in a terminal without what that would obey."""
    click.echo(visible(text) if sys.stdout.isatty() else text)
