"""`wink run`: let a model work on a repository."""

from __future__ import annotations

import json

import click

from wink.cli._changes import ChangesSoFar
from wink.cli._compose import compose, open_workspace, workspace_options, wrong
from wink.cli._model import model_adapter
from wink.cli._progress import Progress, progress, showing
from wink.cli._settings import installed_catalog
from wink.cli._view import Line, diff_lines
from wink.errors import PromptEvaluationError, ScriptMismatch
from wink.runtime import ToolInvoked


@click.command()
@click.argument("task")
@workspace_options
@click.option("--model", metavar="KIND:NAME", help="The model, for example scripted:turns.toml.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line, for machines.")
def run(
    task: str,
    workspace: str,
    session: str,
    sections: tuple[str, ...],
    policies: tuple[str, ...],
    model: str | None,
    as_json: bool,
) -> int:
    """Let a model work on TASK in a workspace.

    Each tool call commits or leaves no trace. The exit status is 0 when the model finished, and 1 when the run ended
    before that, or went another way than its script expects.
    """
    if not task.strip():
        raise wrong("the task is empty; say what is to be done")
    if model is None:
        raise wrong("say which model is to do it, for example --model scripted:turns.toml")
    with open_workspace(workspace) as opened:
        catalog = installed_catalog(workspace)
        adapter = model_adapter(model, catalog)
        prompt = compose(opened, catalog, task=task, sections=sections, policies=policies)
        state = opened.session(session)
        changes = ChangesSoFar()
        state.dispatcher.subscribe(ToolInvoked, changes.see)
        with showing(state, progress(as_json=as_json)) as shown, prompt.resources:
            try:
                response = adapter.evaluate(prompt, session=state)
                text, problem = response.text, None
            except (PromptEvaluationError, ScriptMismatch) as error:
                text, problem = "", str(error)
            shown.close()
            _end(shown, changes, text, problem, as_json=as_json)
    return 0 if problem is None else 1


def _end(shown: Progress, changes: ChangesSoFar, text: str, problem: str | None, *, as_json: bool) -> None:
    if as_json:
        row = {"event": "end", "success": problem is None, "text": text, "problem": problem, "changed": changes.paths}
        click.echo(json.dumps(row, ensure_ascii=False))
        return
    files = changes.net()
    shown.say([Line("")])
    shown.say(
        [Line(f"changed  {', '.join(change.path for change in files)}" if files else "changed  nothing", "title")]
    )
    shown.say(diff_lines(files))
    if problem is not None:
        click.echo(f"wink: the run ended early: {problem}", err=True)
