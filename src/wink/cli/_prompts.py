"""`wink prompts`: look at a prompt's texts, and replace them without touching the code."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from wink.cli._compose import compose, open_workspace
from wink.cli._prompts_option import stored
from wink.cli._settings import installed_catalog
from wink.cli._shorten import one_line, visible
from wink.cli._wrong import nearest, readable, wrong
from wink.errors import PromptOverrideError

if TYPE_CHECKING:
    from collections.abc import Generator

    from wink.cli._prompts_parts import Stored
    from wink.prompt import LocalPromptOverridesStore, PromptTemplate

F = TypeVar("F", bound=Callable[..., Any])


@click.group(invoke_without_command=True)
@click.pass_context
def prompts(ctx: click.Context) -> None:
    """List, show and edit the texts of the prompt that a model is given.

    What is edited lies in the workspace, in .wink/prompts/overrides. Nothing uses it but `--overrides TAG`: a workspace
    may come from somebody else.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_)


def _options(*, tag: bool = True) -> Callable[[F], F]:
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


_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")


@contextmanager
def _opened(
    workspace: str, sections: tuple[str, ...]
) -> Generator[tuple[PromptTemplate[Any], LocalPromptOverridesStore]]:
    """The template that `run` would use, and the store of the workspace."""
    from wink.prompt import LocalPromptOverridesStore

    with open_workspace(workspace) as opened:
        # Rules have no say in what a prompt's texts are.
        prompt = compose(opened, installed_catalog(workspace), sections=sections, with_rules=False)
        yield prompt.template, LocalPromptOverridesStore(os.path.abspath(workspace))


@prompts.command("list")
@_options(tag=False)
@_json_option
def list_(workspace: str = ".", sections: tuple[str, ...] = (), as_json: bool = False) -> None:
    """List what can be overridden, and what each tag says of it.

    A text is `same` as the code's, `edited`, or `stale`: then the code has changed since, and the code's text is used.
    """
    _list(workspace, sections, as_json=as_json)


@prompts.command()
@_options(tag=False)
@_json_option
def check(workspace: str, sections: tuple[str, ...], as_json: bool) -> int:
    """List what is stored; exit status 1 if a part of it is stale or damaged."""
    return 0 if _list(workspace, sections, as_json=as_json).is_fine else 1


def _list(workspace: str, sections: tuple[str, ...], *, as_json: bool) -> Stored:
    from wink.cli._prompts_parts import stored_parts

    with _opened(workspace, sections) as (template, store):
        found = stored_parts(template, store)
    if as_json:
        click.echo(json.dumps(_rows(found), indent=2))
    else:
        for line in _table(found):
            click.echo(one_line(line))
    return found


def _rows(found: Stored) -> dict[str, Any]:
    template = found.template
    return {
        "prompt": {"ns": template.ns, "key": template.key, "name": template.name},
        "parts": [
            {
                "part": part.kind,
                "name": part.name,
                "number": part.number,
                "title": part.title,
                "hash": part.hash,
                "tags": part.states,
            }
            for part in found.parts
        ],
        "tags": {
            tag: {
                "path": found.store.path(ns=template.ns, prompt_key=template.key, tag=tag),
                "damaged": found.damaged.get(tag),
            }
            for tag in found.tags
        },
        "others": found.others,
    }


