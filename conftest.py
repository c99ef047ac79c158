"""Run the examples in the pages: README and docs as Sybil sees them, docstrings as doctests."""

import gc
import os
import resource
import shutil
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

# How long a machine takes, to draw an example or to run one, says nothing of the code.
settings.register_profile("wink", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("wink")

pytest_plugins = ["wink.testing"]
collect_ignore = ["docs/conf.py", "tests/privacy.py"]  # those of Sphinx and import-linter, which the tests do without

pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(), SkipParser()],
    patterns=["README.md", "docs/**/*.md", "docs/guide/serve/*.md"],
    exclude="docs/tutorial/your-first-plugin.md",  # its files are written and run where its reader would, in tests/tutorial
).pytest()

# The key by which wink knows its own states is the test run's own, and not that of whoever runs the tests.
_OWN = tempfile.mkdtemp(prefix="wink-tests-")
os.environ["XDG_STATE_HOME"] = _OWN


_MANY = 500


def pytest_unconfigure() -> None:
    """Leave nothing behind."""
    shutil.rmtree(_OWN, ignore_errors=True)


@pytest.fixture(autouse=True)
def no_call_is_left_behind() -> Iterator[None]:
    """A test that leaves a call active would have every later one in this process work inside that call."""
    yield
    from wink.transactions import current_transaction

    assert current_transaction() is None, "this test left a call active"


@pytest.fixture
def thousand_files() -> Iterator[None]:
    """This process has more files open than `select` knows numbers, as busy servers do."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4096)), hard))
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    yield
    for fd in opened:
        os.close(fd)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture(autouse=True)
def descriptors_are_closed() -> Iterator[None]:
    """Tests that leave files open make a later one fail that has nothing to do with it: `select` knows 1,024 of them."""
    yield
    if _next_descriptor() > _MANY:
        gc.collect()
        assert _next_descriptor() <= _MANY, "this test, or one before it in this process, left hundreds of files open"


def _next_descriptor() -> int:
    fd = os.open(os.devnull, os.O_RDONLY)
    os.close(fd)
    return fd
