"""Nothing of wink's gets into a repository, whatever the repository says of that; `test_matrix.py` has the other way."""

from __future__ import annotations

import pytest
from tests.state.checkouts import git
from tests.state.world import World


@pytest.mark.parametrize("ignored", [None, "!*\n", "!**\n!.gitignore\n", "!/*\n!/**\n!*/\n!*/**\n"])
@pytest.mark.parametrize("above", ["", "!.wink\n!.wink/**\n"])
def test_git_never_adds_what_is_in_wink(world: World, ignored: str | None, above: str) -> None:
    """The rule that counts lies deepest, in a directory that no repository can name."""
    git(world, "init", "-q")
    if ignored is not None:
        (world.work / ".wink").mkdir()
        (world.work / ".wink/.gitignore").write_text(ignored)
        git(world, "add", "-f", ".wink/.gitignore")
    if above:
        (world.work / ".gitignore").write_text(above)
    git(world, "add", ".")
    git(world, "commit", "-q", "-m", "first")

    world.ok("call", "read_file", "file_path=a.txt")
    world.ok("call", "write_file", "file_path=a.txt", "content=changed")
    world.ok("try", "--", "sh", "-c", "echo tried > tried.txt; echo h > $HOME/h")
    world.ok("checkpoint", "one", "--full")
    assert git(world, "status", "--porcelain", "-uall") == "M a.txt"
    git(world, "add", "-A")

    assert git(world, "diff", "--cached", "--name-only") == "a.txt"
