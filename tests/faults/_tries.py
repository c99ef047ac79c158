"""What is done to tries: accepting one, with a check or without, an update of one, and taking either back."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from wink.filesystem import FileVersion
from wink.state import locate
from wink.workspace import Workspace
from wink_sandbox import Command, Overlay, Sandbox
from wink_sandbox.tries import DIRECTORY, Ran, Try, tries

NAME: Final = "t"
LINES: Final = tuple(f"{number}\n" for number in range(1, 31))
_DRAFT: Final = re.compile(r"\.[0-9a-f]{12}$")
_SCRIPT: Final = (
    "sed -i 's/^3$/three/' texts/apart && sed -i 's/^5$/five/' texts/alike && echo own > texts/own &&"
    " mkdir made && echo new > made/file && rm notes/b.txt && chmod 700 tool.sh"
)
_TOGETHER: Final = " && sed -i 's/^5$/five/' texts/together"
_CHECK: Final = 'test "$(sed -n 3p texts/apart)" = three && test ! -e notes/b.txt && cat made/file > written && exit {}'


def text(**lines: str) -> str:
    """The text, with some lines other ones: l3="three"."""
    return "".join(f"{lines[name]}\n" if (name := f"l{line.strip()}") in lines else line for line in LINES)


def prepare(root: Path, workspace: Workspace, template: str) -> None:
    """Let a program have changed files in a try, and a person others and the same; then what the template is called after."""
    (root / "texts").mkdir()
    for name in ("apart", "together", "alike", "own"):
        (root / "texts" / name).write_text("".join(LINES))
    script = _SCRIPT if template in ("tried", "accepted") else _SCRIPT + _TOGETHER
    with Try(workspace, NAME).use() as overlay:
        assert Sandbox().run(Command(("/bin/sh", "-c", script)), overlay).status == 0
    (root / "texts/apart").write_text(text(l28="mine"))
    (root / "texts/together").write_text(text(l5="mine", l28="mine"))
    (root / "texts/alike").write_text(text(l5="five"))
    if template == "updated":
        update(workspace)
    if template == "accepted":
        accept(workspace)


def accept(workspace: Workspace) -> None:
    Try(workspace, NAME).accept()


def accept_a_part(workspace: Workspace) -> None:
    Try(workspace, NAME).accept("texts", "made")


def _accept_checked(status: int, workspace: Workspace) -> None:
    def check(_: Try, overlay: Overlay) -> Ran:
        ended = Sandbox().run(Command(("/bin/sh", "-c", _CHECK.format(status))), overlay)
        return Ran(ended.status)

    Try(workspace, NAME).accept(check=check)


def accept_with_a_check(workspace: Workspace) -> None:
    _accept_checked(0, workspace)


def accept_with_a_check_that_fails(workspace: Workspace) -> None:
    _accept_checked(3, workspace)


def undo_the_accept(workspace: Workspace) -> None:
    workspace.undo(next(row.position for row in workspace.calls() if row.tool == "accept"))


def update(workspace: Workspace) -> None:
    done = Try(workspace, NAME).update()
    assert not done.conflicts


def undo_the_update(workspace: Workspace) -> None:
    assert Try(workspace, NAME).undo_update() is not None


ACTS: Final[Mapping[str, Callable[[Workspace], None]]] = {
    act.__name__: act
    for act in (
        accept,
        accept_a_part,
        accept_with_a_check,
        accept_with_a_check_that_fails,
        undo_the_accept,
        update,
        undo_the_update,
    )
}
UNDOING: Final = ("undo_the_accept", "undo_the_update")
"""What is not done once more where it has been done."""


def shown(workspace: Workspace) -> tuple[Any, ...]:
    """What each try shows, and what of it would be in whose way; whoever looks goes on with what has not ended."""
    return tuple(
        (one.name, _changes(one), one.unmerged(), tuple(sorted(one._facts.marked))) for one in tries(workspace)
    )


def _changes(one: Try) -> tuple[Any, ...]:
    return tuple(
        (change.path, _version(change.before), _version(change.after)) for change in one.differences().changes()
    )


def _version(version: FileVersion | None) -> tuple[Any, ...]:
    return () if version is None else (version.kind, version.mode, version.target, version.content())


def is_pending(tree: str) -> bool:
    """Whether an update, or its undo, or an accept has been begun and is to be gone on with."""
    place = f"{locate(tree)}/{DIRECTORY}/{NAME}"
    return any(os.path.lexists(f"{place}/{name}") for name in ("update.pending", "update.undoing", "accept.pending"))


def kept(tree: str) -> frozenset[str]:
    """The names of all that is kept of tries, but for what the kernel works in."""
    place = f"{locate(tree)}/{DIRECTORY}"
    names: set[str] = set()
    for above, directories, files in os.walk(place):
        if os.path.basename(above) == "work":
            directories.clear()
            continue
        names.update(os.path.relpath(f"{above}/{name}", place) for name in (*directories, *files))
    return frozenset(names)


def left(workspace: Workspace, expected: frozenset[str]) -> list[str]:
    """What is kept of tries and need not be, once they have been in use again; a draft of a file goes with its try."""
    for one in tries(workspace):
        one.update(dry_run=True)
    found = kept(str(workspace.root)) - expected
    return sorted(f"{DIRECTORY}/{name}" for name in found if not _DRAFT.search(name))
