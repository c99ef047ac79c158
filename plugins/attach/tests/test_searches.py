"""A search shows lines of files that nobody has named: not those that a rule denies to read."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from plugins.attach.tests.conftest import Project

from wink_attach._hidden import Hidden
from wink_rules import Rule, RulesPolicy

PATHS = (".env", "a.txt", "src", "src/main.py", "src/keys/one.pem", "src/.env.py")
HIDDEN = Hidden([RulesPolicy([Rule("deny", paths=["**/.env", "src/keys/**"]), Rule("ask", paths="a.txt")])])


@pytest.mark.parametrize(
    ("directory", "glob", "found"),
    [
        ("", "", ".env"),
        ("/", "", ".env"),
        ("/srv", "", ".env"),
        (".", "*.txt", None),
        ("", "*.{pem,py}", "src/keys/one.pem"),
        ("", "keys/*", "src/keys/one.pem"),
        ("", "!.env", ".env"),
        ("", "*.py *.md", ".env"),
        ("", ".ENV", ".env"),
        ("", "[", ".env"),
        ("src", "", "src/keys/one.pem"),
        ("/srv/project/src/../src", "*.py", None),
        ("src/main.py", "", None),
        ("src/keys/one.pem", "", "src/keys/one.pem"),
        ("/srv/projects", "", None),
        ("../elsewhere", "", None),
    ],
)
def test_what_a_search_would_show(directory: str, glob: str, found: str | None) -> None:
    """By where it looks, and the one glob that it is given; what such a glob means is doubted towards more."""
    assert HIDDEN.within("/srv/project", "", (directory, glob), PATHS) == found


def test_without_rules_that_hide_nothing_is_looked_at() -> None:
    """And rules are taken as they are now."""
    nothing = Hidden([RulesPolicy([Rule("deny", tools="rm", paths="**")])])

    assert nothing.within("/srv/project", "", ("", ""), PATHS) is None
    assert nothing.now([RulesPolicy([Rule("deny", paths="a.txt")])]).has("a.txt")


def test_an_agents_search_shows_no_line_of_what_may_not_be_read(project: Project, rules: Callable[[str], None]) -> None:
    """Names of files are no lines; and it is said how to search all the same."""
    (project.root / ".env").write_text("TOKEN=x\n")
    rules('[[rules]]\naction = "deny"\npaths = "**/.env"\n')
    project.attach()

    denied = project.before("t1", "Grep", pattern="TOKEN", output_mode="content")
    assert (
        "Grep would show lines of '.env', which a rule denies to read; search in" in denied["permissionDecisionReason"]
    )
    assert project.before("t2", "Grep", pattern="TOKEN", output_mode="content", path=str(project.root / "src")) == {}
    assert project.before("t3", "Grep", pattern="TOKEN", output_mode="content", glob="*.py") == {}
    assert project.before("t4", "Grep", pattern="TOKEN") == {}
