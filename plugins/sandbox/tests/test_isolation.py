"""Isolated functions: ordinary code, whose changes are a call's or never were."""

from __future__ import annotations

import asyncio
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.states import paths_of

from wink import PromptValidationError, ToolContext, tool
from wink.filesystem import Filesystem, InMemoryFilesystem
from wink.limits import Heartbeat
from wink.prompt import Prompt, PromptTemplate, ToolsSection
from wink.runtime import ToolCall, ToolExecutor, ToolReply
from wink.session import Session
from wink.workspace import Workspace

SOURCE = '''
"""What an author would write who has never heard of transactions."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass

from wink import tool


@dataclass
class Made:
    where: str
    count: int


def by_open():
    with open("a.txt", "a") as file:
        file.write("more")
    os.remove("gone.txt")
    os.makedirs("new/deep")
    shutil.copy("a.txt", "new/deep/b.txt")


def by_subprocess():
    subprocess.run(["sh", "-c", "echo more >> a.txt; rm gone.txt; mkdir -p new; echo b > new/b.txt"], check=True)


def by_threads():
    def write(name):
        pathlib.Path(name).write_text(name)

    threads = [threading.Thread(target=write, args=(f"thread{n}.txt",)) for n in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    threading.Thread(target=threading.Event().wait, daemon=True).start()  # one that never ends


def by_gitpython():
    import git

    pathlib.Path("a.txt").write_text("committed")
    repository = git.Repo(".")
    repository.index.add(["a.txt"])
    repository.index.commit("A commit", skip_hooks=True)


def by_formatter():
    subprocess.run([os.path.join(sys.prefix, "bin", "ruff"), "format", "-q", "--no-cache", "odd.py"], check=True)


WAYS = {"open": by_open, "subprocess": by_subprocess, "threads": by_threads, "gitpython": by_gitpython, "formatter": by_formatter}


@tool(isolated=True)
def change(way: str, end: str):
    """Change files in one of the ways, and come to an end."""
    WAYS[way]()
    yield "changed"
    if end == "raise":
        raise ValueError("half way")
    if end == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if end == "wait":
        threading.Event().wait()
    return Made(os.getcwd(), len(os.listdir(".")))


@tool(isolated=True)
def made(count: int) -> Made:
    """Make something."""
    print("not a part of the answer")
    return Made(os.getcwd(), count)


@tool(isolated=True)
async def later(text: str) -> dict[str, str]:
    """Wait."""
    return {"text": text, "tmp": str(os.listdir("/tmp")), "home": str(os.path.exists(os.path.expanduser("~/secret")))}


@tool(isolated=True)
def missing() -> str:
    """Look."""
    return open(os.path.abspath("src/none.txt")).read()


@tool(isolated=True)
def elsewhere(path: str) -> None:
    """Write outside."""
    pathlib.Path(path).write_text("out")
'''

WAYS = ("open", "subprocess", "threads", "gitpython", "formatter")


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module of functions, as an author has one: installed somewhere."""
    import importlib
    import sys

    name = f"isolated_functions_{abs(hash(str(tmp_path)))}"
    site = tmp_path / "site"
    site.mkdir()
    (site / f"{name}.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(site))
    yield importlib.import_module(name)
    sys.modules.pop(name, None)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A workspace that is a git repository."""
    root = tmp_path / "place"
    root.mkdir()
    (root / "a.txt").write_text("before")
    (root / "gone.txt").write_text("here")
    (root / "odd.py").write_text("x = {  'a':1 }\n")
    git = ("git", "-C", str(root), "-c", "user.name=ada", "-c", "user.email=ada@example.org")
    subprocess.run([*git, "init", "-q"], check=True)
    for key, value in (("user.name", "ada"), ("user.email", "ada@example.org")):
        subprocess.run([*git, "config", key, value], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "first"], check=True)
    return root


def tree(root: Path) -> dict[str, bytes | None]:
    return {str(path.relative_to(root)): path.read_bytes() if path.is_file() else None for path in paths_of(root)}


def executor_of(files: Filesystem, *tools: Any, heartbeat: Heartbeat | None = None) -> ToolExecutor:
    template = PromptTemplate(ns="isolated", key="one", sections=[ToolsSection("Some", tools)])
    prompt, session = Prompt(template).bind(resources={Filesystem: files}), Session()
    return ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session, heartbeat=heartbeat)


