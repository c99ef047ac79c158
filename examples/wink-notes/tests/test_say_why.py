"""The policy: no deletion without a reason."""

import pytest
from wink import Catalog, Section, ToolPolicy
from wink.testing import Harness, PolicyContract, allowed, denied

from wink_notes import NotesSettings, notebook_section, say_why_policy


class TestSayWhy(PolicyContract):
    """What wink expects of every policy, along these steps."""

    files = {"old.py": "1\n", "older.py": "2\n"}
    steps = (
        allowed("read_file", file_path="old.py"),
        denied("rm", path="old.py"),
        allowed("notes_add", topic="older.py", text="nobody imports it"),
        denied("rm", path="old.py"),
        allowed("notes_add", topic="./old.py", text="replaced by new.py"),
        allowed("rm", path="old.py"),
        allowed("write_file", file_path="old.py", content="3\n"),
        denied("rm", path="old.py"),
    )

    @pytest.fixture
    def policy(self) -> ToolPolicy:
        """The policy as a template would use it."""
        return say_why_policy()

    @pytest.fixture
    def section(self) -> Section:
        """The sections whose tools the steps call."""
        files = Catalog.installed().use("section", "files.files")
        return Section(title="Work", key="work", children=[files, notebook_section()])


@pytest.fixture
def work(harness: Harness) -> Harness:
    """Files, a notebook, and the policy."""
    harness.use("section", "files.files")
    harness.use("section", "notes.notebook")
    harness.use("policy", "notes.say-why")
    harness.write("old.py", "1\n")
    harness.call("read_file", file_path="old.py")
    return harness


def test_the_model_is_told_how_to_go_on(work: Harness) -> None:
    """A denial is an instruction."""
    reply = work.call("rm", path="old.py")

    assert not reply.success
    assert "call notes_add with topic='old.py'" in reply.text
    assert "old.py" in work.tree()


def test_a_deletion_that_fails_leaves_the_reason(work: Harness) -> None:
    """What did not happen has used nothing up."""
    work.call("notes_add", topic="nothing.py", text="it is in the way")

    assert not work.call("rm", path="nothing.py").success
    work.write("nothing.py", "")
    work.call("read_file", file_path="nothing.py")
    assert work.call("rm", path="nothing.py").success


def test_other_tools_can_be_governed() -> None:
    """The settings name them; one that does not say what it deletes is denied."""
    assert say_why_policy(settings=NotesSettings(deleting=("drop_table",))).name == "notes.say-why"
