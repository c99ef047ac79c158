"""What people and programs do to files: words of a program, and what they come to where they are done."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from plugins.sandbox.tests.tries_laws.merging import MARKERS, is_text, lines_of

Edit = tuple[Any, ...]
"""What to do, and to which path; positions count round, so that it means something whatever is there."""

MODES: Final = (0o600, 0o640, 0o644, 0o700, 0o755)
_MARKS: Final = tuple(mark.encode() for mark in MARKERS)
NEW: Final = ("new", "d/new")


class File(NamedTuple):
    """A file: permission bits, and bytes."""

    mode: int
    content: bytes


Tree = dict[str, File]


class Action(NamedTuple):
    """One thing to be done to a path, of which it is known that it can be.

    "write" writes the whole content, in place or to a new file that is renamed; "open" opens for writing, and writes nothing.
    """

    verb: str
    path: str
    content: bytes = b""
    mode: int = 0
    in_place: bool = True
    target: str = ""


def _lines(name: str, count: int) -> bytes:
    return b"".join(b"%s line %d\n" % (name.encode(), number) for number in range(count))


def first_tree() -> Tree:
    """What every workspace begins with; no line is there twice in a file."""
    tree = {name: File(0o644, _lines(name, 24)) for name in ("a", "d/b", "c", "d/e", "d/f")}
    return {**tree, "run": File(0o755, _lines("run", 9)), "binary": File(0o644, b"\0binary")}


PATHS: Final = (*first_tree(), *NEW)


def drawn(chance: random.Random, most: int) -> tuple[Edit, ...]:
    """Some edits."""
    return tuple(_edit(chance) for _ in range(chance.randint(1, most)))


def _edit(chance: random.Random) -> Edit:
    path = chance.choice(PATHS if chance.random() < 0.35 else PATHS[:3])
    tag = f"{chance.choice('ghijklmnop')}{chance.randrange(1000)}" if chance.random() < 0.85 else "same"
    how = chance.random() < 0.5
    verb = chance.choices(
        ("edit", "text", "binary", "delete", "move", "copy", "mode", "open", "resolve"), (60, 5, 4, 6, 10, 3, 10, 4, 5)
    )[0]
    if verb == "edit":
        return verb, path, chance.randrange(24), chance.choice((0, 1, 1, 1, 2)), chance.choice((0, 1, 1, 2)), tag, how
    if verb in ("text", "binary"):
        return verb, path if chance.random() < 0.4 else chance.choice(NEW), tag, how
    if verb in ("move", "copy"):
        target = chance.choice(NEW if chance.random() < 0.6 else PATHS)
        return (verb, path, target) if verb == "move" else (verb, path, target, how)
    if verb == "mode":
        return verb, path, chance.choice(MODES)
    return (verb, path, how) if verb == "resolve" else (verb, path)


def actions(tree: Mapping[str, File], edits: Iterable[Edit]) -> Iterator[Action]:
    """What edits come to on what is there; what cannot be done is left out."""
    now = dict(tree)
    for edit in edits:
        action = _action(now, *edit)
        if action is not None:
            done(now, action)
            yield action


def done(tree: Tree, action: Action) -> None:
    """Do it to a dictionary."""
    if action.verb == "write":
        tree[action.path] = File(action.mode, action.content)
    elif action.verb == "delete":
        del tree[action.path]
    elif action.verb == "move":
        tree[action.target] = tree.pop(action.path)
    elif action.verb == "mode":
        tree[action.path] = tree[action.path]._replace(mode=action.mode)


def _action(tree: Tree, verb: str, path: str, *given: Any) -> Action | None:
    there = tree.get(path)
    if verb in ("text", "binary"):
        tag, in_place = given
        content = _lines(f"{path} {tag}", 6) if verb == "text" else b"\0" + tag.encode()
        mode = 0o644 if there is None else there.mode
        return (
            None if there is not None and there.content == content else Action("write", path, content, mode, in_place)
        )
    if there is None:
        return None
    if verb == "edit":
        return _edited(path, there, *given)
    if verb == "resolve":
        lines = dict.fromkeys(line for line in lines_of(there.content) if not line.startswith(_MARKS))
        content = b"".join(lines)
        return None if content == there.content else Action("write", path, content, there.mode, given[0])
    if verb == "move":
        return None if path == given[0] else Action("move", path, target=given[0])
    if verb == "copy":
        target, in_place = given
        mode = tree.get(target, there).mode
        is_other = target not in tree or tree[target].content != there.content
        return Action("write", target, there.content, mode, in_place) if is_other else None
    if verb == "mode":
        return None if there.mode == given[0] else Action("mode", path, mode=given[0])
    return Action(verb, path)


def _edited(path: str, there: File, at: int, old: int, new: int, tag: str, in_place: bool) -> Action | None:
    """Lines replaced by others that are in no other text, unless somebody else makes the same of it."""
    if not is_text(there.content):
        return Action("write", path, b"\0" + tag.encode(), there.mode, in_place) if tag != "same" else None
    lines = lines_of(there.content)
    at %= len(lines) + 1
    made = [b"%s %d %d\n" % (tag.encode(), at, number) for number in range(new)]
    after = [*lines[:at], *made, *lines[at + old :]]
    if after == lines or not set(made).isdisjoint(lines):
        return None
    return Action("write", path, b"".join(after), there.mode, in_place)
