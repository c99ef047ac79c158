"""The option `--overrides TAG`: use what is stored in a workspace instead of the prompt's own texts, because the user says so.

A workspace may come from a stranger, and its overrides speak to the model in the user's name. So nothing applies them but
this option, on the command line: no file of the workspace and no variable of the environment can switch them on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from wink.cli._wrong import nearest, wrong

if TYPE_CHECKING:
    from wink.prompt import LocalPromptOverridesStore, Prompt, PromptTemplate

_TAG: Final = "wink.overrides"


def _note(ctx: click.Context, _: click.Parameter, tag: str | None) -> None:
    ctx.meta[_TAG] = tag


overrides_option = click.option(
    "--overrides",
    metavar="TAG",
    expose_value=False,
    callback=_note,
    help="Use the texts that `wink prompts` keeps in the workspace under this tag.",
)
"""What the commands that compose a prompt take; its value waits in click's context until `prompt_of` looks."""


def prompt_of(template: PromptTemplate[Any], root: str) -> Prompt[Any]:
    """A prompt of `template`, with the overrides beneath `root` if the user asked for them."""
    from wink.prompt import Prompt

    context = click.get_current_context(silent=True)
    tag = None if context is None else context.meta.get(_TAG)
    if tag is None:
        return Prompt(template)
    return Prompt(template, stored(template, root, tag), tag)


def stored(template: PromptTemplate[Any], root: str, tag: str) -> LocalPromptOverridesStore:
    """The store of a workspace; wrong input if it has nothing under `tag`."""
    from wink.prompt import LocalPromptOverridesStore

    store = LocalPromptOverridesStore(root)
    tags = store.tags(ns=template.ns, prompt_key=template.key)
    if tag not in tags:
        known = f"the tags are: {', '.join(tags)}" if tags else "`wink prompts seed` makes a start"
        raise wrong(
            f"no overrides of {template.ns}:{template.key} are stored under {tag!r}; {nearest(tag, tags, otherwise=known)}"
        )
    return store
