"""`wink lint`: what of the tools a provider does not take, before any call."""

from __future__ import annotations

import json

import click

from wink.adapters import PROVIDERS, compile_tools
from wink.cli._compose import compose, workspace_options
from wink.cli._opening import open_workspace
from wink.cli._shorten import visible
from wink.cli.settings import installed_catalog


@click.command()
@workspace_options
@click.option(
    "--provider",
    "providers",
    multiple=True,
    type=click.Choice(PROVIDERS),
    help="The provider to check for; all of them by default.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
def lint(
    workspace: str,
    session: str,
    sections: tuple[str, ...],
    policies: tuple[str, ...],
    providers: tuple[str, ...],
    as_json: bool,
) -> int:
    """Check the tools that a template would show a model against what providers take.

    A tool that a provider cannot take is left out of its requests, so that it does not fail them all; what is merely
    shown in part is still checked whole when it is called. The exit status is 1 when something does not fit.
    """
    with open_workspace(workspace) as opened:
        prompt = compose(opened, installed_catalog(workspace), sections=sections, policies=policies)
        with prompt.resources:
            rendered = prompt.render(session=opened.session(session))
            found = [(name, *compile_tools(rendered, name)) for name in PROVIDERS if name in (providers or PROVIDERS)]
    rows = [
        {
            "provider": name,
            "tools": len(tools),
            "strict": sorted(tool.name for tool in tools if tool.strict),
            "misfits": [
                {"tool": misfit.tool, "problem": misfit.problem, "left_out": misfit.is_left_out} for misfit in misfits
            ],
        }
        for name, tools, misfits in found
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
    else:
        for name, tools, misfits in found:
            strict = sum(tool.strict for tool in tools)
            held = f", {strict} of them strict" if strict else ""
            click.echo(f"{name}: {len(tools)} tools fit{held}")
            for misfit in misfits:
                what = "left out" if misfit.is_left_out else "shown in part"
                click.echo(visible(f"  {misfit.tool}: {what}; {misfit.problem}"))
    return 1 if any(misfits for _, _, misfits in found) else 0
