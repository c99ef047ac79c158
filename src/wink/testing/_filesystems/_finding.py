"""What looking for files promises: `glob` and `grep`."""

from __future__ import annotations

import pytest

from wink.errors import PatternError
from wink.filesystem import Filesystem
from wink.testing._filesystems._promises import Promises

PROJECT = [
    "README.md", "setup.py", ".env", "src/a.py", "src/pkg/b.py", "src/pkg/deep/c.py", "src/pkg/data.json",
    "tests/test_a.py", "web/app.ts", "web/app.tsx", "[odd]/x.py", "docs/{a}.md",
]  # fmt: skip


class Finding(Promises):
    """Patterns mean what programmers expect, and results are bounded."""

    @pytest.fixture
    def project(self, files: Filesystem) -> Filesystem:
        """A small project."""
        for path in PROJECT:
            files.write(path, "")
        return files

    @pytest.mark.parametrize(
        ("pattern", "found"),
        [
            ("**/*.py", ["[odd]/x.py", "setup.py", "src/a.py", "src/pkg/b.py", "src/pkg/deep/c.py", "tests/test_a.py"]),
            ("*.py", ["setup.py"]),
            ("*", [".env", "README.md", "[odd]", "docs", "setup.py", "src", "tests", "web"]),
            ("src/*", ["src/a.py", "src/pkg"]),
            ("src/*.py", ["src/a.py"]),
            ("src/**", ["src/a.py", "src/pkg", "src/pkg/b.py", "src/pkg/data.json", "src/pkg/deep",
                        "src/pkg/deep/c.py"]),
            ("src/**/b.py", ["src/pkg/b.py"]),
            ("src/**/a.py", ["src/a.py"]),
            ("**/pkg/**/*.py", ["src/pkg/b.py", "src/pkg/deep/c.py"]),
            ("**/", ["[odd]", "docs", "src", "src/pkg", "src/pkg/deep", "tests", "web"]),
            ("*.{ts,md}", ["README.md"]),
            ("web/*.{ts,tsx}", ["web/app.ts", "web/app.tsx"]),
            ("**/{test_,}a.py", ["src/a.py", "tests/test_a.py"]),
            ("docs/{a}.md", ["docs/{a}.md"]),
            ("[[]odd]/*", ["[odd]/x.py"]),
            ("src/[!b]*", ["src/a.py", "src/pkg"]),
            ("we?/app.ts", ["web/app.ts"]),
            ("./setup.py", ["setup.py"]),
            ("SRC/*", []),
            ("nowhere/**", []),
        ],
    )  # fmt: skip
    def test_patterns_find_what_programmers_expect(self, project: Filesystem, pattern: str, found: list[str]) -> None:
        """`**` spans directories, none too; `*` stays within a name; hidden files are files."""
        assert sorted(match.path for match in project.glob(pattern)) == sorted(found)

    def test_a_pattern_is_relative_to_the_path(self, project: Filesystem) -> None:
        """Results are not: they can be given to `read`."""
        assert [match.path for match in project.glob("*.py", "src/pkg")] == ["src/pkg/b.py"]
        assert [match.path for match in project.glob("**/*.py", "./src/pkg/")] == ["src/pkg/b.py", "src/pkg/deep/c.py"]
        with pytest.raises(FileNotFoundError):
            project.glob("*", "nowhere")

    def test_glob_results_are_limited_and_say_so(self, project: Filesystem) -> None:
        """A pattern that fits everything must not become the whole reply."""
        found = project.glob("**/*.py", limit=2)

        assert len(found) == 2
        assert found.truncated
        assert not project.glob("setup.py", limit=1).truncated
        assert [(match.path, match.is_file) for match in project.glob("s*")] == [("setup.py", True), ("src", False)]

    @pytest.mark.parametrize("pattern", ["", "/etc/*", "../*", "a/../*", "a\\*", "*" * 1001, "{a,b}" * 7], ids=ascii)
    def test_patterns_that_cannot_be_are_refused(self, files: Filesystem, pattern: str) -> None:
        """Absolute ones, ones that lead out, and ones that would take the machine."""
        with pytest.raises(PatternError):
            files.glob(pattern)

    def test_ignored_files_are_left_out_on_request(self, files: Filesystem) -> None:
        """As git does: the deepest file that speaks decides, and nothing is taken back beneath an ignored directory."""
        files.write(".gitignore", "*.log\nbuild/\n!keep.log\n[\n")
        files.write("sub/.gitignore", "!debug.log\n/local.txt\n")
        for path in (
            "a.log", "keep.log", "build/keep.log", "sub/debug.log", "sub/b.log", "sub/local.txt", "sub/x/local.txt",
        ):  # fmt: skip
            files.write(path, "word\n")

        found = [match.path for match in files.glob("**/*.*", respect_ignore=True) if ".gitignore" not in match.path]

        assert found == ["keep.log", "sub/debug.log", "sub/x/local.txt"]
        assert [match.path for match in files.grep("word", respect_ignore=True)] == found
        assert len(files.grep("word")) == 7

    def test_lines_that_match_are_found_in_order(self, files: Filesystem) -> None:
        """Line numbers count from 1, positions are characters."""
        files.write("b.txt", "no\nthe été word\n")
        files.write("a/x.py", "word word\r\n\r\nlast word")

        found = files.grep("w[o]rd")

        assert [(match.path, match.line_number, match.line_content) for match in found] == [
            ("a/x.py", 1, "word word"),
            ("a/x.py", 3, "last word"),
            ("b.txt", 2, "the été word"),
        ]
        assert [match.line_content[match.match_start : match.match_end] for match in found] == ["word"] * 3

    @pytest.mark.parametrize("pattern", ["", "(", "[", "a\nb", "a" * 1001], ids=ascii)
    def test_what_is_no_regular_expression_is_refused(self, files: Filesystem, pattern: str) -> None:
        """With one error that names it, before any file is read."""
        with pytest.raises(PatternError):
            files.grep(pattern)

    def test_binary_files_are_passed_over(self, files: Filesystem) -> None:
        """Their lines mean nothing; a text in another encoding is searched all the same."""
        files.write_bytes("a.bin", b"\0word\n")
        files.write_bytes("b.txt", b"\xff word\n")

        assert [(match.path, match.line_content) for match in files.grep("word")] == [("b.txt", "\ufffd word")]

    @pytest.mark.parametrize(
        ("glob", "paths"),
        [
            ("*.py", ["a.py", "src/b.py"]),
            ("src/*.py", ["src/b.py"]),
            ("**/*.md", ["src/c.md"]),
            ("*.{py,md}", ["a.py", "src/b.py", "src/c.md"]),
        ],
    )
    def test_a_glob_chooses_the_files_that_are_searched(self, files: Filesystem, glob: str, paths: list[str]) -> None:
        """By name alone where it has no slash, as ripgrep's -g."""
        for path in ("a.py", "src/b.py", "src/c.md"):
            files.write(path, "word\n")

        assert [match.path for match in files.grep("word", glob=glob)] == paths

    def test_one_file_can_be_searched(self, files: Filesystem) -> None:
        """`path` may be a file; a missing one is an error and not an empty result."""
        files.write("a/b.txt", "word\n")

        assert [match.path for match in files.grep("word", "a/b.txt")] == ["a/b.txt"]
        assert [match.path for match in files.grep("word", "a")] == ["a/b.txt"]
        with pytest.raises(FileNotFoundError):
            files.grep("word", "c.txt")

    def test_grep_results_are_limited_and_say_so(self, files: Filesystem) -> None:
        """And lines are cut around the match."""
        files.write("a.txt", "x\n" * 10)
        files.write("b.js", "é" * 100_000 + "needle" + "y" * 100_000)

        assert len(files.grep("x", max_matches=3)) == 3
        assert files.grep("x", max_matches=3).truncated
        assert not files.grep("x", "a.txt", max_matches=10).truncated
        match = files.grep("NEEDLE", ignore_case=True)[0]
        assert match.clipped
        assert len(match.line_content) < 1000
        assert match.line_content[match.match_start : match.match_end] == "needle"

    def test_searching_sees_what_the_call_changed(self, files: Filesystem) -> None:
        """And nothing of it after the rollback."""
        files.write("a.txt", "old word\n")
        part = files.begin()
        part.handle.write("a.txt", "new\n")
        part.handle.write("b.txt", "new word\n")

        assert [match.path for match in part.handle.grep("word")] == ["b.txt"]
        assert [match.path for match in part.handle.glob("*.txt")] == ["a.txt", "b.txt"]
        part.undo()
        assert [match.path for match in files.grep("word")] == ["a.txt"]
