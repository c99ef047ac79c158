"""The official conformance suite in front of `wink serve --http`, in both eras of the protocol."""

from __future__ import annotations

import json
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from plugins.mcp.tests.conformance.fixture import SECTIONS, installed
from plugins.mcp.tests.conformance.reasons import FAILING_CHECKS, NOT_PASSED, REVISIONS, table
from plugins.mcp.tests.serving import served
from tests.agents import npm

PAGE = Path(__file__).parents[4] / "docs/explanation/mcp-conformance.md"
GOOD = {"SUCCESS", "SKIPPED", "INFO", "WARNING"}
Checks = dict[str, dict[str, list[tuple[str, str, str]]]]
"""By revision and scenario: each check's name, outcome and message."""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a server with the fixture plugin answers."""
    workspace, plugin = tmp_path_factory.mktemp("workspace"), tmp_path_factory.mktemp("plugin")
    with installed(plugin) as path:
        sections = [option for name in SECTIONS for option in ("--section", name)]
        with served(workspace, *sections, "--no-token", environment={"PYTHONPATH": path}) as url:
            yield url


@pytest.fixture(scope="module")
def checks(url: str, tmp_path_factory: pytest.TempPathFactory) -> Checks:
    """Every check of every scenario that a revision has."""
    found: Checks = {}
    for revision in REVISIONS:
        place = tmp_path_factory.mktemp("results")
        command = [str(npm.program("conformance")), "server", "--url", url, "--suite", "all"]
        command += ["--spec-version", revision, "--timeout", "20000", "--output-dir", str(place)]
        environment = {"PATH": npm.path(), "HOME": str(place)}
        subprocess.run(command, cwd=place, env=environment, capture_output=True, check=False, timeout=200)
        found[revision] = defaultdict(list)
        for written in place.glob("server-*/checks.json"):
            name = re.sub(r"-\d{4}-\d\d-\d\dT[\d-]+Z$", "", written.parent.name.removeprefix("server-"))
            for check in json.loads(written.read_text()):
                found[revision][name].append((check["id"], check["status"], check.get("errorMessage") or ""))
    return found


@pytest.mark.timeout(500)
@pytest.mark.parametrize("revision", REVISIONS)
def test_every_scenario_passes_or_is_listed_with_the_reason(revision: str, checks: Checks) -> None:
    """Nothing fails that the page does not explain."""
    assert len(checks[revision]) > 30, "the suite did not run"
    unexplained = [
        (scenario, check, message)
        for scenario, done in checks[revision].items()
        for check, status, message in done
        if status not in GOOD
        and (scenario not in NOT_PASSED or check not in FAILING_CHECKS.get(scenario, frozenset({check})))
    ]
    assert unexplained == []


@pytest.mark.timeout(500)
def test_what_is_listed_does_fail(checks: Checks) -> None:
    """A reason that has become untrue is taken off the list."""
    failing = {
        scenario
        for done in checks.values()
        for scenario, results in done.items()
        if any(status not in GOOD for _, status, _ in results)
    }
    assert failing == set(NOT_PASSED)


@pytest.mark.timeout(500)
@pytest.mark.parametrize("revision", REVISIONS)
def test_every_message_on_the_wire_is_as_the_schema_wants_it(revision: str, checks: Checks) -> None:
    """The suite compares each message with the schema of the revision, whatever else a scenario is about."""
    wire = [status for done in checks[revision].values() for check, status, _ in done if check == "wire-schema-valid"]
    assert len(wire) > 20
    assert set(wire) == {"SUCCESS"}


@pytest.mark.timeout(500)
def test_the_page_shows_what_came_out(checks: Checks) -> None:
    """The tables of docs/explanation/mcp-conformance.md are those of this run."""
    passed: dict[str, tuple[str, ...]] = {
        scenario: tuple(revision for revision in REVISIONS if checks[revision].get(scenario))
        for scenario in {scenario for done in checks.values() for scenario in done} - set(NOT_PASSED)
    }
    assert table(passed) in PAGE.read_text(), f"the tables should be:\n{table(passed)}"