def ended_by_cancel(files: Filesystem, one: Any, way: str) -> None:
    """Cancel a call when its function has changed files, and waits."""
    begun, heartbeat = threading.Event(), Heartbeat()
    heartbeat.add_callback(lambda: begun.set() if heartbeat.progress is not None else None)

    async def main() -> None:
        executor = executor_of(files, one, heartbeat=heartbeat)
        call = asyncio.ensure_future(executor.aexecute(ToolCall("change", {"way": way, "end": "wait"})))
        assert await asyncio.to_thread(begun.wait, 120)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(main())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("end", ["raise", "timeout", "cancel", "kill"])
def test_a_call_that_does_not_come_to_its_end_has_never_been(module: Any, place: Path, way: str, end: str) -> None:
    """Whatever it used to change files with, and however it ended."""
    before = tree(place)

    with Workspace.open(place) as workspace:
        files = workspace.filesystem
        if end == "cancel":
            ended_by_cancel(files, module.change, way)
        elif end == "timeout":
            said = executor_of(files, module.change.replace(timeout=2)).execute(
                ToolCall("change", {"way": way, "end": "wait"})
            )
            assert (said.success, said.text) == (False, "change timed out after 2 s; nothing was changed")
        else:
            said = executor_of(files, module.change).execute(ToolCall("change", {"way": way, "end": end}))
            assert not said.success
        after = tree(place)

    assert after == before


@pytest.mark.parametrize("way", WAYS)
def test_a_call_that_succeeds_is_one_change_and_can_be_undone(module: Any, place: Path, way: str) -> None:
    """As if each of its files had been written with a tool."""
    before = tree(place)

    with Workspace.open(place) as workspace:
        session = workspace.session()
        template = PromptTemplate(ns="isolated", key="one", sections=[ToolsSection("Some", [module.change])])
        prompt = Prompt(template).bind(resources={Filesystem: workspace.filesystem})
        executor = ToolExecutor(prompt=prompt, rendered=prompt.render(session=session), session=session)
        said = executor.execute(ToolCall("change", {"way": way, "end": "return"}))
        assert said.success, said.text
        changed = tree(place)
        assert changed != before
        workspace.undo()
        undone = tree(place)

    assert {path: data for path, data in undone.items() if not path.startswith(".git")} == {
        path: data for path, data in before.items() if not path.startswith(".git")
    }


def called(place: Path, one: Any, **arguments: Any) -> ToolReply:
    with Workspace.open(place) as workspace:
        return executor_of(workspace.filesystem, one).execute(ToolCall(one.name, arguments))


def test_results_and_exceptions_come_back_as_from_any_other_tool(module: Any, place: Path) -> None:
    """Dataclasses as themselves, errors with the paths that they are about."""
    said = called(place, module.made, count=3)
    assert said.result.value == module.Made(str(place), 3)
    assert said.text == f'{{"where":"{place}","count":3}}'
    assert "FileNotFoundError: 'src/none.txt' No such file or directory" in called(place, module.missing).text


def test_an_isolated_function_has_a_tmp_of_its_own_and_no_home(module: Any, place: Path) -> None:
    """Nothing of it is left elsewhere, and nothing of the user's is there to be read."""
    (place.parent / "beside.txt").write_text("x")
    value = called(place, module.later, text="a").result.value
    assert (value["text"], value["home"]) == ("a", "False")
    assert "beside.txt" not in value["tmp"]
    outside = place.parent / "outside.txt"
    called(place, module.elsewhere, path=str(outside))
    assert not outside.exists()


def test_files_in_memory_are_no_place_for_a_process(module: Any) -> None:
    """It says so, and does not run the function here instead."""
    said = executor_of(InMemoryFilesystem(), module.made).execute(ToolCall("made", {"count": 1}))

    assert not said.success
    assert "programs" in said.text


class Holder:
    def method(self) -> None:
        """Do it."""


def test_what_another_process_could_not_find_is_refused() -> None:
    """Methods, closures, and whatever takes a context."""

    def local() -> None:
        """Do it."""

    def with_context(context: ToolContext) -> None:
        """Do it."""

    refused: tuple[tuple[Callable[..., Any], str], ...] = (
        (Holder().method, "no method, closure"),
        (local, "no method, closure"),
        (with_context, "it takes a context"),
    )
    for function, reason in refused:
        with pytest.raises(PromptValidationError, match=reason):
            tool(isolated=True)(function)
