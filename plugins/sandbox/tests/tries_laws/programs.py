"""Draw programs of operations, do them to the model and to the real thing, and make those that differ small."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from plugins.sandbox.tests.tries_laws.edits import PATHS, drawn
from plugins.sandbox.tests.tries_laws.merging import Ambiguous
from plugins.sandbox.tests.tries_laws.model import Model
from plugins.sandbox.tests.tries_laws.world import World

Operation = tuple[Any, ...]
Program = tuple[Operation, ...]

NAMES: Final = ("one", "two")
REFUSALS: Final = ("TryConflict", "AcceptRefused", "MergeRefused", "UndoConflict", "NothingTried", "UnknownTry")


class Differs(Exception):
    """The real thing is not as the model says, after the operation of a number."""


def program(seed: int, number: int) -> Program:
    """The program of a number: eight to twelve operations, most of which have something to work on."""
    chance = random.Random(f"{seed} {number}")
    made: list[Operation] = [("run", name, drawn(chance, 5)) for name in NAMES[: chance.randint(1, 2)]]
    made += [("person", drawn(chance, 5))] * chance.randint(0, 1)
    length = chance.randint(8, 12)
    while len(made) < length:
        made.append(_operation(chance, made))
    return tuple(made)


def _operation(chance: random.Random, made: Sequence[Operation]) -> Operation:
    begun = [name for name in NAMES if _may_be(name, made)]
    name = chance.choice(begun or NAMES) if chance.random() < 0.95 else chance.choice((*NAMES, f"{NAMES[0]}-2"))
    done = {operation[0] for operation in made}
    verbs = ["run", "person", "accept", "update", "undo_update", "undo", "drop", "bring_back"]
    weights = [30, 26, 22, 13, 3, 4, 3, 1]
    if made[-1][0] == "update" and chance.random() < 0.6:
        name, weights = made[-1][1], [15, 20, 25, 0, 30, 0, 0, 0]
    if made[-1][0] == "accept":
        weights[verbs.index("undo")] = 20
    if made[-1][0] == "drop" or (made[-1][0] == "accept" and made[-1][4] == "workspace"):
        weights[verbs.index("bring_back")] = 25
    weights = weights if begun else [60, 20, 1, 1, 1, 10, 1, 6]
    for verb, needed in (("undo_update", {"update"}), ("undo", {"accept"}), ("bring_back", {"drop", "accept"})):
        if not needed & done and chance.random() < 0.9:
            weights[verbs.index(verb)] = 0
    verb = chance.choices(verbs, weights)[0]
    if verb == "run":
        return verb, chance.choice(NAMES) if chance.random() < 0.6 else name, drawn(chance, 4)
    if verb == "person":
        return verb, drawn(chance, 4)
    if verb == "accept":
        some = _some(chance, name, made) if chance.random() < 0.25 else ()
        without = _some(chance, name, made) if chance.random() < 0.1 else ()
        choice = chance.choice((None, None, None, "workspace", "try", "markers"))
        return verb, name, some, without, choice, chance.random() < 0.4
    if verb == "drop":
        return verb, name, _some(chance, name, made) if chance.random() < 0.6 else ()
    if verb == "undo":
        return verb, chance.choice((0, 0, 0, 1, 2))
    return (verb,) if verb == "bring_back" else (verb, name)


def _may_be(name: str, made: Sequence[Operation]) -> bool:
    """Whether a try has probably something in it."""
    is_there = False
    for operation in made:
        if operation[0] in ("run", "bring_back"):
            is_there |= operation[0] == "bring_back" or operation[1] == name
        elif operation[0] in ("accept", "drop") and operation[1:3] == (name, ()):
            is_there = operation[0] == "accept" and bool(operation[3] or (operation[5] and operation[4] is None))
    return is_there


def _some(chance: random.Random, name: str, made: Sequence[Operation]) -> tuple[str, ...]:
    """Paths that a try has probably changed, or any."""
    changed = [edit[1] for verb, *given in made if verb == "run" and given[0] == name for edit in given[1]]
    paths = [path for path in PATHS if path in changed] if chance.random() < 0.9 else list(PATHS)
    some = [*paths, "d"] if any(path.startswith("d/") for path in paths) else paths or ["d"]
    return tuple(chance.sample(some, min(len(some), 1 if chance.random() < 0.7 else 2)))


def carry_out(program: Sequence[Operation], seen: Counter[str], above: Path | None = None) -> None:
    """Do a program to a workspace of its own, and count what it came to; raises `Differs`."""
    with tempfile.TemporaryDirectory(prefix="wink-laws-", dir=above) as place:
        root = Path(place, "w")
        (root / "d").mkdir(parents=True)
        world = World(root)
        try:
            model = Model(world.times)
            for number, operation in enumerate(program):
                told = f"operation {number}, {operation}"
                after = model.copy()
                try:
                    expected = after.do(operation)
                except Ambiguous:
                    seen["operations of which no rule says what they come to"] += 1
                    continue
                seen[_counted(operation, expected)] += 1
                if after.renames > model.renames:
                    seen["accept, renames followed"] += after.renames - model.renames
                before = world.marks() if expected[0] in REFUSALS else None
                found = world.do(operation, expected)
                model = after
                if operation[0] == "run":
                    expected = (*expected, model.view(operation[1]))
                for problem in _problems(world, model, expected, found):
                    raise Differs(f"{told}: {problem}")
                if before is not None and world.marks() != before:
                    raise Differs(
                        f"{told}: was refused, and something was changed: {_differing(before, world.marks())}"
                    )
        finally:
            world.close()


def _counted(operation: Operation, expected: Sequence[Any]) -> str:
    verb = operation[0]
    if expected[0] in REFUSALS or expected[0] == "nothing":
        return f"{verb}, {expected[0]}"
    if verb == "accept":
        return "accept, merged" if expected[1]["merged"] else "accept"
    if verb == "update" and expected[1]:
        return "update, with markers" if expected[2] else "update, merged"
    return verb


def _problems(world: World, model: Model, expected: Sequence[Any], found: Sequence[Any]) -> Iterator[str]:
    if found != expected:
        yield f"came to {_plain(found)}, and not to {_plain(expected)}"
    if (tree := world.tree()) != model.tree:
        yield f"the workspace: {_differing(tree, model.tree)}"
    if world.names() != sorted(model.tries):
        yield f"the tries are {world.names()}, and not {sorted(model.tries)}"
    for name in model.tries:
        if (shown := world.view(name)) != model.view(name):
            yield f"what {name} shows: {_differing(shown, model.view(name))}"
        steps = sorted(step.path for step in model.steps(name))
        if world.changed(name) != steps:
            yield f"{name} has changed {world.changed(name)}, and not {steps}"
    if len(world.numbers) != len(model.calls):
        yield f"there are {len(world.numbers)} calls, and not {len(model.calls)}"


def _plain(told: Sequence[Any]) -> object:
    return told[0] if told[0] == "ran" else told


def _differing(found: Any, expected: Any) -> str:
    paths = sorted(path for path in found.keys() | expected.keys() if found.get(path) != expected.get(path))
    return "; ".join(f"{path} is {found.get(path)}, and not {expected.get(path)}" for path in paths)


def smaller(program: Program, most: int = 300) -> tuple[Program, str]:
    """A part of a program that differs, of which nothing can be left out, after at most so many trials; and how it differs."""
    wrong, left = wrong_with(program, Counter()), most
    is_over = False
    while not is_over:
        is_over = True
        for candidate in _parts(program):
            if left <= 0:
                return program, wrong
            left -= 1
            if found := wrong_with(candidate, Counter()):
                program, wrong, is_over = candidate, found, False
                break
    return program, wrong


def _parts(program: Program) -> Iterator[Program]:
    for at in range(len(program) - 1, -1, -1):
        yield (*program[:at], *program[at + 1 :])
    for at, (verb, *given) in enumerate(program):
        if verb in ("run", "person"):
            edits = given[-1]
            for one in range(len(edits)):
                fewer = (*edits[:one], *edits[one + 1 :])
                yield (*program[:at], (verb, *given[:-1], fewer), *program[at + 1 :])


def wrong_with(program: Sequence[Operation], seen: Counter[str]) -> str:
    """How the real thing differs from the model, if it does."""
    try:
        carry_out(program, seen)
    except Differs as error:
        return str(error)
    except Exception as error:  # what nobody expected differs too
        return f"{type(error).__name__}: {error}"
    return ""
