"""Say which words for git only read the history, and refuse all others.

Rules of this module:

* What is not listed is refused, so that no later git brings what writes, listens or runs programs.
* Options that are harmful only through settings (`--ext-diff`, `--textconv`) may be given: there are no settings here.
* Of long options git takes a beginning for the whole, and so does a refusal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from wink.cli import wrong

_DIFFS: Final = (
    "--submodule",  # runs git in a directory that is called like a submodule of the history, with the settings there
    "--remerge-diff", "--diff-merges",  # put objects into the store for a while
    "--no-index",
)  # fmt: skip

SUBCOMMANDS: Final[Mapping[str, tuple[str, ...]]] = {
    # name: options that are refused
    "log": _DIFFS,
    "show": _DIFFS,
    "diff": _DIFFS,
    "diff-tree": _DIFFS,
    "blame": (),
    # `-nOless` is as good as `-Oless` to git, which has nothing to open without a work tree, or `--no-index`.
    "grep": ("--open-files-in-pager", "-O", "--no-index", "--recurse-submodules"),
    "shortlog": _DIFFS,
    "describe": ("--dirty", "--broken"),
    "name-rev": (),
    "merge-base": (),
    "rev-list": _DIFFS,
    "rev-parse": (),
    "cat-file": (),
    "ls-tree": (),
    "for-each-ref": (),
    "show-ref": (),
    "count-objects": (),
    "fsck": ("--lost-found",),
    "archive": ("--remote", "--exec"),
    "bundle": (),
    "clone": (),
}
"""What only reads the history, whatever follows it, but for these options."""

_LOG: Final = (
    "log",
    "--date=format-local:%Y-%m-%d %H:%M",
    "--format=%C(auto,yellow)%h%C(auto,reset)  %<(6)%(trailers:key=Wink-Call,valueonly,separator=)%ad  %an  %s",
)
_BUNDLE: Final = ("create", "verify", "list-heads")
_CLONE: Final = ("--bare", "--mirror", "--no-checkout", "-n", "--quiet", "-q")
# The store has been looked at, so that it does not matter whose it is; without this git asks for a setting that it does not read.
_UPLOAD: Final = "--upload-pack=git -c 'safe.directory=*' upload-pack"
_NO_PAGER: Final = "--no-pager"


def git_words(words: Sequence[str], place: str) -> tuple[str, ...]:
    """What to give to git for the repository at `place`; wrong input for everything that may not only read it.

    >>> git_words(["show", "--stat"], "store.git")
    ('show', '--stat')
    >>> git_words(["clone", "copy"], "store.git")[-3:]
    ('--', 'store.git', 'copy')
    >>> git_words(["gc"], "store.git")
    Traceback (most recent call last):
    ...
    wink.cli._wrong.WrongInput: the history is only read, not with 'gc'; there are: log, show, diff, diff-tree, blame, ...
    """
    front = (_NO_PAGER,) if words and words[0] == _NO_PAGER else ()
    rest = tuple(words)[len(front) :]
    if not rest:
        return (*front, *_LOG)
    name, options = rest[0], rest[1:]
    if name.startswith("-"):
        raise wrong(
            f"git gets no {name!r} before its subcommand, only {_NO_PAGER}: the history is read without settings; "
            f"begin with the subcommand, for example wink history log -p"
        )
    if name not in SUBCOMMANDS:
        raise wrong(f"the history is only read, not with {name!r}; there are: {', '.join(SUBCOMMANDS)}")
    if name == "clone":
        return (*front, *_clone(options, place))
    if name == "bundle" and not (options and options[0] in _BUNDLE):
        raise wrong(f"the history is only read: of git {name} there are {', '.join(_BUNDLE)}")
    for option in options:
        if option == "--":
            break
        if any(_means(option, refused) for refused in SUBCOMMANDS[name]):
            raise wrong(
                f"{option!r} writes or runs more than git {name} on the history; leave it away, "
                f"or work in a clone: wink history clone DIRECTORY"
            )
    return (*front, *rest)


def _means(option: str, refused: str) -> bool:
    """Whether git could take an option for one that is refused.

    >>> _means("--rem=x", "--remote"), _means("--reverse", "--remote"), _means("-Oless", "-O"), _means("-e", "-O")
    (True, False, True, False)
    """
    if not refused.startswith("--"):
        return option.startswith(refused)
    name = option.partition("=")[0]
    return len(name) > 2 and refused.startswith(name)


def _clone(words: tuple[str, ...], place: str) -> tuple[str, ...]:
    """A copy that has nothing in common with the store: no files under two names, and no programs that somebody names."""
    options = tuple(word for word in words if word.startswith("-") and word != "--")
    directories = [word for word in words if not word.startswith("-")]
    if len(directories) != 1 or not set(options) <= set(_CLONE):
        raise wrong(f"a clone takes one new directory and {', '.join(_CLONE)}: wink history clone DIRECTORY")
    return ("clone", "--no-local", _UPLOAD, *options, "--", place, *directories)
