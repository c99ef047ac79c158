"""The option `--overrides TAG`: use what a plugin keeps for a workspace instead of the prompt's own texts, because the user says so.

A workspace may come from a stranger, and its overrides speak to the model in the user's name. So nothing applies them but
this option, on the command line: no file of the workspace and no variable of the environment can switch them on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from wink.cli._wrong import nearest, wrong
from wink.cli.settings import commands_catalog

if TYPE_CHECKING:
    from wink.prompt import Prompt, PromptTemplate
    from wink.prompt.overrides import TaggedOverridesStore

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
    """A prompt of `template`, with the overrides that are kept for `root` if the user asked for them."""
    from wink.prompt import Prompt

    context = click.get_current_context(silent=True)
    tag = None if context is None else context.meta.get(_TAG)
    if tag is None:
        return Prompt(template)
    store = _store(root)
    refuse_unknown_tag(store, template, tag)
    return Prompt(template, store, tag)


def refuse_unknown_tag(store: TaggedOverridesStore, template: PromptTemplate[Any], tag: str) -> None:
    """Raise `WrongInput`, with the tags that there are, where a store has nothing of a template under `tag`."""
    tags = store.tags(ns=template.ns, prompt_key=template.key)
    if tag not in tags:
        known = f"the tags are: {', '.join(tags)}" if tags else "`wink prompts seed` makes a start"
        raise wrong(
            f"no overrides of {template.ns}:{template.key} are stored under {tag!r}; {nearest(tag, tags, otherwise=known)}"
        )


def _store(root: str) -> TaggedOverridesStore:
    """The store that a plugin offers, under the entry points `wink.overrides`; only that plugin is imported."""
    catalog, problem = commands_catalog(root)
    if problem is not None:
        raise problem
    keeping = [
        (plugin, offer)
        for plugin in catalog.plugins
        if plugin.usable
        for offer in plugin.offers
        if offer.kind == "overrides"
    ]
    # Wink's own where it is in use, which only the user switches off: nobody is asked in its place because of a workspace.
    offers = [offer for plugin, offer in keeping if not plugin.is_foreign] or [offer for _, offer in keeping]
    if not offers:
        raise wrong("--overrides needs a plugin that keeps overrides, and none is in use; `wink plugins` lists all")
    if len(offers) > 1:
        names = " and by ".join(offer.name for offer in offers)
        raise wrong(f"overrides are kept by {names}, and none of them is taken for the other; disable one of them")
    return catalog.use("overrides", offers[0].name, root_path=root)
