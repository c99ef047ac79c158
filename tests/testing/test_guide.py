"""The tests in the guide for authors of plugins are tests, and pass."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

GUIDE = Path(__file__).parents[2] / "docs/guide/test-your-plugin.md"


@pytest.mark.timeout(600)
def test_the_guides_tests_pass(pytester: pytest.Pytester) -> None:
    """Put together as they stand, with the line for `conftest.py` where it belongs."""
    conftest, *blocks = re.findall(
        r"^```python\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    pytester.makeini("[pytest]\naddopts = --strict-markers\nfilterwarnings = error\n")
    pytester.makeconftest(conftest)
    pytester.makepyfile("\n".join(blocks))
    done = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-q")
    assert done.ret == 0, done.stdout.str()
    assert done.parseoutcomes()["passed"] > 50
