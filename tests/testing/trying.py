"""Try single promises of a contract on broken subjects, in a pytest of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest


def only(contract: type[Any], test: str) -> type[Any]:
    """The contract with one of its tests."""
    assert callable(getattr(contract, test)), f"{contract.__name__} has no {test}"
    others = {name: None for name in dir(contract) if name.startswith("test_") and name != test}
    return type(contract.__name__, (contract,), {**others, "__module__": contract.__module__})


def assert_each_is_caught(pytester: pytest.Pytester, module: str, table: str, names: Sequence[str]) -> None:
    """Each row of `module.table`, a contract of something broken and a test, fails by that test and says the promise."""
    pytester.makepyfile(
        f"""
        from {module} import {table}
        from tests.testing.trying import only

        for number, (contract, test) in enumerate({table}):
            globals()[f"Test_{{number}}_{{contract.__name__}}"] = only(contract, test)
        """
    )
    passed, skipped, failed = pytester.inline_run("-p", "no:cacheprovider", "-p", "no:logging").listoutcomes()
    assert not skipped
    missed = {report.nodeid.split("::", 1)[1] for report in passed} - {
        report.nodeid.split("::", 1)[1] for report in failed
    }
    found = {report.nodeid.split("::")[1] for report in failed}
    wanted = {f"Test_{number}_{name}" for number, name in enumerate(names)}
    assert found == wanted, f"not caught: {sorted(wanted - found)} ({sorted(missed)})"
    silent = [report.nodeid for report in failed if "The promise: " not in report.longreprtext]
    assert not silent, f"they do not say what was promised: {silent}"
    early = [report.longreprtext for report in failed if report.when != "call"]
    assert not early, f"they do not fail in the test: {early}"
