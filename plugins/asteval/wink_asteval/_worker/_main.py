"""Evaluate one script and say what came of it; then end."""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib
import json
import os
import sys
import traceback
import warnings
from typing import Any, Final, NoReturn

from wink_asteval._worker import _confine
from wink_asteval._worker._answer import Answer, global_values
from wink_asteval._worker._files import Files
from wink_asteval._worker._guard import get_attribute, has_attribute, kind_of
from wink_asteval._worker._interpreter import Evaluator
from wink_asteval._worker._output import Output, bounded, printable
from wink_asteval._worker._toolbox import toolbox
from wink_asteval._worker._upstream import astutils, make_symbol_table

READY: Final = b"ready\n"
MORE_BUILTINS: Final = (
    *("ascii", "callable", "iter", "issubclass", "next", "pow", "sum", "min", "max", "round", "abs", "divmod"),
    *("FileExistsError", "FileNotFoundError", "IsADirectoryError", "ModuleNotFoundError", "NotADirectoryError"),
    *("PermissionError", "RecursionError", "StopIteration", "TimeoutError", "ZeroDivisionError"),
)
WITHOUT: Final = ("open", "dir", "id")
ENCODINGS: Final = (
    *("ascii", "latin_1", "cp1252", "unicode_escape"),
    *("utf_8_sig", "utf_16", "utf_16_be", "utf_16_le", "utf_32", "utf_32_be", "utf_32_le"),
)
RECURSION: Final = 20_000
DIGITS: Final = 100_000
"""Digits of the longest integer that is read or shown; a longer one would take all the time there is."""


def main() -> NoReturn:
    """Say that the process is ready, take one job from standard input, write the answer to standard output."""
    _confine.die_with(int(sys.argv[1]))
    for name in ENCODINGS:
        importlib.import_module(f"encodings.{name}")
    importlib.import_module("unicodedata")  # what "\N{...}" in a script would load
    os.write(1, READY)
    with open(0, "rb", closefd=False) as source:
        size = source.readline()
        text = source.read(int(size)) if size.strip().isdigit() else b""
    if not text:
        os._exit(0)  # nobody wants it any more
    job = json.loads(text)
    modules = toolbox(job["code"])
    answer = Answer(job["output_chars"])
    try:
        _confine.limit(memory=job["memory_bytes"], seconds=job["seconds"])
        if job["filter"] and _confine.has_filter():
            _confine.filter_calls()
    except OSError as error:
        answer.unconfined(str(error))
    else:
        evaluate(job, modules, answer)
    _send(answer.text())
    os._exit(0)


def evaluate(job: dict[str, Any], modules: dict[str, Any], answer: Answer) -> None:
    """Run the job's script and fill the answer; whatever it raises becomes the answer's error."""
    limit = job["output_chars"]
    output = Output(limit)
    files = Files(job["reads"], job["write_chars"])
    evaluator = Evaluator(names(output, files), modules)
    evaluator.top.update(job["globals"])
    evaluator.top["reads"] = dict(job["reads"])
    sys.set_int_max_str_digits(DIGITS)
    reserve = bytearray(1 << 20)  # to say so when there is no memory left
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(job["code"])
        sys.setrecursionlimit(RECURSION)
        value = evaluator.evaluate(tree)
        sys.setrecursionlimit(2 * RECURSION)
        answer.value = None if value is None else printable(bounded(repr(value), limit))
        answer.globals = global_values(evaluator.top.maps[0], limit)
        for number, (path, content, mode) in enumerate(job["writes"]):
            files.write(path, _filled(evaluator, content, number), mode)
        answer.writes = files.written
    except BaseException as error:
        reserve.clear()
        sys.setrecursionlimit(2 * RECURSION)
        answer.fail(error, _story(error, evaluator, job["code"], job["memory_bytes"]))
    answer.stdout = printable(output.text())


def names(output: Output, files: Files) -> dict[str, Any]:
    """What a script finds without defining it."""
    # The longest text that asteval joins or repeats; memory is bounded for the whole process anyway.
    astutils.MAX_STR_LEN = 64 * 1024 * 1024

    def show(*values: Any, sep: str | None = " ", end: str | None = "\n", flush: bool = False) -> None:  # noqa: ARG001
        output.write((" " if sep is None else sep).join(map(str, values)) + ("\n" if end is None else end))

    show.__name__ = show.__qualname__ = "print"
    found = make_symbol_table(use_numpy=False)
    found |= {name: getattr(builtins, name) for name in MORE_BUILTINS}
    found |= {
        "print": show,
        "type": kind_of,
        "getattr": get_attribute,
        "hasattr": has_attribute,
        "read_text": files.read,
        "write_text": files.write,
    }
    for name in WITHOUT:
        found.pop(name, None)
    return found


def _filled(evaluator: Evaluator, content: str, number: int) -> str:
    try:
        return evaluator.template(content)
    except (KeyError, ValueError, IndexError, AttributeError, TypeError) as error:
        shown = f"{{{error.args[0]}}} names nothing" if isinstance(error, KeyError) else str(error)
        raise ValueError(
            f"writes[{number}].content cannot be filled: {shown}; define the name in the code, and write literal braces as {{{{ and }}}}"
        ) from None


def _story(error: BaseException, evaluator: Evaluator, code: str, memory: int) -> str:
    """The traceback as Python words it, with the script's own lines."""
    if isinstance(error, SyntaxError) and error.lineno is not None and not evaluator.trace:
        error.filename = "<script>"
        return "".join(traceback.format_exception_only(error)).rstrip()
    lines, told = code.split("\n"), ["Traceback (most recent call last):"]
    steps = list(reversed(evaluator.trace))
    shown = steps if len(steps) <= 10 else [*steps[:5], None, *steps[-5:]]
    for step in shown:
        if step is None:
            told.append(f"  [... {len(steps) - 10} more calls ...]")
        else:
            told.append(f"  line {step[0]}, in {step[1]}")
            with contextlib.suppress(IndexError):
                told.append(f"    {lines[step[0] - 1].strip()}")
    kind, text = type(error).__name__, ""
    with contextlib.suppress(Exception):
        text = str(error)
    if isinstance(error, MemoryError):
        text = f"the script needs more than the {memory // (1024 * 1024)} MiB that it may use"
    return "\n".join([*(told if steps else []), f"{kind}: {text}" if text else kind])


def _send(text: bytes) -> None:
    while text:
        text = text[os.write(1, text) :]
