"""Put together the prompt that `run`, `call`, `tools` and `demo` work with: a template over one workspace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import click

from wink.cli._foreign import printing_to_stderr
from wink.cli._mask_settings import masking_for
from wink.cli._masked import use
from wink.cli._participants import Participants
from wink.cli._prompts_option import overrides_option, prompt_of
from wink.cli._rules import RuleSettings, doubts, rule_settings
from wink.cli._shorten import visible
from wink.cli._warnings import show_warnings
from wink.filesystem import Filesystem
from wink.plugins import Catalog
from wink.prompt import MarkdownSection, Prompt, PromptTemplate, Section
from wink.resources import ResourceRegistry
from wink.workspace import Workspace

DEFAULT_SECTIONS: Final = ("planning.plan", "files.files")
"""What every template has; the files section brings read-before-write with it."""

F = TypeVar("F", bound=Callable[..., Any])


def workspace_options(command: F) -> F:
    """The options that every command on a workspace takes."""
    for option in (
        overrides_option,
        click.option("--policy", "policies", multiple=True, metavar="NAME", help="Add a policy that a plugin offers."),
        click.option(
            "--section", "sections", multiple=True, metavar="NAME", help="Add a section that a plugin offers."
        ),
        click.option("--session", default="default", show_default=True, metavar="NAME", help="The session to work in."),
        click.option(
            "--workspace", default=".", metavar="PATH", help="The directory to work on; the current one by default."
        ),
    ):
        command = option(command)
    return command


def open_workspace(path: str) -> Workspace:
    """Open a workspace, and say on standard error what was recovered from a call that died."""
    show_warnings()
    workspace = Workspace.open(path, masking=use(masking_for(path)))
    if workspace.recovered:
        from wink.cli._recover import recovery_lines

        click.echo("wink: a process was killed in the middle of a call:", err=True)
        for line in recovery_lines(workspace.recovered, workspace.state):
            click.echo(visible(f"  {line}"), err=True)
    return workspace


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
    """A prompt over the workspace's files: the default sections, those asked for, and the task.

    The rules of the settings govern all of it, unless `with_rules` is false; what a person should know of them is said
    on standard error.
    """
    names = dict.fromkeys((*DEFAULT_SECTIONS, *sections))
    with printing_to_stderr():
        parts = [*catalog.sections(names)]
        offered = [catalog.use("policy", name) for name in dict.fromkeys(policies)]
    parts += extra
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
    return Participants(catalog, (*DEFAULT_SECTIONS, *sections, *policies))
