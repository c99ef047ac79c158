"""Who reads what one call does has to hold it in their head: it goes through so many files and functions, and no more."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType

from wink.filesystem import Filesystem
from wink.prompt import Prompt, PromptTemplate
from wink.runtime import ToolCall, ToolExecutor
from wink.workspace import Workspace
from wink_files import VfsToolsSection

FILES, FUNCTIONS, SWITCHES = 75, 394, 325
"""What overwriting a file by `write_file` takes, with the policy that the file has to be known: lower them when it is less.

A switch is a function of one file that is entered after one of another.
"""


def test_an_overwriting_write_goes_through_few_files_and_functions(tmp_path: Path) -> None:
    """Breadth loses people, and it only ever grew."""
    # In a process of its own: what other tests have left behind, such as extra fields of JSON, is asked about too.
    ran = subprocess.run([sys.executable, __file__, str(tmp_path)], check=True, capture_output=True, text=True)
    files, functions, switches = json.loads(ran.stdout)

    assert functions > 100
    assert files <= FILES
    assert functions <= FUNCTIONS
    assert switches <= SWITCHES


def walked(executor: ToolExecutor, call: ToolCall) -> list[CodeType]:
    """What wink and its plugins enter in a call, in order, without what dataclasses generate."""
    entered: list[CodeType] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        name = str(frame.f_globals.get("__name__"))
        is_generated = name == "wink.dataclass" or frame.f_code.co_filename.startswith("<")
        is_ours = name.startswith(("wink.", "wink_")) and not is_generated
        if event == "call" and is_ours:
            entered.append(frame.f_code)

    gc.disable()  # what it would end is not of this call
    sys.setprofile(note)
    reply = executor.execute(call)
    sys.setprofile(None)
    assert reply.success, reply.text
    return entered


def main(place: Path) -> tuple[int, int, int]:
    """Files, functions and switches of the third write of a file: the first made it, the second imported what was left."""
    with Workspace.open(place) as workspace:
        session = workspace.session()
        prompt = Prompt(PromptTemplate(ns="w", key="w", sections=[VfsToolsSection()]))
        prompt.bind(resources={Filesystem: workspace.filesystem})
        executor = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)
        for text in ("one", "two"):
            assert executor.execute(ToolCall("write_file", {"file_path": "a.txt", "content": text})).success
        time.sleep(0.05)  # a file written within the clock's grain is read again to be sure of it
        walk = walked(executor, ToolCall("write_file", {"file_path": "a.txt", "content": "three"}))
    files = [code.co_filename for code in walk]
    functions = {(code.co_filename, code.co_qualname, code.co_firstlineno) for code in walk}
    return len(set(files)), len(functions), sum(one != other for one, other in pairwise(files))


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
