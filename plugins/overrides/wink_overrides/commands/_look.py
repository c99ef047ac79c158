"""`wink prompts list`, `check`, `show` and `diff`: look at a prompt's texts, and at what is stored in their place."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from wink.cli import one_line, refuse_unknown_tag, visible
from wink.prompt import Prompt, PromptDescriptor, PromptTemplate
from wink.serde import dump
from wink_overrides import present
from wink_overrides.commands._common import echo_text, json_option, opened_prompt, prompt_options, section_of
from wink_overrides.commands._diff import differences
from wink_overrides.commands._parts import Stored, stored_parts

if TYPE_CHECKING:
    from wink_overrides import LocalPromptOverridesStore


@click.command("list")
@prompt_options(tag=False)
@json_option
def list_(workspace: str = ".", sections: tuple[str, ...] = (), as_json: bool = False) -> None:
    """List what can be overridden, and what each tag says of it.

    A text is `same` as the code's, `edited`, or `stale`: then the code has changed since, and the code's text is used.
    """
    _list(workspace, sections, as_json=as_json)


@click.command()
@prompt_options(tag=False)
@json_option
def check(workspace: str, sections: tuple[str, ...], as_json: bool) -> int:
    """Fail if anything that is stored is not used.

    Prints the list; the exit status is 1 if a part of it is stale or damaged.
    """
    return 0 if _list(workspace, sections, as_json=as_json).is_fine else 1


def _list(workspace: str, sections: tuple[str, ...], *, as_json: bool) -> Stored:
    with opened_prompt(workspace, sections) as (template, store):
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


@click.command()
@click.argument("section", required=False)
@prompt_options(tag=False)
@click.option("--tag", metavar="TAG", help="With what is stored under this tag, instead of as the code has it.")
@click.option("--descriptor", is_flag=True, help="Print what can be overridden, with the hash of each part, as JSON.")
@json_option
def show(
    section: str | None, workspace: str, sections: tuple[str, ...], tag: str | None, descriptor: bool, as_json: bool
) -> None:
    """Print the prompt, or the text of one SECTION.

    The prompt is printed as a model is given it, a section's text as it can be edited, with its placeholders.
    """
    with opened_prompt(workspace, sections) as (template, store):
        if descriptor:
            click.echo(json.dumps(dump(PromptDescriptor.from_prompt(template)), indent=2))
            return
        if tag is not None:
            refuse_unknown_tag(store, template, tag)
        if section is not None:
            _show_section(template, store, section, tag, as_json=as_json)
            return
        rendered = (Prompt(template) if tag is None else Prompt(template, store, tag)).render()
    if as_json:
        tools = [{"name": one.name, "description": one.description, "schema": one.schema()} for one in rendered.tools]
        click.echo(json.dumps({"text": rendered.text, "tools": tools}, indent=2))
    else:
        echo_text(rendered.text)


def _show_section(
    template: PromptTemplate[Any], store: LocalPromptOverridesStore, section: str, tag: str | None, *, as_json: bool
) -> None:
    path = section_of(template, section)
    now = present(template).sections[path]
    body, summary = now.body, now.summary
    if tag is not None:
        override = store.load(ns=template.ns, prompt_key=template.key, tag=tag)
        said = None if override is None else override.sections.get(path)
        if said is not None:
            body, summary = said.body, summary if said.summary is None else said.summary
    if as_json:
        click.echo(json.dumps({"section": section, "body": body, "summary": summary}, indent=2))
    else:
        echo_text(body)


@click.command()
@prompt_options()
@json_option
def diff(workspace: str, sections: tuple[str, ...], tag: str, as_json: bool) -> None:
    """Show what a tag changes, as a unified diff.

    What it does not change any more is shown too, against what the code says now, with the reason.
    """
    with opened_prompt(workspace, sections) as (template, store):
        refuse_unknown_tag(store, template, tag)
        override = store.load(ns=template.ns, prompt_key=template.key, tag=tag)
        found = [] if override is None else differences(template, override)
    if as_json:
        click.echo(json.dumps([one._asdict() for one in found], indent=2))
        return
    for one in found:
        if one.problem:
            click.echo(one_line(f"# not used: {one.part} {one.name!r} {one.problem}"))
        click.echo(visible(one.diff), nl=False)
