"""Show what changed: as one diff, as a list of paths, or in numbers; first what people look for, and the rest by directories.

What goes to a terminal is for reading: colours, nothing that a terminal would obey, and what is ignored or generated in one
line a directory. A diff that goes anywhere else is whole and exact, since `git apply` may be behind it; there only what git
keeps for itself is left out, which `git apply` would refuse.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import click

from wink.cli._shorten import diff_lines, fit, one_line, visible
from wink.cli._standing import shown_path

if TYPE_CHECKING:
    from wink.filesystem import FileChange
    from wink.filesystem.diffs import FileDiff, Grouped
    from wink.filesystem.search import Ignored

SHOWN: Final = 20
"""So many paths are listed, and so many directories after them."""
_SIGNS: Final = {"created": "+", "modified": "~", "deleted": "-"}
_BAR: Final = 40
_WIDEST: Final = 60

F = TypeVar("F", bound=Callable[..., Any])


class Shown(NamedTuple):
    """How changes are shown.

    `ignored` are the rules by which files are folded; None goes by names alone. With `unfolded` nothing is, and with
    `everything` what git keeps for itself is shown, too, and nothing is folded. `how` is the command that shows what is left out.
    """

    ignored: Ignored | None = None
    unfolded: bool = False
    everything: bool = False
    how: str = ""


USUAL: Final = Shown()


def all_option(command: F) -> F:
    """The options of the commands that show what changed, by which nothing is left out."""
    for option in (
        click.option(
            "--all", "show_all", is_flag=True, help="Show everything, the files too that git keeps for itself."
        ),
        click.option(
            "--ignored", "unfolded", is_flag=True, help="Show each of the files that are ignored or generated."
        ),
    ):
        command = option(command)
    return command


def color_option(command: F) -> F:
    """The option that says when to use colours, over what variables say; `when` is what was given."""
    return click.option(
        "--color",
        "when",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        show_default=True,
        callback=_set_color,
        help="When to use colours: by itself on a terminal, unless NO_COLOR is set.",
    )(command)


def source_first(changes: Iterable[FileChange]) -> tuple[FileChange, ...]:
    """The same, what is generated and what git keeps for itself after the files that people look for."""
    from wink.filesystem.diffs import grouped

    found = grouped(changes)
    rest = (change for heap in (*found.folded, *found.repositories) for change in heap.changes)
    return (*found.shown, *rest)


def touched(changes: Sequence[FileChange]) -> str:
    """The first paths that changed, on a line, and how many more; "" for none."""
    shown = [fit(f"{_SIGNS[change.kind]}{shown_path(change.path)}", 40) for change in source_first(changes)[:3]]
    more = len(changes) - len(shown)
    return " ".join([*shown, f"and {more} more"] if more > 0 else shown)


def echo_diff(
    changes: Iterable[FileChange], shown: Shown = USUAL, *, exact: bool = True, show_all: bool = False, how: str = ""
) -> bool:
    """Print one diff of all changes; false where `exact` is not possible, which is told on standard error.

    What is `exact` reaches a pipe as it is. `show_all` and `how` are those of `Shown`.
    """
    shown = shown._replace(everything=shown.everything or show_all, how=shown.how or how)
    if exact and not sys.stdout.isatty():
        return _echo_patch(changes, shown)
    from wink.filesystem.diffs import file_diffs

    found = _grouped(changes, shown)
    for diff in file_diffs(_files(found)):
        echo_diff_text(diff.text())
    _echo_rest(found, shown)
    return True


def echo_diff_text(text: str) -> None:
    """Print a diff, or a part of one, for people: in colours, and with control characters written out."""
    for line in diff_lines(text):
        click.echo(click.style(visible(line), fg=_colour(line)))


def echo_paths(changes: Sequence[FileChange], shown: Shown = USUAL, *, err: bool = False, how: str = "") -> None:
    """Print which paths changed and how, not more of them than can be read, and the rest by directories."""
    shown = shown._replace(how=shown.how or how)
    found = _grouped(changes, shown)
    for change in found.shown[:SHOWN]:
        click.echo(one_line(f"  {_SIGNS[change.kind]} {shown_path(change.path)}"), err=err)
    if len(found.shown) > SHOWN:
        click.echo(f"  … {len(found.shown) - SHOWN} more", err=err)
    _echo_rest(found, shown, err=err, before="  ")


def echo_names(changes: Iterable[FileChange], shown: Shown = USUAL) -> None:
    """Print each path on a line, quoted as git does; what is folded is left out on a terminal only."""
    shown = shown._replace(unfolded=shown.unfolded or not sys.stdout.isatty())
    found = _grouped(changes, shown)
    for change in _files(found):
        click.echo(one_line(shown_path(change.path)))
    _echo_rest(found, shown, err=True)


def echo_stat(changes: Iterable[FileChange], shown: Shown = USUAL) -> None:
    """Print how many lines were added and removed in each file, as `git diff --stat` does."""
    from wink.filesystem.diffs import file_diffs

    found = _grouped(changes, shown)
    rows = [_stat(diff) for diff in file_diffs(_files(found))]
    wide = min(max((len(row.name) for row in rows), default=0), _WIDEST)
    most = max((row.added + row.removed for row in rows), default=0)
    for row in rows:
        bar = row.said or "".join(
            click.style(sign * (number * min(_BAR, most) // most or 1), fg=colour)
            for sign, number, colour in (("+", row.added, "green"), ("-", row.removed, "red"))
            if number
        )
        count = "" if row.said else f"{row.added + row.removed:>{len(str(most))}} "
        click.echo(f" {fit(row.name, _WIDEST):<{wide}} | {count}{bar}".rstrip())
    if rows:
        added, removed = sum(row.added for row in rows), sum(row.removed for row in rows)
        files = f" {len(rows)} file{'' if len(rows) == 1 else 's'} changed"
        said = (f", {added} insertion{'' if added == 1 else 's'}(+)" if added else "") + (
            f", {removed} deletion{'' if removed == 1 else 's'}(-)" if removed else ""
        )
        click.echo(files + said)
    _echo_rest(found, shown)


def paths_of(number: int) -> str:
    """A number of paths, in words.

    >>> paths_of(1), paths_of(2)
    ('1 path', '2 paths')
    """
    return f"{number} path{'' if number == 1 else 's'}"


def _set_color(context: click.Context, option: click.Parameter, when: str) -> str:
    del option
    if when != "auto":
        context.color = when == "always"
    return when


class _Row(NamedTuple):
    name: str
    added: int
    removed: int
    said: str


def _stat(diff: FileDiff) -> _Row:
    name = shown_path(diff.new_path)
    if diff.old_path != diff.new_path:
        name = f"{shown_path(diff.old_path)} => {name}"
    said = "" if diff.hunks else visible(diff.summary) or "0"
    return _Row(visible(name), diff.added, diff.removed, said)


def _grouped(changes: Iterable[FileChange], shown: Shown) -> Grouped:
    from wink.filesystem.diffs import grouped

    found = grouped(changes, shown.ignored)
    shown = shown._replace(unfolded=shown.unfolded or shown.everything)
    opened = (change for heap in found.folded if shown.unfolded for change in heap.changes)
    git = (change for heap in found.repositories if shown.everything for change in heap.changes)
    return found._replace(
        shown=(*found.shown, *opened, *git),
        folded=() if shown.unfolded else found.folded,
        repositories=() if shown.everything else found.repositories,
    )


def _files(found: Grouped) -> list[FileChange]:
    """What is shown, without the directories that come and go with what is in them."""
    from wink.filesystem.diffs import without_filled

    return without_filled(found.shown, found.shown)


def _echo_rest(found: Grouped, shown: Shown, *, err: bool = False, before: str = "") -> None:
    """Print what stands for many files, a line a directory."""
    for folded in found.folded[:SHOWN]:
        click.echo(one_line(f"{before}… {_from_here(folded.directory, str(folded))}"), err=err)
    if len(found.folded) > SHOWN:
        files = sum(len(folded.changes) for folded in found.folded[SHOWN:])
        click.echo(f"{before}… {paths_of(files)} in {len(found.folded) - SHOWN} more directories", err=err)
    for git in found.repositories[:SHOWN]:
        click.echo(one_line(f"{before}… {_from_here(git.directory, str(git))}"), err=err)
    if shown.how and (found.folded or found.repositories):
        word = "--all" if found.repositories else "--ignored"
        click.echo(one_line(f"{before}  ({shown.how} {word} shows them)"), err=err)


def _from_here(directory: str, told: str) -> str:
    from wink.filesystem import quoted_path

    return shown_path(directory) + told.removeprefix(quoted_path(directory))


def _echo_patch(changes: Iterable[FileChange], shown: Shown) -> bool:
    """Write exactly what `git apply` makes the same changes of; what it cannot hold is told on standard error."""
    from wink.filesystem.diffs import file_diffs

    found = _grouped(changes, shown._replace(unfolded=True))
    is_whole, is_warned, unsaid = True, False, list[str]()
    for diff in file_diffs(_files(found)):
        patch = diff.patch()
        if not is_warned and diff.is_text and _has_controls(patch):
            is_warned = True
            click.echo("wink: the diff has control characters or marks that turn the direction of text", err=True)
        if patch:
            click.echo(patch, nl=False)
        if diff.unsaid:
            unsaid.append(f"{shown_path(diff.new_path)}: {diff.unsaid}")
        is_whole = is_whole and (diff.is_known or not patch)
    if unsaid:
        click.echo("wink: not in the diff, which has no words for it:", err=True)
        for line in _first(unsaid):
            click.echo(one_line(f"  {line}"), err=True)
    _echo_rest(found, shown, err=True)
    return is_whole


def _first(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:SHOWN]
    if len(lines) > SHOWN:
        yield f"… {len(lines) - SHOWN} more"


def _has_controls(patch: bytes) -> bool:
    text = patch.replace(b"\r\n", b"\n").decode("utf-8", "replace")
    return visible(text) != text


def _colour(line: str) -> str | None:
    if line.startswith("@@"):
        return "cyan"
    if line.startswith("+") and not line.startswith("+++"):
        return "green"
    return "red" if line.startswith("-") and not line.startswith("---") else None