def _table(found: Stored) -> list[str]:
    rows = [("PART", "NAME", *found.tags)]
    for part in found.parts:
        kind = f"{part.kind} {part.number}".rstrip()
        rows.append(
            (kind, part.name, *(part.states.get(tag, "damaged" if tag in found.damaged else "-") for tag in found.tags))
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines += [""]
    lines += [f"{tag}: {reason}" for tag, reason in found.damaged.items()]
    name = f"{found.template.ns}:{found.template.key}"
    if not found.tags:
        lines.append(f"{name}: nothing is overridden; `wink prompts edit NAME` opens a text in an editor")
    else:
        count = len(found.tags)
        lines.append(f"{name}: {count} tag{'s' if count > 1 else ''}; `--overrides TAG` makes a run use one")
    if found.others:
        others = [f"{one} ({', '.join(tags)})" for one, tags in found.others.items()]
        lines.append(f"kept for other programs: {'; '.join(others)}")
    return lines


@prompts.command()
@click.argument("section", required=False)
@_options(tag=False)
@click.option("--tag", metavar="TAG", help="With what is stored under this tag, instead of as the code has it.")
@click.option("--descriptor", is_flag=True, help="Print what can be overridden, with the hash of each part, as JSON.")
@_json_option
def show(
    section: str | None, workspace: str, sections: tuple[str, ...], tag: str | None, descriptor: bool, as_json: bool
) -> None:
    """Print the prompt as a model is given it, or the text of one SECTION as it can be edited."""
    from wink.prompt import Prompt, PromptDescriptor
    from wink.serde import dump

    with _opened(workspace, sections) as (template, store):
        if descriptor:
            click.echo(json.dumps(dump(PromptDescriptor.from_prompt(template)), indent=2))
            return
        if tag is not None:
            stored(template, store.root, tag)
        if section is not None:
            _show_section(template, store, section, tag, as_json=as_json)
            return
        rendered = (Prompt(template) if tag is None else Prompt(template, store, tag)).render()
    if as_json:
        tools = [{"name": one.name, "description": one.description, "schema": one.schema()} for one in rendered.tools]
        click.echo(json.dumps({"text": rendered.text, "tools": tools}, indent=2))
    else:
        _echo(rendered.text)


def _show_section(
    template: PromptTemplate[Any], store: LocalPromptOverridesStore, section: str, tag: str | None, *, as_json: bool
) -> None:
    from wink.cli._prompts_parts import texts_of

    path = _path(template, section)
    body, summary = texts_of(template, path)
    if tag is not None:
        override = store.load(ns=template.ns, prompt_key=template.key, tag=tag)
        said = None if override is None else override.sections.get(path)
        if said is not None:
            body, summary = said.body, summary if said.summary is None else said.summary
    if as_json:
        click.echo(json.dumps({"section": section, "body": body, "summary": summary}, indent=2))
    else:
        _echo(body)


@prompts.command()
@_options()
@_json_option
def diff(workspace: str, sections: tuple[str, ...], tag: str, as_json: bool) -> None:
    """Show what a tag changes, as a unified diff; what it no longer changes is shown with the reason."""
    from wink.cli._prompts_diff import differences

    with _opened(workspace, sections) as (template, store):
        stored(template, store.root, tag)
        override = store.load(ns=template.ns, prompt_key=template.key, tag=tag)
        found = [] if override is None else differences(template, override)
    if as_json:
        click.echo(json.dumps([one._asdict() for one in found], indent=2))
        return
    for one in found:
        if one.problem:
            click.echo(one_line(f"# not used: {one.part} {one.name!r} {one.problem}"))
        click.echo(visible(one.diff), nl=False)


@prompts.command()
@click.argument("section")
@_options()
@click.option("--from", "source", metavar="FILE", help="Take the text from a file, or with - from standard input.")
@click.option("--summary", metavar="TEXT", help="Replace the section's summary too.")
def edit(
    section: str, workspace: str, sections: tuple[str, ...], tag: str, source: str | None, summary: str | None
) -> None:
    """Edit the text of a SECTION in $EDITOR, starting from what the tag says of it or else from the code's own.

    The text is checked before it is stored: its placeholders must be parameters of the section, and '$$' is a dollar sign.
    """
    from wink.cli._prompts_parts import texts_of

    with _opened(workspace, sections) as (template, store):
        path = _path(template, section)
        override = store.load(ns=template.ns, prompt_key=template.key, tag=tag)
        said = None if override is None else override.sections.get(path)
        before = texts_of(template, path)[0] if said is None else said.body
        if source is None:
            text = click.edit(before + "\n", extension=".md", require_save=False) or ""
        elif source == "-":
            text = _standard_input()
        else:
            text = readable(source, "the text")
        text = text.rstrip()
        if source is None and text == before and summary is None and said is None:
            click.echo("nothing changed")
            return
        if summary is None and said is not None:
            summary = said.summary
        try:
            store.set_section_override(template, path=path, body=text, summary=summary, tag=tag)
        except PromptOverrideError as error:
            raise wrong(f"{error}{'' if source is not None else _kept(text)}") from error
        _say_stored(template, store, tag)


@prompts.command()
@click.argument("tool")
@_options()
@click.option("--description", metavar="TEXT", help="What the tool does: up to 200 characters, ASCII.")
@click.option("--param", "params", multiple=True, metavar="NAME=TEXT", help="What a parameter is.")
def describe(
    tool: str, workspace: str, sections: tuple[str, ...], tag: str, description: str | None, params: tuple[str, ...]
) -> None:
    """Describe a TOOL to the model in other words; what is not given stays as the tag or else the code has it."""
    from wink.prompt import PromptDescriptor, ToolOverride

    texts: dict[str, str] = {}
    for param in params:
        name, equals, text = param.partition("=")
        if not equals:
            raise wrong(f"{param!r} is not NAME=TEXT")
        texts[name] = text
    if description is None and not texts:
        raise wrong("say what is to be said, with --description or --param NAME=TEXT")
    with _opened(workspace, sections) as (template, store):
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
        _say_stored(template, store, tag)


@prompts.command()
@_options()
def seed(workspace: str, sections: tuple[str, ...], tag: str) -> None:
    """Store what the code says now, as a start for editing the file itself; what the tag says already stays."""
    with _opened(workspace, sections) as (template, store):
        store.seed(template, tag=tag)
        _say_stored(template, store, tag)


@prompts.command()
@click.argument("section", required=False)
@_options()
@click.option("--tool", metavar="NAME", help="Forget what the tag says of this tool.")
def delete(section: str | None, workspace: str, sections: tuple[str, ...], tag: str, tool: str | None) -> None:
    """Forget what a tag says: all of it, or what it says of one SECTION."""
    with _opened(workspace, sections) as (template, store):
        stored(template, store.root, tag)
        if not store.delete(ns=template.ns, prompt_key=template.key, tag=tag, section=section, tool=tool):
            raise wrong(f"{tag!r} says nothing of it; `wink prompts list` shows what it says")


def _path(template: PromptTemplate[Any], section: str) -> tuple[str, ...]:
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


def _standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode()
    except ValueError as error:
        raise wrong("standard input is not UTF-8 text") from error


def _kept(text: str) -> str:
    """Where what somebody has typed is kept for another try."""
    import tempfile

    with tempfile.NamedTemporaryFile("w", prefix="wink-", suffix=".md", encoding="utf-8", delete=False) as file:
        file.write(text + "\n")
    return f"; your text is in {file.name}, and `--from` takes it"


def _say_stored(template: PromptTemplate[Any], store: LocalPromptOverridesStore, tag: str) -> None:
    path = os.path.relpath(store.path(ns=template.ns, prompt_key=template.key, tag=tag))
    click.echo(one_line(f"stored in {path}; `--overrides {tag}` makes a run use it"))


def _echo(text: str) -> None:
    click.echo(visible(text) if sys.stdout.isatty() else text)
