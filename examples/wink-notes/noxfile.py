"""The checks of this package: `nox` runs them all, `nox -s tests` some of them."""

import json
import sys
from importlib.metadata import PackageNotFoundError, distribution

import nox

nox.needs_version = ">=2025.5"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.download_python = "never"
nox.options.error_on_missing_interpreters = False

PROJECT = nox.project.load_toml("pyproject.toml")
PYTHONS = ["3.11", "3.12", "3.13"]
MAIN = f"{sys.version_info.major}.{sys.version_info.minor}"


def wink() -> list[str]:
    """The wink beside nox, where that came from a directory or a file; else the index has it."""
    try:
        said = json.loads(distribution("wink").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        return []
    return [f"wink @ {said['url']}"] if said.get("url", "").startswith("file:") else []


@nox.session(python=MAIN)
def lint(session: nox.Session) -> None:
    """Style and format."""
    session.install(*nox.project.dependency_groups(PROJECT, "lint"))
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")


@nox.session(python=MAIN)
def types(session: nox.Session) -> None:
    """Strict types."""
    session.install(*wink(), "-e", ".", *nox.project.dependency_groups(PROJECT, "types"))
    session.run("mypy")


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """The tests, and whether wink takes the plugin as it is installed."""
    session.install(*wink(), ".", *nox.project.dependency_groups(PROJECT, "test"))
    session.run("pytest", *session.posargs)
    session.run("wink", "plugins", "check")
