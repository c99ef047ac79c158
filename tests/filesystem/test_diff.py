"""How a change is shown."""

import pytest

from wink.filesystem import FileChange, FileVersion
from wink.filesystem.diffs import diff_text


def version(content: bytes | None, *, mode: int = 0o644, size: int | None = None) -> FileVersion:
    """A file with this content at hand."""
    return FileVersion("file", size if size is not None else len(content or b""), mode, load=lambda: content)


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (b"a\nb\n", b"a\nc\n", "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"),
        (b"a", b"a\n", "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"),
        (b"a\r\n", b"b\r\n", "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\r\n+b\r\n"),
        (b"a\x0cb\n", b"c\n", "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\x0cb\n+c\n"),
        (b"", b"a\n", "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+a\n"),
        (b"\0", b"a", "x: a binary file of 1 bytes became a file of 1 bytes\n"),
        (b"\0", b"%PDF-1.7\0", "x: a binary file of 1 bytes became a PDF of 9 bytes\n"),
        (
            b"\xff",
            b"a\n",
            "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-\\xff\n\\ No newline at end of file\n+a\n",
        ),
    ],
)
def test_a_modified_file_is_shown_by_its_lines(before: bytes, after: bytes, shown: str) -> None:
    """As git shows it; one line for what is binary."""
    assert FileChange("x", version(before), version(after)).diff() == shown


def test_new_and_deleted_files_are_compared_with_nothing() -> None:
    """`/dev/null` stands for it, so that `patch` understands."""
    assert (
        FileChange("x", None, version(b"a\n")).diff()
        == "diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n"
    )
    assert (
        FileChange("x", version(b"a\n"), None).diff()
        == "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    )


def test_what_has_no_lines_is_told_in_one() -> None:
    """Directories, modes that git has no words for, large files, and content that was let go."""
    directory = FileVersion("directory", 0, 0o755)
    large = version(None, size=20_000_000)
    known = FileVersion("file", 20_000_000, 0o644, find_digest=lambda: "abc")

    assert FileChange("d", None, directory).diff() == "d: created a directory\n"
    assert FileChange("d", directory, None).diff() == "d: deleted a directory\n"
    assert FileChange("f", None, large).diff() == "f: created a file of 20000000 bytes\n"
    assert FileChange("f", known, large).diff() == (
        "f: a file of 20000000 bytes (SHA-256 abc) became a file of 20000000 bytes\n"
    )
    assert FileChange("f", version(b"a"), version(b"b")).without_content().diff().startswith("f: a file of")
    assert FileChange("f", version(b"a"), version(b"a", mode=0o600)).diff() == "f: mode 644 became 600\n"
    assert FileChange("d", directory, FileVersion("directory", 0, 0o700)).diff() == "d: mode 755 became 700\n"


def test_links_modes_and_other_kinds_are_told_as_git_tells_them() -> None:
    """A link by where it leads; what is another kind of thing now is deleted and created."""
    link, other = FileVersion("link", 3, 0o777, "a/b"), FileVersion("link", 1, 0o777, "c")
    ends = "\\ No newline at end of file\n"

    assert FileChange("l", None, link).diff() == (
        f"diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+a/b\n{ends}"
    )
    assert FileChange("l", link, other).diff() == (
        "l: a link to a/b became a link to c\n"
        f"diff --git a/l b/l\n--- a/l\n+++ b/l\n@@ -1 +1 @@\n-a/b\n{ends}+c\n{ends}"
    )
    assert FileChange("l", link, version(b"")).diff().splitlines()[1::7] == [
        "deleted file mode 120000",
        "new file mode 100644",
    ]
    assert FileChange("f", version(b"a"), version(b"a", mode=0o755)).diff() == (
        "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n"
    )


def test_what_was_moved_is_a_rename_where_all_is_told_together() -> None:
    """And not a file that has gone and a new one."""
    one, two = FileChange("a", version(b"1\n2\n"), None), FileChange("b", None, version(b"1\n2\n3\n"), "a")
    large = FileVersion("file", 1 << 30, 0o644, find_digest=lambda: "abc")

    assert diff_text([one, two]) == (
        "diff --git a/a b/b\nsimilarity index 66%\nrename from a\nrename to b\n"
        "--- a/a\n+++ b/b\n@@ -1,2 +1,3 @@\n 1\n 2\n+3\n"
    )
    assert diff_text([FileChange("a", large, None), FileChange("b", None, large, "a")]) == (
        "diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n"
    )


def test_no_name_can_pass_for_lines_of_a_diff() -> None:
    """Somebody reads these before they accept what a program did; so names with controls in them stand in quotes, as in git."""
    forged = "x\n--- a/safe\n+++ b/safe\x1b[2J"

    told = FileChange(forged, version(b"a\n"), version(b"b\n")).diff()

    assert told == (
        r'diff --git "a/x\n--- a/safe\n+++ b/safe\033[2J" "b/x\n--- a/safe\n+++ b/safe\033[2J"' + "\n"
        r'--- "a/x\n--- a/safe\n+++ b/safe\033[2J"' + "\n"
        r'+++ "b/x\n--- a/safe\n+++ b/safe\033[2J"' + "\n@@ -1 +1 @@\n-a\n+b\n"
    )
    link, other = FileVersion("link", 3, 0o777, forged), FileVersion("link", 1, 0o777, "b")
    assert FileChange("l", link, other).diff().split("\n")[0].startswith(r'l: a link to "x\n--- a/safe')
