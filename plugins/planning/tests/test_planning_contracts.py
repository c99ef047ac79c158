"""The plan's section and tools keep what every section and tool promises."""

from __future__ import annotations

from typing import Any

import pytest

from wink.prompt import Section
from wink.testing import SectionContract, ToolCall, ToolContract
from wink_planning import PlanningStrategy, plan_section

BEGUN = (ToolCall("planning_setup_plan", '{"objective": "Fix it", "initial_steps": ["Look"]}'),)


@pytest.mark.parametrize("strategy", PlanningStrategy)
class TestSection(SectionContract):
    """Whatever the instructions are."""

    @pytest.fixture
    def section(self, strategy: PlanningStrategy) -> Section[Any]:
        return plan_section(strategy=strategy)


class Planning(ToolContract):
    """A tool of the section."""

    @pytest.fixture
    def section(self) -> Section[Any]:
        return plan_section()


class TestSetup(Planning):
    """As in its example."""

    tool = "planning_setup_plan"


class TestAdd(Planning):
    """To a plan that has begun."""

    tool, before = "planning_add_step", BEGUN


class TestUpdate(Planning):
    """Of a step that is there."""

    tool, before = "planning_update_step", BEGUN


class TestRead(Planning):
    """A plan that is there."""

    tool, before, arguments = "planning_read_plan", BEGUN, {}
