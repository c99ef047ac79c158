"""Programs that use the plugins as the specification names them, through calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import pytest

from wink.filesystem import Filesystem, InMemoryFilesystem
from wink.prompt import Prompt, PromptTemplate
from wink.session import Session
from wink_files import HostMount, VfsConfig, VfsToolsSection
from wink_planning import (
    AddStep,
    Plan,
    PlanningStrategy,
    PlanningToolsSection,
    PlanStatus,
    PlanStep,
    ReadPlan,
    SetupPlan,
    StepStatus,
    UpdateStep,
)

Worker = Callable[..., Any]


def test_a_plan_through_its_tools(model: Worker) -> None:
    """From nothing to completed, with numbers that are never given out twice."""
    session = Session()
    section = PlanningToolsSection(session, None, PlanningStrategy.PLAN_ACT_REFLECT)
    worker = model(Prompt(PromptTemplate(ns="spec", key="plan", sections=[section])), session)

    for name, arguments in (
        ("planning_add_step", {"steps": ["a"]}),
        ("planning_update_step", {"step_id": 1, "status": "done"}),
        ("planning_read_plan", {}),
    ):
        assert "no plan" in worker.call(name, **arguments).text
    assert worker.call("planning_setup_plan", objective="Ship it", initial_steps=["Build"]).success
    assert worker.call("planning_add_step", steps=["Test", "Tell"]).success
    begun = session[Plan].latest()
    assert begun is not None
    assert (begun.objective, begun.status) == ("Ship it", "active")
    assert begun.steps == (PlanStep(1, "Build", "pending"), PlanStep(step_id=2, title="Test"), PlanStep(3, "Tell"))
    assert worker.call("planning_update_step", step_id=1, status="in_progress").success
    assert worker.call("planning_update_step", step_id=1, title="Build it", status="done").success
    for number in (2, 3):
        assert worker.call("planning_update_step", step_id=number, status="done").success
    plan = session[Plan].latest()
    assert plan is not None
    assert (plan.status, plan.steps[0]) == ("completed", PlanStep(1, "Build it", "done"))
    assert worker.call("planning_read_plan").result.value == plan
    assert (
        worker.call("planning_setup_plan", objective="Again", initial_steps=["New"]).result.value.steps[0].step_id == 4
    )


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("planning_setup_plan", {"objective": " "}),
        ("planning_add_step", {"steps": ["x" * 501]}),
        ("planning_add_step", {"steps": [""]}),
        ("planning_update_step", {"step_id": 9, "status": "done"}),
        ("planning_update_step", {"step_id": 1, "status": "started"}),
        ("planning_update_step", {"step_id": 1, "state": "done"}),
    ],
)
def test_a_plan_refuses_what_makes_no_sense(model: Worker, name: str, arguments: dict[str, Any]) -> None:
    """And stays what it was."""
    worker = model(Prompt(PromptTemplate(ns="spec", key="plan", sections=[PlanningToolsSection()])))
    worker.call("planning_setup_plan", objective="Ship it", initial_steps=["Build"])
    before = worker.session[Plan].latest()

    assert not worker.call(name, **arguments).success
    assert worker.session[Plan].latest() == before


def test_a_plan_follows_events_too() -> None:
    """A program may dispatch what the tools dispatch."""
    session = Session()
    PlanningToolsSection(session=session, config=None, strategy=PlanningStrategy.GOAL_DECOMPOSE_ROUTE_SYNTHESISE)

    session.dispatch(SetupPlan(objective="Ship it", initial_steps=("Build",)))
    session.dispatch(AddStep(steps=("Test",)))
    session.dispatch(UpdateStep(step_id=2, title="Test it", status="done"))

    plan = session[Plan].latest()
    assert plan is not None
    assert [(step.title, step.status) for step in plan.steps] == [("Build", "pending"), ("Test it", "done")]
    assert ReadPlan() == ReadPlan()
    assert (set(get_args(StepStatus)), set(get_args(PlanStatus))) == (
        {"pending", "in_progress", "done"},
        {"active", "completed"},
    )
    assert PlanningToolsSection().strategy is PlanningStrategy.REACT


def test_the_file_tools_by_their_arguments(model: Worker) -> None:
    """Every tool with every argument that the specification names."""
    files, session = InMemoryFilesystem(), Session()
    section = VfsToolsSection(session=session, config=VfsConfig())
    prompt = Prompt(PromptTemplate(ns="spec", key="files", sections=[section])).bind(resources={Filesystem: files})
    worker = model(prompt, session)

    assert worker.call("write_file", file_path="src/a.py", content="x = 1\ny = 1\n").success
    assert worker.call("write_file", file_path="src/a.py", content="x = 1\ny = 1\nz = 2\n").success
    assert "z = 2" in worker.call("read_file", file_path="src/a.py").text
    assert "z = 2" not in worker.call("read_file", file_path="src/a.py", offset=0, limit=2).text
    edit = {"file_path": "src/a.py", "old_string": "= 1", "new_string": "= 3"}
    assert not worker.call("edit_file", **edit).success
    assert worker.call("edit_file", **edit, replace_all=True).success
    assert files.read("src/a.py").content == "x = 3\ny = 3\nz = 2\n"
    assert "src" in worker.call("ls").text
    assert "a.py" in worker.call("ls", path="src").text
    assert "src/a.py" in worker.call("glob", pattern="**/*.py").text
    assert "src/a.py" in worker.call("glob", pattern="*.py", path="src").text
    assert "src/a.py:3" in worker.call("grep", pattern="z = \\d").text
    assert "src/a.py:3" in worker.call("grep", pattern="z = \\d", path="src", glob="*.py").text
    assert worker.call("move_file", source_path="src/a.py", target_path="b.py").success
    assert worker.call("rm", path="b.py").success
    assert not files.exists("b.py")


def test_what_was_not_read_is_not_overwritten(model: Worker, tmp_path: Any) -> None:
    """By default; files of the host can be mounted, and stay what they are."""
    (tmp_path / "a.txt").write_text("one\n")
    mounts = (HostMount(host_path="a.txt", mount_path="docs"),)
    section = VfsToolsSection(config=VfsConfig(mounts=mounts, allowed_host_roots=(tmp_path,)))
    worker = model(Prompt(PromptTemplate(ns="spec", key="files", sections=[section])))

    assert not worker.call("write_file", file_path="docs/a.txt", content="two\n").success
    assert worker.call("read_file", file_path="./docs/a.txt").success
    assert worker.call("write_file", file_path="docs/a.txt", content="two\n").success
    assert (tmp_path / "a.txt").read_text() == "one\n"


def test_two_sections_of_plugins_in_one_prompt(model: Worker) -> None:
    """Their tools do not get into each other's way, and a template serves several sessions."""
    template = PromptTemplate(ns="spec", key="both", sections=[PlanningToolsSection(), VfsToolsSection()])
    workers = [model(Prompt(template)) for _ in range(2)]

    workers[0].call("planning_setup_plan", objective="Ship it")
    workers[0].call("write_file", file_path="a.txt", content="x")

    assert [worker.session[Plan].latest() is None for worker in workers] == [False, True]
    assert [worker.prompt.filesystem().exists("a.txt") for worker in workers] == [True, False]
