"""Put together the prompt that `run`, `call`, `tools` and `demo` work with: a template over one workspace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from wink.cli._foreign import printing_to_stderr
from wink.cli._overrides_option import overrides_option, prompt_of
from wink.cli._participants import Participants
from wink.cli._shorten import visible
from wink.cli._standing import workspace_option
from wink.cli._tools_file import file_sections, tools_option
from wink.cli.settings import RuleSettings, doubts, rule_settings

if TYPE_CHECKING:
    from wink.plugins import Catalog
    from wink.prompt import Prompt, Section
    from wink.workspace import Workspace

DEFAULT_SECTIONS: Final = ("planning.plan", "files.files")
"""What every template has of wink's own plugins, where they are installed; the files section brings read-before-write with it."""

F = TypeVar("F", bound=Callable[..., Any])


def workspace_options(command: F) -> F:
    """The options that every command on a workspace takes."""
    for option in (
        overrides_option,
        tools_option,
        click.option("--policy", "policies", multiple=True, metavar="NAME", help="Add a policy that a plugin offers."),
        click.option(
            "--section", "sections", multiple=True, metavar="NAME", help="Add a section that a plugin offers."
        ),
        click.option("--session", default="default", show_default=True, metavar="NAME", help="The session to work in."),
        workspace_option,
    ):
        command = option(command)
    return command


def compose(
    workspace: Workspace,
    catalog: Catalog,
    *,
    task: str | None = None,
    sections: Sequence[str] = (),
    policies: Sequence[str] = (),
    extra: Sequence[Section[Any]] = (),
    with_rules: bool = True,
) -> Prompt:
    """A prompt over the workspace's files: the default sections, those asked for, those of files of tools, and the task.

    The rules of the settings govern all of it, unless `with_rules` is false; what a person should know of them is said
    on standard error.
    """
    from wink.filesystem import Filesystem
    from wink.prompt import MarkdownSection, PromptTemplate
    from wink.resources import ResourceRegistry

    with printing_to_stderr():
        parts = [*catalog.sections(dict.fromkeys((*_usual(catalog, sections), *sections)))]
        offered = [catalog.use("policy", name) for name in dict.fromkeys(policies)]
    parts += [*file_sections(workspace.root), *extra]
    if task is not None:
        text = task.replace("$", "$$")
        # What the user asks for now is nobody's to replace.
        parts.append(MarkdownSection(title="Task", key="task", template=text, accepts_overrides=False))
    rules = rule_settings(workspace.root) if with_rules else RuleSettings()
    template = PromptTemplate(
        ns="wink",
        key="workspace",
        name="wink",
        sections=parts,
        policies=[*offered, *rules.policies],
    )
    notes = rules.notes
    if rules.policies:
        tools = [tool for node in template.plan.nodes for tool in node.tools]
        notes += doubts([rule for policy in rules.policies for rule in policy.rules], tools)
    for note in notes:
        click.echo(visible(f"wink: {note}"), err=True)
    resources = ResourceRegistry.build({Filesystem: workspace.filesystem})
    if (theirs := participants(catalog, sections, policies).resources()) is not None:
        resources = theirs.merge(resources, strict=False)
    return prompt_of(template, workspace.root).bind(resources=resources)


def participants(catalog: Catalog, sections: Sequence[str] = (), policies: Sequence[str] = ()) -> Participants:
    """The plugins that a command uses, whose subscribers hear of its calls."""
    return Participants(catalog, (*_defaults(catalog), *sections, *policies))


def _usual(catalog: Catalog, sections: Sequence[str]) -> list[str]:
    """The default sections but for those whose tools one of wink's own brings itself that was asked for, as that of containers does."""
    own = _own(catalog)
    brought = _tools_of(catalog, [name for name in sections if name in own])
    return [
        name
        for name in _defaults(catalog)
        if name in sections or not brought or brought.isdisjoint(_tools_of(catalog, [name]))
    ]


def _tools_of(catalog: Catalog, sections: Sequence[str]) -> set[str]:
    return {tool.name for part in catalog.sections(sections) for tool in part.tools()}


def _defaults(catalog: Catalog) -> list[str]:
    own = _own(catalog)
    return [name for name in DEFAULT_SECTIONS if name in own]


def _own(catalog: Catalog) -> set[str]:
    return {offer.name for plugin in catalog.plugins if not plugin.is_foreign for offer in plugin.offers}
