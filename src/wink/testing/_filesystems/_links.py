"""What links promise: relative ones that stay inside work, what leads out is refused."""

from __future__ import annotations

import pytest

from wink.errors import PathRefused
from wink.filesystem import Filesystem
from wink.testing._filesystems._promises import Promises, contents, exactly, needs


def linked(files: Filesystem) -> Filesystem:
    """A tree with links of every kind."""
    files.write("dir/a.txt", "a\n")
    part = files.begin()
    with part.changing("links") as frame:
        frame.symlink("to_file", "dir/a.txt")
        frame.symlink("to_dir", "dir")
        frame.symlink("dir/up", "..")
        frame.symlink("loop", "loop")
        frame.symlink("dangling", "nowhere")
    part.prepare()
    part.publish()
    return files


class Links(Promises):
    """Repositories have links; nothing behind one is outside."""

    @needs("has_links")
    def test_links_inside_are_followed(self, files: Filesystem) -> None:
        """Reading and writing go to what a link leads to, which stays a link."""
        linked(files).write("to_dir/b.txt", "b\n")
        files.edit("to_file", "a", "A")
        files.write("to_file", "B\n")

        assert files.read("dir/b.txt").content == "b\n"
        assert files.read("dir/up/dir/a.txt").content == "B\n"
        stat = files.stat("to_file")
        assert (stat.is_link, stat.is_file, stat.target, stat.size_bytes) == (True, True, "dir/a.txt", 2)
        assert [(entry.name, entry.is_directory) for entry in files.list() if entry.is_link] == [
            ("dangling", False), ("loop", False), ("to_dir", True), ("to_file", False),
        ]  # fmt: skip

    @needs("has_links")
    def test_deleting_a_link_deletes_the_link(self, files: Filesystem) -> None:
        """Not what it leads to."""
        linked(files).delete("to_dir", recursive=True)
        files.delete("to_file")
        files.delete("dangling")

        assert not files.exists("to_dir")
        assert sorted(contents(files)) == ["dir", "dir/a.txt", "dir/up", "loop"]

    @needs("has_links")
    def test_moving_a_link_moves_the_link(self, files: Filesystem) -> None:
        """What it leads to stays where it is."""
        linked(files).move("to_file", "other")

        assert files.stat("other").target == "dir/a.txt"
        assert files.exists("dir/a.txt")
        assert not files.exists("to_file")

    @needs("has_links")
    def test_loops_and_dangling_links_are_refused(self, files: Filesystem) -> None:
        """Writing through a dangling link would make a file that the caller did not name."""
        linked(files)

        with pytest.raises(PathRefused):
            files.read("loop")
        with pytest.raises(FileNotFoundError):
            files.read("dangling")
        with pytest.raises(PathRefused):
            files.write("dangling", "x")
        with pytest.raises(FileExistsError):
            files.write("dangling", "x", mode="create")
        with pytest.raises(FileExistsError):
            files.mkdir("dangling")
        assert not files.exists("nowhere")
        assert not files.exists("dangling")

    @needs("has_links")
    @pytest.mark.parametrize("target", ["../outside", "/etc/passwd", "a/../../x", ""])
    def test_links_that_lead_out_are_not_made(self, files: Filesystem, target: str) -> None:
        """Whoever follows it would be outside."""
        part = files.begin()
        with pytest.raises(PathRefused), part.changing("link") as frame:
            frame.symlink("link", target)
        part.undo()

        assert contents(files) == {}

    @needs("has_links")
    def test_a_link_moved_to_where_it_leads_out_is_not_followed(self, files: Filesystem) -> None:
        """The same body means another place after a move."""
        linked(files).move("dir/up", "up")

        for use in (
            lambda: files.read("up/dir/a.txt"),
            lambda: files.write("up/x", "x"),
            lambda: files.list("up"),
            lambda: files.stat("up"),
            lambda: files.delete("up/dir/a.txt"),
            lambda: files.move("dir/a.txt", "up/b.txt"),
        ):
            with pytest.raises(PathRefused):
                use()

    @needs("has_links")
    def test_links_lead_through_directories_and_back(self, files: Filesystem) -> None:
        """`..` in a link's body goes up from where the link is."""
        files.write("a/b/c.txt", "c\n")
        part = files.begin()
        with part.changing(".") as frame:
            frame.symlink("a/b/here", ".")
            frame.symlink("a/b/up", "..")
            frame.symlink("a/b/top", "../..")
            frame.symlink("a/b/around", "../b/c.txt/")
            frame.symlink("deep", "a/b/up/b/c.txt")
        part.publish()

        assert files.read("a/b/here/here/c.txt").content == "c\n"
        assert files.read("deep").content == "c\n"
        assert [entry.name for entry in files.list("a/b/up")] == ["b"]
        assert [entry.name for entry in files.list("a/b/top")] == ["a", "deep"]
        assert files.stat("a/b/here").is_directory
        with pytest.raises(NotADirectoryError):
            files.read("deep/x")
        with pytest.raises(FileNotFoundError):
            files.read("a/b/up/x/y")

    @needs("has_links")
    def test_walks_do_not_follow_links(self, files: Filesystem) -> None:
        """A link to the directory above would never end."""
        linked(files)

        assert [match.path for match in files.glob("**/*.txt")] == ["dir/a.txt"]
        assert [match.path for match in files.grep("a")] == ["dir/a.txt"]

    @needs("has_links")
    def test_git_is_not_reached_through_a_link(self, files: Filesystem) -> None:
        """The name that counts is the one at the end."""
        part = files.begin()
        with part.changing("link") as frame:
            frame.symlink("link", ".git")
        part.publish()

        for change in (
            lambda: files.write("link/hooks/pre-commit", "x"),
            lambda: files.write("link", "x"),
            lambda: files.mkdir("link/hooks"),
        ):
            with pytest.raises((PathRefused, FileExistsError)):
                change()
        assert sorted(contents(files)) == ["link"]

    @needs("has_links")
    def test_links_are_changes_like_others(self, files: Filesystem) -> None:
        """Made, moved, deleted and rolled back as links."""
        linked(files)
        before = exactly(files)
        part = files.begin()
        with part.changing(".") as frame:
            frame.symlink("new", "dir/a.txt")
            frame.move("new", "other")
            frame.delete("to_dir")
            with pytest.raises(FileExistsError):
                frame.symlink("dir/a.txt", "b.txt")
        changes = part.changes()
        assert {(change.kind, change.path) for change in changes} == {("created", "other"), ("deleted", "to_dir")}
        assert {(version and version.kind, version and version.target) for change in changes
                for version in (change.before, change.after)} == {
            ("link", "dir/a.txt"), ("link", "dir"), (None, None),
        }  # fmt: skip
        part.undo()

        assert exactly(files) == before
