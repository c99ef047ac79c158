"""A patch of Codex's is about the files that it names, however it is given; what cannot be read is no way around a rule."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from plugins.attach.tests.conftest import Project

RULES = """
[[rules]]
action = "deny"
paths = ["**/.env", "sub/kept/**"]

[[rules]]
action = "deny"
tools = "rm"
paths = "docs/**"
"""
PATCH = "*** Begin Patch\n{}\n*** End Patch"
DENIED = [
    ("apply_patch", PATCH.format("*** Update File: .env\n@@\n-a\n+b")),
    ("apply_patch", PATCH.format("   *** Update File: .env\n@@\n-a\n+b")),
    ("apply_patch", PATCH.format("\u00a0\t*** Add File: a/.env\r\n+b")),
    ("apply_patch", PATCH.format("*** Update File: a.txt\n*** Move to: sub/../.env\n@@\n-a\n+b")),
    ("apply_patch", PATCH.format("*** Add File: big\n" + "+x\n" * 2_000_000 + "*** Add File: .env\n+b")),
    ("apply_patch", PATCH.format("*** Delete File: docs/page.md")),
    ("apply_patch", PATCH.format("*** Add File: a.txt\n+b\n*** Rename: .env")),
    ("apply_patch", PATCH.format("*** Move to: a.txt")),
    ("apply_patch", "nothing that is known"),
    ("apply_patch", None),
    ("Bash", "apply_patch <<'EOF'\n" + PATCH.format("*** Add File: ROOT/.env\n+b") + "\nEOF"),
    ("Bash", "cd sub && apply_patch <<'EOF'\n" + PATCH.format("*** Add File: kept/b\n+b") + "\nEOF"),
    ("Bash", "bash -lc \"apply_patch '" + PATCH.format("*** Add File: ROOT/.env\n+b") + "'\""),
    ("Bash", "X=1 /usr/bin/applypatch $'" + PATCH.format("*** Add File: ROOT/a").replace("\n", "\\n") + "'"),
    ("Bash", "apply_patch <<EOF\n" + PATCH.format("*** Add File: ROOT/$(echo .env)\n+b") + "\nEOF"),
    ("Bash", "sed s/a/b/ p | apply_patch"),
    ("Bash", "apply_patch <<'A'\n" + PATCH.format("*** Add File: ROOT/a\n+b") + "\nA\napply_patch < other"),
]
ALLOWED = [
    ("apply_patch", PATCH.format("*** Add File: a.txt\n+*** Add File: .env\n+ b")),
    ("apply_patch", PATCH.format("  *** Update File: docs/page.md \n@@\n-a\n+b\n*** End of File")),
    ("Bash", "apply_patch <<'EOF'\n" + PATCH.format("*** Add File: ROOT/a.txt\n+b") + "\nEOF"),
    ("Bash", "grep -rn apply_patch src; git log --grep 'apply_patch'; which apply_patch"),
    ("Bash", "echo '" + PATCH.format("*** Add File: a") + "' > some.patch; git apply some.patch"),
]


@pytest.fixture
def codex(project: Project, rules: Callable[[str], None]) -> Project:
    """A project with Codex attached, and rules about paths."""
    project.agent = "codex"
    rules(RULES)
    project.attach()
    project.prompt("Go")
    return project


def test_rules_about_paths_hold_for_patches(codex: Project) -> None:
    """With blanks in front of its markers, of many megabytes, typed into a shell; and commands that only speak of one run."""
    for number, (tool, command) in enumerate(DENIED):
        text = command and command.replace("ROOT", str(codex.root))
        told = codex.before(f"d{number}", tool, command=text)
        assert told.get("permissionDecision") == "deny", (tool, (command or "")[:200])
    for number, (tool, command) in enumerate(ALLOWED):
        text = command.replace("ROOT", str(codex.root))
        assert codex.before(f"a{number}", tool, command=text) == {}, (tool, command[:200])


def test_relative_paths_of_a_patch_lead_from_where_the_agent_works(codex: Project) -> None:
    """Which is told with each event."""
    inside = {"tool_name": "apply_patch", "cwd": str(codex.root / "sub")}
    named = {"command": PATCH.format("*** Add File: kept/b\n+b")}

    told = codex.hook("PreToolUse", tool_use_id="t1", tool_input=named, **inside)

    assert told["permissionDecisionReason"].startswith("apply_patch on 'sub/kept/b' is denied")


def test_where_no_rule_is_about_paths_a_patch_in_a_shell_runs(project: Project, rules: Callable[[str], None]) -> None:
    """Nothing is in doubt then."""
    rules('[[rules]]\naction = "deny"\ntools = "read_file"\npaths = "**/.env"\n')
    project.agent = "codex"
    project.attach()

    assert project.before("t1", "Bash", command="sed s/a/b/ p | apply_patch") == {}
