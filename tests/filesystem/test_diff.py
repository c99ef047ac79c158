"""How a change is shown."""

import pytest

from wink.filesystem import FileChange, FileVersion


def version(content: bytes | None, *, mode: int = 0o644, size: int | None = None) -> FileVersion:
    """A file with this content at hand."""
    return FileVersion("file", size if size is not None else len(content or b""), mode, load=lambda: content)


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (b"a\nb\n", b"a\nc\n", "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"),
        (b"a", b"a\n", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"),
        (b"a\r\n", b"b\r\n", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\r\n+b\r\n"),
        (b"a\x0cb\n", b"c\n", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\x0cb\n+c\n"),
        (b"", b"a\n", "--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+a\n"),
        (b"\0", b"a", "x: a file of 1 bytes became a file of 1 bytes\n"),
        (b"\xff", b"a", "x: a file of 1 bytes became a file of 1 bytes\n"),
    ],
)
def test_a_modified_file_is_shown_by_its_lines(before: bytes, after: bytes, shown: str) -> None:
    """As git shows it; one line for what is binary."""
    assert FileChange("x", version(before), version(after)).diff() == shown


def test_new_and_deleted_files_are_compared_with_nothing() -> None:
    """`/dev/null` stands for it, so that `patch` understands."""
    assert FileChange("x", None, version(b"a\n")).diff() == "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n"
    assert FileChange("x", version(b"a\n"), None).diff() == "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"


def test_what_has_no_lines_is_told_in_one() -> None:
    """Directories, links, modes, large files, and content that was let go."""
    directory = FileVersion("directory", 0, 0o755)
    link = FileVersion("link", 3, 0o777, "a/b")
    large = version(None, size=1_000_000)

    assert FileChange("d", None, directory).diff() == "d: created a directory\n"
    assert FileChange("d", directory, None).diff() == "d: deleted a directory\n"
    assert FileChange("l", None, link, moved_from="k").diff() == "l: created a link to a/b, moved from k\n"
    assert FileChange("l", link, version(b"")).diff() == "l: a link to a/b became a file of 0 bytes\n"
    assert FileChange("f", None, large).diff() == "f: created a file of 1000000 bytes\n"
    assert FileChange("f", version(b"a"), version(b"b")).without_content().diff().startswith("f: a file of")
    assert FileChange("f", version(b"a"), version(b"a", mode=0o755)).diff() == "f: mode 644 became 755\n"
    assert FileChange("d", directory, FileVersion("directory", 0, 0o700)).diff() == "d: mode 755 became 700\n"


def test_no_name_can_pass_for_lines_of_a_diff() -> None:
    """Somebody reads these before they accept what a program did; so names with controls in them stand in quotes, as in git."""
    forged = "x\n--- a/safe\n+++ b/safe\x1b[2J"

    told = FileChange(forged, version(b"a\n"), version(b"b\n")).diff()

    assert told == (
        r'--- "a/x\n--- a/safe\n+++ b/safe\033[2J"' + "\n"
        r'+++ "b/x\n--- a/safe\n+++ b/safe\033[2J"' + "\n@@ -1 +1 @@\n-a\n+b\n"
    )
    link = FileVersion("link", 3, 0o777, forged)
    assert FileChange(forged, None, link).diff().count("\n") == 1
