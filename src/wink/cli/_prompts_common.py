"""What the commands of `wink prompts` share: which prompt is meant, in which workspace, under which tag."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from wink.cli._compose import compose, open_workspace
from wink.cli._settings import installed_catalog
from wink.cli._shorten import visible
from wink.cli._wrong import nearest, wrong

if TYPE_CHECKING:
    from collections.abc import Generator

    from wink.prompt import LocalPromptOverridesStore, PromptTemplate

F = TypeVar("F", bound=Callable[..., Any])


def prompt_options(*, tag: bool = True) -> Callable[[F], F]:
    """The options that tell which prompt of which workspace is meant, and which tag."""

    def add(command: F) -> F:
        options = [
            click.option("--section", "sections", multiple=True, metavar="NAME", help="Add a section of a plugin."),
            click.option("--workspace", default=".", metavar="PATH", help="The directory that the agent works on."),
        ]
        if tag:
            options.append(
                click.option("--tag", default="latest", show_default=True, metavar="TAG", help="Under which tag.")
            )
        for option in options:
            command = option(command)
        return command

    return add


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")


@contextmanager
def opened_prompt(
    workspace: str, sections: tuple[str, ...]
) -> Generator[tuple[PromptTemplate[Any], LocalPromptOverridesStore]]:
    """The template that `run` would use, and the store of the workspace."""
    from wink.prompt import LocalPromptOverridesStore

    with open_workspace(workspace) as opened:
        # Rules have no say in what a prompt's texts are.
        prompt = compose(opened, installed_catalog(workspace), sections=sections, with_rules=False)
        yield prompt.template, LocalPromptOverridesStore(os.path.abspath(workspace))


def section_of(template: PromptTemplate[Any], section: str) -> tuple[str, ...]:
    """The path of a section that can be overridden, from its path or from its key alone where that is clear."""
    from wink.prompt import PromptDescriptor

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
