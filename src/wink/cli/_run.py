"""`wink run`: let a model work on a repository."""

from __future__ import annotations

import os

import click

from wink.cli._changes import ChangesSoFar
from wink.cli._compose import compose, open_workspace, workspace_options
from wink.cli._model import model_adapter
from wink.cli._progress import progress, showing
from wink.cli._settings import installed_catalog
from wink.cli._shorten import fit
from wink.cli._story import Began, Differs, Ended
from wink.cli._wrong import wrong
from wink.errors import PromptEvaluationError, ScriptMismatch
from wink.runtime import ToolInvoked

PROBLEM_LENGTH = 400
"""How much of a problem is told, in characters; it can quote a whole reply."""


@click.command()
@click.argument("task")
@workspace_options
@click.option("--model", metavar="KIND:NAME", help="The model, for example openai:NAME or scripted:turns.toml.")
@click.option("--base-url", metavar="URL", help="Where the model is, if not at its provider's.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line, for machines.")
def run(
    task: str,
    workspace: str,
    session: str,
    sections: tuple[str, ...],
    policies: tuple[str, ...],
    model: str | None,
    base_url: str | None,
    as_json: bool,
) -> int:
    """Let a model work on TASK in a workspace.

    Each tool call commits or leaves no trace. The exit status is 0 when the model finished, and 1 when the run ended
    before that, or went another way than its script expects.
    """
    if not task.strip():
        raise wrong("the task is empty; say what is to be done")
    if model is None:
        raise wrong("say which model is to do it, for example --model openai:NAME, or --model scripted:turns.toml")
    with open_workspace(workspace) as opened:
        catalog = installed_catalog(workspace)
        adapter = model_adapter(model, catalog, base_url=base_url)
        prompt = compose(opened, catalog, task=task, sections=sections, policies=policies)
        state = opened.session(session)
        changes = ChangesSoFar()
        state.dispatcher.subscribe(ToolInvoked, changes.see)
        with showing(state, progress(as_json=as_json)) as shown, prompt.resources:
            shown.event(Began("A run", os.path.abspath(workspace), task, f"by {model}"))
            text, problem = "", None
            try:
                text = adapter.evaluate(prompt, session=state).text
            except (PromptEvaluationError, ScriptMismatch) as error:
                problem = str(error)
            shown.close()
            net = changes.net()
            shown.event(Ended(problem, text, net))
            if net:
                shown.event(Differs(net))
    return 0 if problem is None else ended_early(problem)


def ended_early(problem: str) -> int:
    """Say why a run did not come to its end; the exit status for that."""
    click.echo(f"wink: the run ended early: {fit(problem, PROBLEM_LENGTH)}", err=True)
    return 1
