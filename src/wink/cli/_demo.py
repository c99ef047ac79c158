"""`wink demo`: a scripted model mends a small project, with everything shown."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

import click

from wink.adapters import Script, ScriptedAdapter, parse_script
from wink.cli._changes import ChangesSoFar
from wink.cli._compose import compose, open_workspace, readable, wrong
from wink.cli._progress import Progress, progress, showing
from wink.cli._view import Line, diff_lines
from wink.errors import PromptEvaluationError, ScriptMismatch
from wink.plugins import Catalog, Settings
from wink.runtime import ToolInvoked

SECTIONS: Final = ("demo.refactor",)
TEST_SECONDS: Final = 120


@click.command()
@click.option("--project", metavar="DIR", help="Another project to copy and work on.")
@click.option("--script", "script_file", metavar="FILE", help="Another script of model turns.")
@click.option("--into", metavar="DIR", help="Where to put the copy; a new temporary directory by default.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line, for machines.")
def demo(project: str | None, script_file: str | None, into: str | None, as_json: bool) -> int:
    """Watch a scripted model mend a small git project.

    It needs no key and no network. A write is refused because the file was not read; a tool fails half-way through a
    change of several files and is undone; the project's own tests fail before and pass after.
    """
    script = _script(script_file)
    directory = _directory(into)
    _copy(project, directory)
    shown = progress(as_json=as_json)
    shown.say([Line("")])
    has_git = _make_repository(directory)
    _step(shown, f"A project with a bug, in {directory}" + ("" if has_git else " (no git here, so no repository)"))
    before = _fingerprint(directory / ".git")
    passed_before = _run_tests(shown, directory)
    ended, changes = _work(shown, directory, script)
    shown.close()
    if ended is not None:
        click.echo(f"wink: the run ended early: {ended}", err=True)
    _step(shown, "The tests of the project again")
    passed = _run_tests(shown, directory)
    _step(shown, "What changed in the end")
    shown.say(diff_lines(changes.net()))
    untouched = before == _fingerprint(directory / ".git")
    if has_git:
        shown.say([Line(f".git is {'untouched' if untouched else 'CHANGED'}", "good" if untouched else "bad")])
    _next(shown, directory)
    return 0 if ended is None and passed and untouched and not passed_before else 1


def _work(shown: Progress, directory: Path, script: Script) -> tuple[str | None, ChangesSoFar]:
    """Evaluate the script on the project: why it ended early, if it did, and what it changed."""
    _step(shown, f"A model, played by {script.name}, works on it: {script.task}")
    changes = ChangesSoFar()
    with open_workspace(str(directory)) as workspace:
        session = workspace.session()
        session.dispatcher.subscribe(ToolInvoked, changes.see)
        prompt = compose(
            workspace, Catalog.installed(Settings()), task=script.task or "Mend the project.", sections=SECTIONS
        )
        with showing(session, shown), prompt.resources:
            try:
                ScriptedAdapter.from_script(script).evaluate(prompt, session=session)
            except (PromptEvaluationError, ScriptMismatch) as error:
                return str(error), changes
    return None, changes


def _script(name: str | None) -> Script:
    if name is not None:
        return parse_script(readable(name, "the script"), name=name)
    return parse_script((files("wink.cli") / "demo" / "script.toml").read_text(encoding="utf-8"), name="a script")


def _directory(into: str | None) -> Path:
    if into is None:
        return Path(tempfile.mkdtemp(prefix="wink-demo-"))
    path = Path(into).absolute()
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise wrong(f"{into!r} is not an empty directory; name one that is new or empty")
    return path


def _copy(project: str | None, directory: Path) -> None:
    ignore = shutil.ignore_patterns("__pycache__", ".git", ".wink")
    if project is not None:
        if not Path(project).is_dir():
            raise wrong(f"the project {project!r} is not a directory")
        shutil.copytree(project, directory, ignore=ignore, dirs_exist_ok=True, symlinks=True)
        return
    with as_file(files("wink.cli") / "demo" / "project") as source:
        shutil.copytree(source, directory, ignore=ignore, dirs_exist_ok=True)


def _make_repository(directory: Path) -> bool:
    """Commit the project to a new git repository; False where there is no git."""
    try:
        from git import Actor, Repo
    except ImportError:
        return False
    author = Actor("wink demo", "demo@example.invalid")
    with Repo.init(directory, initial_branch="main") as repository:
        names = sorted(
            str(path.relative_to(directory))
            for path in directory.rglob("*")
            if path.is_file() and ".git" not in path.parts
        )
        repository.index.add(names)
        repository.index.commit("A project with a bug", author=author, committer=author, skip_hooks=True)
    return True


def _fingerprint(directory: Path) -> str:
    """One digest of all names and contents below a directory."""
    digest = hashlib.sha256()
    for path in sorted(directory.rglob("*")):
        digest.update(str(path.relative_to(directory)).encode() + b"\0")
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _run_tests(shown: Progress, directory: Path) -> bool:
    """Run the project's own tests with its own runner, leaving no bytecode behind."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "unittest"],
            cwd=directory,
            env=environment,
            capture_output=True,
            text=True,
            timeout=TEST_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        shown.say([Line(f"tests  not done after {TEST_SECONDS} s", "bad")])
        return False
    lines = [line for line in done.stderr.splitlines() if line.startswith(("FAIL:", "ERROR:", "Ran ", "OK", "FAILED"))]
    shown.say(Line(f"tests  {line}", "good" if done.returncode == 0 else "bad") for line in lines)
    return done.returncode == 0


def _step(shown: Progress, text: str) -> None:
    shown.say([Line(""), Line(text, "title")])


def _next(shown: Progress, directory: Path) -> None:
    shown.say(
        [
            Line(""),
            Line("Try next", "title"),
            Line(f"  cd {directory}"),
            Line("  wink tools                                           what the model was offered"),
            Line("  wink call read_file file_path=invoice/money.py       a call of your own, in the same session"),
            Line("  wink call write_file file_path=README.md content=hi  refused: it has not been read"),
            Line("  wink plugins                                         where the tools came from"),
        ]
    )
