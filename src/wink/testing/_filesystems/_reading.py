"""What reading promises: `read`, `read_bytes`, `stat`, `exists`, `list`."""

from __future__ import annotations

import pytest

from wink.errors import FileTooLarge, NotText
from wink.filesystem import Filesystem
from wink.testing._filesystems._promises import Promises


class Reading(Promises):
    """Exact content by pages, Python's own errors, facts about files."""

    @pytest.mark.parametrize("text", ["", "a", "a\n", "a\r\nb", "\n\n", "\ufeffbom\n", "x\x0cy\u2028z\r", "\r\n\n\r"])
    def test_a_file_is_read_exactly(self, files: Filesystem, text: str) -> None:
        """An edit that is built from what was read must not change newlines or the end of the file."""
        files.write_bytes("a.txt", text.encode())

        result = files.read("a.txt")

        assert (result.content, result.path, result.truncated) == (text, "a.txt", False)
        assert files.read_bytes("a.txt") == text.encode()

    def test_pages_are_lines_and_add_up_to_the_file(self, files: Filesystem) -> None:
        """Reading page after page must show every line once."""
        content = "".join(f"line {number}\n" for number in range(10)) + "the last"
        files.write("a.txt", content)

        pages = [files.read("a.txt", offset=offset, limit=4) for offset in (0, 4, 8)]

        assert "".join(page.content for page in pages) == content
        assert [page.truncated for page in pages] == [True, True, False]
        assert {page.total_lines for page in pages} == {11}
        assert [(page.offset, page.limit) for page in pages] == [(0, 4), (4, 4), (8, 4)]

    def test_a_page_beyond_the_end_is_empty(self, files: Filesystem) -> None:
        """Models ask for one page too many; that is no error."""
        files.write("a.txt", "one\n")

        page = files.read("a.txt", offset=5, limit=5)

        assert (page.content, page.truncated, page.total_lines) == ("", False, 1)

    def test_long_lines_are_cut_on_request_and_named(self, files: Filesystem) -> None:
        """One minified file must not fill a model's context."""
        files.write("a.js", "short\n" + "x" * 5000 + "\nend")

        page = files.read("a.js", max_line_chars=10)

        assert page.content == "short\n" + "x" * 10 + "\nend"
        assert page.clipped_lines == (1,)
        assert page.truncated

    @pytest.mark.parametrize("before", ["", "x\n" * 5_000_000])
    def test_a_long_line_is_read_on_by_column(self, files: Filesystem, before: str) -> None:
        """Otherwise nobody could ever see its end; in a large file, which is streamed, as in a small one."""
        files.write("a.js", f"{before}short\n{'abcdefghij' * 30}\nend")
        first = before.count("\n")

        page = files.read("a.js", first, 3, max_line_chars=100, column=290)
        assert (page.content, page.clipped_lines) == ("\nabcdefghij\n", ())
        page = files.read("a.js", first + 1, 1, max_line_chars=100, column=199)
        assert (page.content, page.clipped_lines) == ("j" + "abcdefghij" * 9 + "abcdefghi\n", (first + 1,))
        for column in (3, 4, 300):
            page = files.read("a.js", first + 2, 1, max_line_chars=2, column=column)
            assert (page.content, page.truncated) == ("", False)

    @pytest.mark.parametrize(("offset", "limit"), [(-1, None), (0, -1)])
    def test_senseless_pages_are_refused(self, files: Filesystem, offset: int, limit: int | None) -> None:
        """A negative offset is a mistake, not a position from the end."""
        files.write("a.txt", "one\n")

        with pytest.raises(ValueError, match="from 0 on"):
            files.read("a.txt", offset, limit)
        with pytest.raises(ValueError, match="from 0 on"):
            files.read_bytes("a.txt", offset, limit)
        with pytest.raises(ValueError, match="from 0 on"):
            files.read("a.txt", column=-1)

    def test_bytes_are_read_in_parts(self, files: Filesystem) -> None:
        """The part that is there, however far the range reaches."""
        files.write_bytes("a.bin", bytes(range(10)))

        parts = [files.read_bytes("a.bin", *where) for where in ((0, 3), (3, 3), (8,), (8, 99), (10,), (99, 1), (0, 0))]

        assert parts == [b"\0\1\2", b"\3\4\5", b"\x08\x09", b"\x08\x09", b"", b"", b""]

    def test_binary_files_are_recognised(self, files: Filesystem) -> None:
        """The model is told the size and what to use instead, not shown mojibake."""
        files.write_bytes("a.png", b"\x89PNG\0\0")
        files.write_bytes("b.txt", b"caf\xe9\n")

        with pytest.raises(NotText, match=r"NUL bytes \(6 bytes\); use read_bytes"):
            files.read("a.png")
        with pytest.raises(NotText, match="byte 3"):
            files.read("b.txt")
        assert files.read("b.txt", encoding="latin-1").content == "café\n"

    def test_wide_encodings_are_text(self, files: Filesystem) -> None:
        """UTF-16 is full of NUL bytes and is text all the same."""
        files.write("a.txt", "one\ntwo\nthree", encoding="utf-16")

        assert files.read("a.txt", encoding="utf-16").total_lines == 3
        assert files.read("a.txt", offset=1, limit=1, encoding="utf-16").content == "two\n"

    def test_an_unknown_encoding_is_an_error(self, files: Filesystem) -> None:
        """Guessing would corrupt."""
        files.write("a.txt", "x")

        with pytest.raises(LookupError):
            files.read("a.txt", encoding="klingon")

    def test_large_files_are_read_by_pages(self, files: Filesystem) -> None:
        """A page of a log must not need the whole log in memory, and be the same page as of a small file."""
        lines = [f"{number:07d} é{'.' * (number % 200)}\n" for number in range(90_000)]
        files.write("big.log", "".join(lines))

        for offset in (0, 1, 49_999, 89_998):
            page = files.read("big.log", offset=offset, limit=3)
            assert page.content == "".join(lines[offset : offset + 3])
            assert page.total_lines == 90_000
            assert page.truncated == (offset + 3 < 90_000)
        assert files.read("big.log", offset=90_000, limit=3).content == ""

    def test_a_large_file_with_one_line_is_cut(self, files: Filesystem) -> None:
        """A page of one line may be the whole file."""
        files.write_bytes("one.json", b"[" + b"1," * 5_000_000 + b"1]\nend")

        page = files.read("one.json", limit=10, max_line_chars=20)

        assert page.content == "[1,1,1,1,1,1,1,1,1,1\nend"
        assert page.clipped_lines == (0,)

    def test_too_much_at_once_is_refused_with_the_remedy(self, files: Filesystem) -> None:
        """Silently giving half of it would be worse."""
        files.write_bytes("huge.bin", b"x\n" * (33 * 1024 * 1024))

        with pytest.raises(FileTooLarge, match="offset and limit"):
            files.read("huge.bin")
        with pytest.raises(FileTooLarge, match="offset and limit"):
            files.read_bytes("huge.bin")
        assert files.read("huge.bin", limit=1).content == "x\n"
        assert files.read_bytes("huge.bin", 10, 2) == b"x\n"

    def test_errors_are_pythons_own_with_the_path_as_given(self, files: Filesystem) -> None:
        """Programs catch what they know; the path in it is the workspace's, not the host's."""
        files.write("dir/a.txt", "a")

        for use in (files.read, files.read_bytes, files.open_read, files.stat, files.list, files.delete):
            with pytest.raises(FileNotFoundError) as missing:
                use("no/where.txt")
            assert missing.value.filename == "no/where.txt", use
        for use in (files.read, files.read_bytes, files.open_read):
            with pytest.raises(IsADirectoryError) as directory:
                use("dir")
            assert directory.value.filename == "dir", use
        for use in (files.read, files.stat, files.list):
            with pytest.raises(NotADirectoryError):
                use("dir/a.txt/b")
        with pytest.raises(IsADirectoryError):
            files.read("")
        with pytest.raises(NotADirectoryError):
            files.list("dir/a.txt")

    def test_stat_tells_kind_size_and_time(self, files: Filesystem) -> None:
        """Times are aware, so that they can be compared; the path is normalised."""
        files.write("dir/a.txt", "é\n")

        stat = files.stat("./dir//a.txt")

        assert (stat.path, stat.is_file, stat.is_directory, stat.size_bytes) == ("dir/a.txt", True, False, 3)
        assert stat.modified_at.tzinfo is not None
        assert not stat.is_link
        assert files.stat("dir").is_directory
        assert files.stat("").is_directory

    def test_a_slash_at_the_end_asks_for_a_directory(self, files: Filesystem) -> None:
        """As everywhere: `a.txt/` is not `a.txt`."""
        files.write("dir/a.txt", "a")

        assert files.exists("dir/")
        assert not files.exists("dir/a.txt/")
        assert not files.exists("dir/a.txt/b")
        with pytest.raises(NotADirectoryError):
            files.read("dir/a.txt/")
        with pytest.raises(NotADirectoryError):
            files.stat("dir/a.txt/")
        with pytest.raises(IsADirectoryError):
            files.write("new/", "x")
        with pytest.raises(NotADirectoryError):
            files.delete("dir/a.txt/")

    def test_a_listing_is_sorted_and_limited(self, files: Filesystem) -> None:
        """A directory of a million files must not become one reply."""
        for name in ("c", "a", "b"):
            files.write(f"{name}.txt", "")
        files.mkdir("d")

        listing = files.list(limit=2)

        assert [entry.name for entry in listing] == ["a.txt", "b.txt"]
        assert listing.truncated
        assert [(entry.path, entry.is_file, entry.is_directory) for entry in files.list()] == [
            ("a.txt", True, False), ("b.txt", True, False), ("c.txt", True, False), ("d", False, True),
        ]  # fmt: skip
        assert not files.list().truncated
        assert not files.list(limit=4).truncated
        with pytest.raises(ValueError, match="at least 1"):
            files.list(limit=0)
