"""`wink prompts edit`, `describe`, `seed` and `delete`: change what is stored in the place of a prompt's texts."""

from __future__ import annotations

import os
import sys
import tempfile
from typing import TYPE_CHECKING, Any

import click

from wink.cli import echo_json, json_option, nearest, one_line, readable, refuse_unknown_tag, wrong
from wink.errors import PromptOverrideError
from wink.prompt import PromptDescriptor, PromptTemplate
from wink_overrides import ToolOverride, present
from wink_overrides.commands._common import opened_prompt, prompt_options, section_of

if TYPE_CHECKING:
    from wink_overrides import LocalPromptOverridesStore


@click.command()
@click.argument("section")
@prompt_options()
@click.option("--from", "source", metavar="FILE", help="Take the text from a file, or with - from standard input.")
@click.option("--summary", metavar="TEXT", help="Replace the section's summary too.")
@json_option
def edit(
    section: str,
    workspace: str,
    sections: tuple[str, ...],
    tag: str,
    source: str | None,
    summary: str | None,
    as_json: bool,
) -> None:
    """Edit the text of a SECTION in $EDITOR.

    What is opened is what the tag says of it, or else the code's own text. The text is checked before it is stored: its placeholders must be parameters of the section, and '$$' is a dollar sign.
    """
    with opened_prompt(workspace, sections) as (template, store):
        path = section_of(template, section)
        override = store.load(ns=template.ns, prompt_key=template.key, tag=tag)
        said = None if override is None else override.sections.get(path)
        before = (present(template).sections[path] if said is None else said).body
        if source is None:
            text = _from_editor(before)
        elif source == "-":
            text = _standard_input()
        else:
            text = readable(source, "the text")
        text = text.rstrip()
        if source is None and text == before and summary is None and said is None:
            if as_json:
                echo_json(tag=tag, stored=None)
            else:
                click.echo("nothing changed")
            return
        if summary is None and said is not None:
            summary = said.summary
        try:
            store.set_section_override(template, path=path, body=text, summary=summary, tag=tag)
        except PromptOverrideError as error:
            raise wrong(f"{error}{'' if source is not None else _kept(text)}") from error
        _say_stored(template, store, tag, as_json=as_json)


@click.command()
@click.argument("tool")
@prompt_options()
@click.option("--description", metavar="TEXT", help="What the tool does: up to 200 characters, ASCII.")
@click.option("--param", "params", multiple=True, metavar="NAME=TEXT", help="What a parameter is.")
@json_option
def describe(
    tool: str,
    workspace: str,
    sections: tuple[str, ...],
    tag: str,
    description: str | None,
    params: tuple[str, ...],
    as_json: bool,
) -> None:
    """Describe a TOOL to the model in other words.

    What is not given stays as the tag or else the code has it.
    """
    texts: dict[str, str] = {}
    for param in params:
        name, equals, text = param.partition("=")
        if not equals:
            raise wrong(f"{param!r} is not NAME=TEXT")
        texts[name] = text
    if description is None and not texts:
        raise wrong("say what is to be said, with --description or --param NAME=TEXT")
    with opened_prompt(workspace, sections) as (template, store):
        names = [known.name for known in PromptDescriptor.from_prompt(template).tools]
        if tool not in names:
            known = f"they are: {', '.join(names) or 'none'}"
            raise wrong(f"no tool {tool!r} accepts overrides; {nearest(tool, names, otherwise=known)}")
        override = store.load(ns=template.ns, prompt_key=template.key, tag=tag)
        said = None if override is None else override.tool_overrides.get(tool)
        if said is not None:
            description = said.description if description is None else description
            texts = {**said.param_descriptions, **texts}
        examples = () if said is None else said.examples
        store.store(template, ToolOverride(tool, "", description, texts, examples), tag=tag)
        _say_stored(template, store, tag, as_json=as_json)


@click.command()
@prompt_options()
@json_option
def seed(workspace: str, sections: tuple[str, ...], tag: str, as_json: bool) -> None:
    """Store what the code says now, as a start.

    The file can be edited then; what the tag says already stays.
    """
    with opened_prompt(workspace, sections) as (template, store):
        store.seed(template, tag=tag)
        _say_stored(template, store, tag, as_json=as_json)


@click.command()
@click.argument("section", required=False)
@prompt_options()
@click.option("--tool", metavar="NAME", help="Forget what the tag says of this tool.")
@json_option
def delete(
    section: str | None, workspace: str, sections: tuple[str, ...], tag: str, tool: str | None, as_json: bool
) -> None:
    """Forget what a tag says, all or in part.

    A SECTION is named as `wink prompts list` does, also one that is not there any more.
    """
    with opened_prompt(workspace, sections) as (template, store):
        refuse_unknown_tag(store, template, tag)
        if section is not None:
            section = _stored_section(template, store, section, tag)
        if not store.delete(ns=template.ns, prompt_key=template.key, tag=tag, section=section, tool=tool):
            raise wrong(f"{tag!r} says nothing of it; `wink prompts list` shows what it says")
        if as_json:
            echo_json(tag=tag, section=section, tool=tool, deleted=True)


def _stored_section(template: PromptTemplate[Any], store: LocalPromptOverridesStore, section: str, tag: str) -> str:
    """The whole path of a section that a tag speaks of, from its key alone where that is clear."""
    override = store.load(ns=template.ns, prompt_key=template.key, tag=tag)
    examples = () if override is None else override.task_example_overrides
    paths = {*(() if override is None else override.sections), *(one.path for one in examples)}
    names = ["/".join(path) for path in paths if path[-1] == section]
    return names[0] if len(names) == 1 and tuple(section.split("/")) not in paths else section


def _from_editor(before: str) -> str:
    try:
        return click.edit(before + "\n", extension=".md", require_save=False) or ""
    except click.ClickException as error:
        raise wrong(
            f"the editor failed, nothing was stored ({error.format_message()}); set EDITOR to one that works, "
            "or give the text with --from FILE"
        ) from error


def _standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode()
    except ValueError as error:
        raise wrong("standard input is not UTF-8 text") from error


def _kept(text: str) -> str:
    """Where what somebody has typed is kept for another try."""
    with tempfile.NamedTemporaryFile("w", prefix="wink-", suffix=".md", encoding="utf-8", delete=False) as file:
        file.write(text + "\n")
    return f"; your text is in {file.name}, and `--from` takes it"


def _say_stored(template: PromptTemplate[Any], store: LocalPromptOverridesStore, tag: str, *, as_json: bool) -> None:
    if as_json:
        echo_json(tag=tag, stored=os.path.abspath(store.path(ns=template.ns, prompt_key=template.key, tag=tag)))
        return
    path = os.path.relpath(store.path(ns=template.ns, prompt_key=template.key, tag=tag))
    click.echo(one_line(f"stored in {path}; `--overrides {tag}` makes a run use it"))
