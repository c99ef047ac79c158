"""`wink replay`: play a recorded run again, without its model."""

from __future__ import annotations

import os
from typing import Any

import click

from wink.cli._compose import compose, participants
from wink.cli._opening import open_workspace
from wink.cli._standing import workspace_option
from wink.cli._wrong import wrong
from wink.cli.settings import installed_catalog
from wink.cli.work._changes import ChangesSoFar
from wink.cli.work._progress import progress, showing
from wink.cli.work._story import Began, Differs, Ended
from wink.errors import PromptEvaluationError
from wink.runtime import ToolInvoked
from wink.testing import Recording, ReplayAdapter, ReplayMismatch


@click.command()
@click.argument("recording", metavar="FILE", type=click.Path(exists=True, dir_okay=False))
@workspace_option
@click.option("--session", default="default", show_default=True, metavar="NAME", help="The session to work in.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line, for machines.")
def replay(recording: str, workspace: str, session: str, as_json: bool) -> int:
    """Play the run in FILE again, which `wink run --record FILE` wrote.

    The model says what it said then, and its calls are executed on the workspace; take them back with `wink undo`. What the
    model is sent is held against what it was sent then. The exit status is 0 when the run came to the same end, and 1 at
    the first difference, which is shown: a changed prompt, tool or result.
    """
    played = Recording.read(recording)
    about = _about(played.about, recording)
    adapter = ReplayAdapter(played)
    with open_workspace(workspace) as opened:
        catalog = installed_catalog(workspace)
        prompt = compose(opened, catalog, **about)
        state = participants(catalog, about["sections"], about["policies"]).watch(opened.session(session))
        changes = ChangesSoFar()
        state.dispatcher.subscribe(ToolInvoked, changes.see)
        with showing(state, progress(as_json=as_json)) as shown, prompt.resources:
            shown.event(Began("A replay", os.path.abspath(workspace), about["task"], f"of {recording}"))
            text, problem = "", None
            try:
                text = adapter.evaluate(prompt, session=state).text
            except (PromptEvaluationError, ReplayMismatch) as error:
                problem = str(error)
            if problem is None and adapter.unplayed:
                problem = f"the run ended, and {adapter.unplayed} turns of the recording were not asked for"
            shown.close()
            net = changes.net()
            shown.event(Ended(problem, text, net))
            if net:
                shown.event(Differs(net))
    if problem is None:
        return 0
    click.echo(f"wink: the replay went another way: {problem}", err=True)
    return 1


def _about(about: Any, recording: str) -> dict[str, Any]:
    """What `compose` needs of a recording's head."""
    task, sections, policies = (about.get(name) for name in ("task", "sections", "policies"))
    names = [*(sections or ()), *(policies or ())]
    if not isinstance(task, str) or not all(isinstance(name, str) for name in names):
        raise wrong(
            f"{recording} was not recorded with `wink run --record`; a program that recorded it can play it, "
            "with wink.testing.ReplayAdapter"
        )
    return {"task": task, "sections": tuple(sections or ()), "policies": tuple(policies or ())}
