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
    with part.changing("links") as change_set:
        change_set.symlink("to_file", "dir/a.txt")
        change_set.symlink("to_dir", "dir")
        change_set.symlink("dir/up", "..")
        change_set.symlink("loop", "loop")
        change_set.symlink("dangling", "nowhere")
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
        with pytest.raises(PathRefused), part.changing("link") as change_set:
            change_set.symlink("link", target)
        part.undo()

        assert contents(files) == {}

    @needs("has_links")
    @pytest.mark.parametrize("target", ["dir/a.txt", "./dir//a.txt", "nowhere", ".", "dir/"])
    def test_links_that_stay_inside_are_made(self, files: Filesystem, target: str) -> None:
        """With the very body that was given, whether or not anything is there; a rollback takes them away."""
        linked(files)
        before = exactly(files)
        part = files.begin()
        part.handle.symlink("new/../top", target)
        part.handle.symlink("new/deep/link", f"../../{target}")
        assert [part.handle.stat(path).target for path in ("top", "new/deep/link") if part.handle.exists(path)] in (
            [target, f"../../{target}"], [],
        )  # fmt: skip
        assert {change.path for change in part.changes()} == {"top", "new", "new/deep", "new/deep/link"}
        part.undo()

        assert exactly(files) == before

    @needs("has_links")
    @pytest.mark.parametrize(
        "target",
        ["", "/etc/passwd", "..", "../x", "dir/../../x", "dir/..", "to_dir/../x", "dir/up/../x", "dir/up/.git/hooks",
         ".git", "dir/.GIT /x", ".wink", "git~1/hooks", "a\\b", "a\nb", "x" * 256, "outer/x", "inner"],
    )  # fmt: skip
    def test_a_link_stays_inside_however_it_is_followed(self, files: Filesystem, target: str) -> None:
        """Programs go up from where links led, others may be links to `.git`, and others may have made them."""
        linked(files)
        part = files.begin()
        with part.changing(".") as change_set:
            change_set.symlink("dir/outer", "..")
            change_set.move("dir/outer", "outer")  # leads out from here
            change_set.symlink("inner", ".git/hooks")
        part.publish()
        before = exactly(files)

        with pytest.raises(PathRefused):
            files.symlink("link", target)

        assert exactly(files) == before

    @needs("has_links")
    def test_a_link_takes_nobodys_place(self, files: Filesystem) -> None:
        """Neither a file's nor that of another link, wherever it leads; nor may it be in `.git`."""
        linked(files)
        before = exactly(files)

        for path in ("dir", "dir/a.txt", "to_file", "dangling", "loop"):
            with pytest.raises(FileExistsError):
                files.symlink(path, "dir")
        with pytest.raises(PathRefused):
            files.symlink(".git/hooks/pre-commit", "../../dir/a.txt")

        assert exactly(files) == before

    @needs("has_links")
    def test_a_link_moved_to_where_it_leads_out_is_not_followed(self, files: Filesystem) -> None:
        """The same body means another place after a move, such as one that somebody else has made."""
        part = linked(files).begin()
        with part.changing("up") as change_set:
            change_set.move("dir/up", "up")
        part.publish()

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
    def test_a_link_is_not_moved_to_where_it_leads_out(self, files: Filesystem) -> None:
        """Made where it leads to nothing inside, and moved up, it would lead programs anywhere."""
        files.symlink("a/b/c/link", "../../../etc/passwd")
        files.symlink("a/b/c/near", "../x")
        files.symlink("deep", "a/b")
        before = exactly(files)

        for source, target in (
            ("a/b/c/link", "link"), ("a/b/c/link", "a/link"), ("deep/c/link", "a/b/link"), ("a/b/c", "c"), ("a/b", "b"),
            ("deep/c", "a/c"), ("a/b/c/", "new"),
        ):  # fmt: skip
            with pytest.raises(
                PathRefused, match=r"link' is a link to '\.\./\.\./\.\./etc/passwd', .* lead out of the workspace"
            ):
                files.move(source, target)
        assert exactly(files) == before

        files.move("a/b/c", "a/b/d")
        files.move("a/b/d/link", "x/y/z/link")
        files.move("a/b", "a/b2/b")
        files.move("a/b2/b/d/near", "near/near")
        assert files.resolve("x/y/z/link") == "etc/passwd"

    @needs("has_links")
    def test_a_link_that_leads_out_already_may_be_moved(self, files: Filesystem) -> None:
        """Somebody else's, as it is; nothing gets worse."""
        part = linked(files).begin()
        with part.changing("up") as change_set:
            change_set.move("dir/up", "up")
        part.publish()

        files.move("up", "down")

        assert [entry.name for entry in files.list() if entry.is_link] == [
            "dangling",
            "down",
            "loop",
            "to_dir",
            "to_file",
        ]

    @needs("has_links")
    def test_links_lead_through_directories_and_back(self, files: Filesystem) -> None:
        """`..` in a link's body goes up from where the link is."""
        files.write("a/b/c.txt", "c\n")
        part = files.begin()
        with part.changing(".") as change_set:
            change_set.symlink("a/b/here", ".")
            change_set.symlink("a/b/up", "..")
            change_set.symlink("a/b/top", "../..")
            change_set.symlink("a/b/around", "../b/c.txt/")
            change_set.symlink("deep", "a/b/up/b/c.txt")
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
        with part.changing("link") as change_set:
            change_set.symlink("link", ".git")
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
        with part.changing(".") as change_set:
            change_set.symlink("new", "dir/a.txt")
            change_set.move("new", "other")
            change_set.delete("to_dir")
            with pytest.raises(FileExistsError):
                change_set.symlink("dir/a.txt", "b.txt")
        changes = part.changes()
        assert {(change.kind, change.path) for change in changes} == {("created", "other"), ("deleted", "to_dir")}
        assert {(version and version.kind, version and version.target) for change in changes
                for version in (change.before, change.after)} == {
            ("link", "dir/a.txt"), ("link", "dir"), (None, None),
        }  # fmt: skip
        part.undo()

        assert exactly(files) == before
