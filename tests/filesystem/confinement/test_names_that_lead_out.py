"""No text that a model can give for a path names anything outside the workspace, however it is written."""

from __future__ import annotations

from typing import Any

import pytest

from wink.errors import PathRefused

REFUSED = (
    # `..` and absolute paths
    "..", "../outside/secret.txt", "../root-sibling/secret.txt", "dir/../../outside/secret.txt", "./../outside",
    "dir/./.././../outside", "/etc/passwd", "/", "//etc/passwd", "///", "/proc/self/root/etc/passwd",
    "/proc/self/fd/0", "/dev/fd/0", "/dev/stdin", "a/b/../../../outside/secret.txt", "../root/own.txt",
    # URLs, chained and drive-like
    "file:///etc/passwd", "file://own.txt", "FILE:///etc/passwd", "http://169.254.169.254/", "s3://bucket/key",
    "wink-disk://../outside", "zip://a.zip::file:///etc/passwd", "data://x", "local:///etc/passwd",
    # Windows
    "C:/Windows/win.ini", "c:own.txt", "C:\\Windows\\win.ini", "\\\\server\\share\\x", "\\\\?\\C:\\x", "..\\outside",
    "dir\\own.txt", "\\", "Z:",
    # homes
    "~", "~/x", "~root/.ssh/id_rsa", "~root",
    # NUL and control bytes
    "own.txt\0.png", "\0", "own\n.txt", "own\r.txt", "own\x1b[2J.txt", "own\x7f.txt", "own\x85.txt", "\t",
    # what is no Unicode, and what is too long
    "own\ud800.txt", "\udcff", "n" * 256, "dir/" + "é" * 128, "d/" * 2048 + "x", "x" * 100_000,
)  # fmt: skip


@pytest.mark.parametrize("path", REFUSED, ids=lambda path: ascii(path[:24]).replace("/", "|"))
def test_it_is_refused_for_every_use(world: Any, watch: Any, uses: Any, path: str) -> None:
    """Before the disk is even looked at, with an error that names only what was asked for."""
    looked = watch()

    for name, use in uses.items():
        before = looked.calls
        said = world.refuses(use, path, PathRefused)
        assert name in ("move to", "copy to") or looked.calls <= before + 4, name  # the lease, and nothing else
        assert len(said) < 400

    with pytest.raises(PathRefused):
        world.files.exists(path)
    assert world.files.read("own.txt").content == "mine\n"


@pytest.mark.parametrize(
    "path",
    ["::", "aa::b", "%2e%2e/outside", "..%2foutside", "..%c0%af", "...", "....", ".../x", "\u2024\u2024/outside", "\uff0e\uff0e/outside",
     "..\u2215outside", "-rf", "$HOME", "`id`", "$(id)", "dir/~", "a~", "proc/self/root", "file:", "%00"],
)  # fmt: skip
def test_what_only_looks_like_it_is_a_name(world: Any, path: str, watch: Any) -> None:
    """Nothing is decoded, expanded or folded on the way: such a path names nothing, or a file in the workspace."""
    watch()

    assert not world.files.exists(path)
    for name in world.files.glob("**"):
        assert name.path in ("own.txt", "dir", "dir/own.txt")


@pytest.mark.parametrize("pattern", ["../*", "/etc/*", "../outside/**", "**/../../*", "dir/../../*", "C:\\*", "..\\*"])
def test_no_pattern_leads_out(world: Any, pattern: str) -> None:
    """A glob would otherwise be another way to spell a path."""
    from wink.errors import PatternError

    with pytest.raises(PatternError):
        world.files.glob(pattern)
    with pytest.raises(PatternError):
        world.files.grep("secret", glob=pattern)


@pytest.mark.parametrize(
    "path", ["/../outside/secret.txt", "wink://../outside/secret.txt", "file:///etc/passwd", "../x"]
)
def test_the_view_for_fsspec_is_no_way_out(world: Any, path: str) -> None:
    """A leading slash means the root there, and its own protocol is taken off; what remains is checked like any path."""
    view = world.files.fs

    for use in (
        view.cat_file,
        view.info,
        view.ls,
        view.rm,
        lambda p: view.pipe_file(p, b"x"),
        lambda p: view.mv("own.txt", p),
    ):
        with pytest.raises(PathRefused):
            use(path)
    assert view.cat_file("/own.txt") == b"mine\n"
