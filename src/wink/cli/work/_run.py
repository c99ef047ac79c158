"""`wink run`: let a model work on a repository."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from wink.adapters import RecordJournal
from wink.cli._compose import compose, participants, workspace_options
from wink.cli._model import model_adapter
from wink.cli._opening import open_workspace
from wink.cli._shorten import fit, one_line
from wink.cli._tools_file import named_files
from wink.cli._wrong import named_content, wrong
from wink.cli.settings import installed_catalog
from wink.cli.work._ask import approvals_for, shown_arguments
from wink.cli.work._changes import ChangesSoFar
from wink.cli.work._progress import progress, showing
from wink.cli.work._story import Began, Differs, Ended
from wink.errors import PromptEvaluationError, RunSuspended, ScriptMismatch
from wink.limits import Heartbeat
from wink.runtime import ToolInvoked
from wink.tools import Image

if TYPE_CHECKING:
    from wink.workspace import Workspace

PROBLEM_LENGTH: Final = 400
"""How much of a problem is told, in characters; it can quote a whole reply."""
WAITS: Final = 3
"""The exit status of a run that waits for approval."""
_LAST: Final = "last"


@click.command()
@click.argument("task", required=False)
@workspace_options
@click.option("--model", metavar="KIND:NAME", help="The model, for example openai:NAME or scripted:turns.toml.")
@click.option("--base-url", metavar="URL", help="Where the model is, if not at its provider's.")
@click.option(
    "--resume",
    is_flag=False,
    flag_value=_LAST,
    metavar="[RUN]",
    help="Go on with a run, by default with the last one that can be; `wink runs` lists them.",
)
@click.option("--no-input", is_flag=True, help="Never ask; suspend the run where somebody has to be asked.")
@click.option(
    "--image",
    "images",
    multiple=True,
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Show an image to the model together with the task.",
)
@click.option(
    "--record", metavar="FILE", type=click.Path(dir_okay=False), help="Write the run to FILE, for `wink replay`."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line, for machines.")
def run(
    task: str | None,
    workspace: str,
    session: str,
    sections: tuple[str, ...],
    policies: tuple[str, ...],
    model: str | None,
    base_url: str | None,
    resume: str | None,
    no_input: bool,
    images: tuple[str, ...],
    record: str | None,
    as_json: bool,
) -> int:
    """Let a model work on TASK in a workspace.

    Each tool call commits or leaves no trace. The exit status is 0 when the model finished, 1 when the run ended before
    that, or went another way than its script expects, and 3 when it waits for approval. A run that did not come to its
    end can be resumed, and executes nothing twice.
    """
    plan: dict[str, Any] = {
        "task": task,
        "model": model,
        "sections": list(sections),
        "policies": list(policies),
        "base_url": base_url,
        "overrides": click.get_current_context().meta.get("wink.overrides"),
        "tools": " ".join(named_files()) or None,
    }
    way = _Way(tuple(_image(path) for path in images), record, no_input=no_input, as_json=as_json)
    if resume is None:
        _check_new(plan)
        with open_workspace(workspace) as opened:
            return _work(opened, plan, session, None, way)
    if record is not None:
        raise wrong("a recording begins where its run begins; leave out --record, or --resume")
    if task is not None:
        raise wrong("a run goes on with the task that it was begun with; leave out the task, or --resume")
    with (
        open_workspace(workspace) as opened,
        RecordJournal.resume(opened, "" if resume == _LAST else resume) as journal,
    ):
        plan = _resumed(journal, plan)
        return _work(opened, plan, journal.session, journal, way)


class _Way(NamedTuple):
    """How a run is worked on; what it works on is its plan, which is kept."""

    images: tuple[Image, ...]
    record: str | None
    no_input: bool
    as_json: bool


def _image(path: str) -> Image:
    data = named_content(path, "the image")
    try:
        return Image(data)
    except ValueError as error:
        raise wrong(f"{path} cannot be shown to a model: {error}") from None


def _check_new(plan: Mapping[str, Any]) -> None:
    if plan["task"] is None:
        raise wrong("missing argument 'TASK'; say what is to be done, or go on with a run with --resume")
    if not plan["task"].strip():
        raise wrong("the task is empty; say what is to be done")
    if plan["model"] is None:
        raise wrong("say which model is to do it, for example --model openai:NAME, or --model scripted:turns.toml")


def _resumed(journal: RecordJournal, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a run was begun with, and a model in its place if one is given.

    What sends keys elsewhere, or lets a workspace speak to the model, has to be given again: the workspace only tells.
    """
    plan = dict(journal.plan)
    for name, option in (("base_url", "--base-url"), ("overrides", "--overrides"), ("tools", "--tools")):
        if plan.get(name) is not None and given[name] is None:
            raise wrong(f"run {journal.run_id} was begun with {option} {plan[name]}; give it again to go on")
        plan[name] = given[name]
    if given["model"] is not None:
        plan["model"] = given["model"]
    for name in ("sections", "policies"):
        if given[name] and given[name] != plan.get(name):
            raise wrong(f"run {journal.run_id} goes on with the {name} that it was begun with; leave them out")
    return plan


