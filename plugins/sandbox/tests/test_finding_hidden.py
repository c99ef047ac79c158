"""Which paths of a workspace are hidden: those that the rules deny by name, found without looking where none can be."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from wink.errors import SandboxUnavailable
from wink_rules import Rule, RulesPolicy
from wink_sandbox.hiding import Hiding, hiding_by, other_names

NAMES = ("a", "b", "B", ".env", ".ENV", "x.pem", "é", "c.d", "odd. ", "a:b")
PARTS = (*NAMES[:8], "*", "**", "*.pem", "?", "{a,b}", "[ab]", ".*")
READER: Any = SimpleNamespace(name="read_file", effects="read")

paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map("/".join)
patterns = st.lists(st.sampled_from(PARTS), min_size=1, max_size=4).map("/".join)
rules = st.builds(
    lambda wanted, excepted: Rule("deny", paths=[*wanted, *(f"!{one}" for one in excepted)]),
    st.lists(patterns, min_size=1, max_size=3),
    st.lists(patterns, max_size=1),
)


def hiding(*rules: Rule) -> Hiding:
    found = hiding_by([RulesPolicy(rules)], "run_command")
    assert found is not None
    return found


def made(root: str, files: Iterable[str]) -> list[str]:
    """Those of these files that can be there together."""
    for path in files:
        try:
            os.makedirs(os.path.dirname(f"{root}/{path}"), exist_ok=True)
            with open(f"{root}/{path}", "x"):
                pass
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            pass
    return [os.path.relpath(f"{above}/{name}", root) for above, _, names in os.walk(root) for name in names]


def is_covered(path: str, hidden: Iterable[str]) -> bool:
    return any(path == one or path.startswith(f"{one}/") for one in hidden)


@settings(max_examples=150, deadline=None)
@given(st.lists(paths, min_size=1, max_size=12), st.lists(rules, min_size=1, max_size=2))
@example(["a/b", "a/c.d"], [Rule("deny", paths=["a", "!a/b"])])
@example(["odd. ", "a:b", "é"], [Rule("deny", paths=["odd", "a", "É"])])
@example([".env./x", "b/.ENV"], [Rule("deny", paths="**/.env")])
def test_a_file_is_hidden_where_a_rule_denies_it_and_nowhere_else(files: list[str], rules: list[Rule]) -> None:
    """As looking at every path says."""
    policy = RulesPolicy(rules)
    with TemporaryDirectory() as root:
        there = made(root, files)

        hidden = hiding(*rules).find(root)

        for path in there:
            assert is_covered(path, hidden) is (policy.denied(READER, path) is not None), path


def test_no_directory_is_looked_into_where_nothing_can_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a rule at the top costs does not grow with what is beneath other directories."""
    made(str(tmp_path), [".env", "secrets/k", *(f"src/{n}/a" for n in range(50))])
    monkeypatch.setattr("wink_sandbox.hiding._hiding.MOST_LOOKED_AT", 8)

    assert hiding(Rule("deny", paths=[".env", "secrets/**", "conf/*.pem"])).find(str(tmp_path)) == (".env", "secrets")
    with pytest.raises(SandboxUnavailable, match="more than 8 names"):
        hiding(Rule("deny", paths="**/.env")).find(str(tmp_path))


def test_other_names_of_a_file_are_hidden_too(tmp_path: Path) -> None:
    """Also of one in a directory that is hidden as a whole, and in git's; links in a circle end."""
    root = str(tmp_path)
    made(root, [".env", "secrets/k", "src/a", ".git/HEAD", ".wink/x"])
    os.link(f"{root}/.env", f"{root}/src/copy")
    os.link(f"{root}/secrets/k", f"{root}/.git/k")
    os.symlink("..", f"{root}/src/up")
    os.symlink("secrets", f"{root}/named")

    found = hiding(Rule("deny", paths=["**/.env", "secrets/**", "named/k"])).find(root)

    assert found == (".env", ".git/k", "secrets", "src/copy")


def test_a_link_is_judged_by_its_own_name_and_what_it_leads_to_by_the_way(tmp_path: Path) -> None:
    """`deep/*.pem` means what is in the directory that `deep` leads to; a link that is hidden itself hides nothing else."""
    root = str(tmp_path)
    made(root, ["conf/key.pem", "conf/b", "real"])
    os.symlink("conf", f"{root}/deep")
    os.symlink("real", f"{root}/.env")
    os.symlink("/etc", f"{root}/out")

    assert hiding(Rule("deny", paths=["deep/*.pem", ".env", "out/passwd"])).find(root) == (".env", "conf/key.pem")


def test_what_is_shown_over_the_workspace_is_looked_at_too(tmp_path: Path) -> None:
    """What an earlier program of the same try made is hidden from the next one."""
    made(str(tmp_path / "root"), ["a"])
    made(str(tmp_path / "upper"), ["sub/.env"])

    found = hiding(Rule("deny", paths="**/.env"))

    assert found.find(str(tmp_path / "root"), str(tmp_path / "upper")) == ("sub/.env",)
    assert list(found.touched(["sub", "sub/.env", "sub/.env/x", "sub/b", "s"])) == ["sub", "sub/.env", "sub/.env/x"]


def test_a_directory_that_is_too_deep_is_refused(tmp_path: Path) -> None:
    """Descriptors are not without end."""
    deep = "/".join("d" * 450)
    os.makedirs(tmp_path / deep)

    with pytest.raises(SandboxUnavailable, match="lies 400 levels deep"):
        hiding(Rule("deny", paths="**/.env")).find(str(tmp_path))


def test_a_place_that_is_mounted_once_has_no_other_names(tmp_path: Path) -> None:
    """`other_names` looks at what is mounted, and whether the same file is there."""
    (tmp_path / "a").touch()

    assert list(other_names(str(tmp_path), ["a"])) == []