def _work(
    opened: Workspace,
    plan: Mapping[str, Any],
    session: str,
    resumed: RecordJournal | None,
    way: _Way,
) -> int:
    catalog = installed_catalog(opened.root)
    adapter = model_adapter(plan["model"], catalog, base_url=plan["base_url"])
    if way.record is not None:
        from wink.testing import RecordingAdapter

        about = {name: plan[name] for name in ("task", "model", "sections", "policies")}
        adapter = RecordingAdapter(adapter, way.record, about=about)
    prompt = compose(opened, catalog, task=plan["task"], sections=plan["sections"], policies=plan["policies"])
    state = participants(catalog, plan["sections"], plan["policies"]).watch(opened.session(session))
    changes, heart = ChangesSoFar(), Heartbeat()
    state.dispatcher.subscribe(ToolInvoked, changes.see)
    text, problem, waits = "", None, None
    with (
        showing(state, progress(as_json=way.as_json)) as shown,
        prompt.resources,
        _begun(opened, session, plan, resumed) as journal,
    ):
        heart.add_callback(lambda: None if heart.progress is None else shown.event(heart.progress))
        shown.event(Began("A run", os.path.abspath(opened.root), plan["task"], f"by {plan['model']}"))
        try:
            text = adapter.evaluate(
                prompt,
                session=state,
                heartbeat=heart,
                run_context=None if journal is None else journal.context,
                journal=journal,
                resume=None if journal is None else journal.state,
                images=way.images,
                approvals=approvals_for(opened.filesystem, no_input=way.no_input, suspends=True, before=shown.close),
            ).text
        except RunSuspended as error:
            problem, waits = str(error), error
        except PromptEvaluationError as error:
            problem = str(error)
        except ScriptMismatch as error:
            problem, journal = str(error), None  # a script says the same once more
        except BaseException:
            shown.close()
            _tell_resume(journal)
            raise
        shown.close()
        net = changes.net()
        shown.event(Ended(problem, text, net))
        if net:
            shown.event(Differs(net))
    if waits is not None:
        return _tell_waiting(waits, journal)
    if problem is None:
        return 0
    status = ended_early(problem)
    _tell_resume(journal)
    return status


def _begun(
    opened: Workspace, session: str, plan: Mapping[str, Any], resumed: RecordJournal | None
) -> AbstractContextManager[RecordJournal | None]:
    """The journal of the run: a new one, now that it is clear that it can begin; none where nothing can be stored."""
    if resumed is not None:
        return nullcontext(resumed)
    return nullcontext() if opened.filesystem.read_only else RecordJournal.begin(opened, session=session, plan=plan)


def ended_early(problem: str) -> int:
    """Say why a run did not come to its end; the exit status for that."""
    click.echo(f"wink: the run ended early: {fit(problem, PROBLEM_LENGTH)}", err=True)
    return 1


def _tell_waiting(waits: RunSuspended, journal: RecordJournal | None) -> int:
    """Say which calls have to be answered, and how."""
    click.echo("wink: the run waits for approval:", err=True)
    for request in waits.requests:
        line = f"  {request.id}  {request.tool} {shown_arguments(request, 60)}: {request.reason}"
        click.echo(one_line(fit(line, PROBLEM_LENGTH)), err=True)
    first = waits.requests[0].id
    click.echo(f"wink: answer with `wink approve {first}` or `wink deny {first}`", err=True)
    _tell_resume(journal)
    return WAITS


def _tell_resume(journal: RecordJournal | None) -> None:
    if journal is not None:
        click.echo(f"wink: `wink run --resume {journal.run_id}` goes on with it", err=True)
