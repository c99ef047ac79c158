"""`wink demo`: a scripted model fixes a small project, with everything shown."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

import click

from wink.adapters import Script, ScriptedAdapter, parse_script
from wink.cli._compose import compose
from wink.cli._opening import open_workspace
from wink.cli._wrong import readable, wrong
from wink.cli.work._changes import ChangesSoFar
from wink.cli.work._progress import Progress, progress, showing
from wink.cli.work._repository import copy_project, fingerprint, make_repository
from wink.cli.work._run import ended_early
from wink.cli.work._story import Began, Differs, Ended, Suggested
from wink.cli.work._testing import run_tests
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
    """Watch a scripted model fix a small git project.

    It needs no key and no network. A write is refused because the file was not read; a tool fails half-way through a
    change of several files and is undone; the project's own tests fail before and pass after. With a project and a
    script of your own, the exit status is 0 when the script came to its end, the tests pass and `.git` is untouched.
    """
    script = _script(script_file)
    with _source(project) as source:
        directory = _copied(source, into)
    return play(script, directory, progress(as_json=as_json))


def play(script: Script, directory: Path, shown: Progress) -> int:
    """Let the script work on the project in `directory`, and show it; the exit status."""
    has_git = make_repository(directory)
    before = fingerprint(directory / ".git")
    names = _names(directory)
    task = script.task or "Fix the project."
    shown.event(Began("A small project", str(directory), task, "" if has_git else "no git here, so no repository"))
    _test(shown, directory)
    changes = ChangesSoFar()
    text, problem = _work(shown, directory, script, task, changes)
    passed = _test(shown, directory)
    is_untouched = fingerprint(directory / ".git") == before
    repository = ("untouched" if is_untouched else "CHANGED") if has_git else None
    net = changes.net()
    shown.event(Ended(problem, text, net, repository))
    if net:
        shown.event(Differs(net))
    shown.event(Suggested(_suggestions(directory, names, changes)))
    if problem is not None:
        return ended_early(problem)
    return 0 if passed and is_untouched else 1


def _work(shown: Progress, directory: Path, script: Script, task: str, changes: ChangesSoFar) -> tuple[str, str | None]:
    """Evaluate the script on the project: its last words, and why it ended early, if it did."""
    with open_workspace(str(directory)) as workspace:
        session = workspace.session()
        session.dispatcher.subscribe(ToolInvoked, changes.see)
        prompt = compose(workspace, Catalog.installed(Settings()), task=task, sections=SECTIONS, with_rules=False)
        with showing(session, shown), prompt.resources:
            try:
                return ScriptedAdapter.from_script(script).evaluate(prompt, session=session).text, None
            except (PromptEvaluationError, ScriptMismatch) as error:
                return "", str(error)


def _test(shown: Progress, directory: Path) -> bool:
    ran = run_tests(sys.executable, directory, seconds=TEST_SECONDS)
    shown.event(ran)
    return ran.passed


def _script(name: str | None) -> Script:
    if name is not None:
        return parse_script(readable(name, "the script"), name=name)
    return shipped_script()


def shipped_script() -> Script:
    """The turns that come with wink."""
    return parse_script(
        (files("wink.cli") / "demo" / "script.toml").read_text(encoding="utf-8"), name="the demo's script"
    )


@contextmanager
def _source(project: str | None) -> Generator[Path]:
    if project is None:
        with as_file(files("wink.cli") / "demo" / "project") as shipped:
            yield shipped
        return
    if not project or not Path(project).is_dir():
        raise wrong(f"the project {project!r} is not a directory; name the one to copy")
    yield Path(project)


def _copied(source: Path, into: str | None) -> Path:
    """A copy of the project where the user wants it; what cannot be completed is taken away again."""
    is_new = into is None or not Path(into).exists()
    target = Path(tempfile.mkdtemp(prefix="wink-demo-")) if into is None else _empty(into)
    try:
        if target.resolve().is_relative_to(source.resolve()):
            raise wrong(f"{str(target)!r} is inside the project; name another place with --into")
        copy_project(source, target)
    except OSError as error:
        _clear(target, completely=is_new)
        path = error.filename or target
        raise wrong(
            f"cannot copy the project: {path}: {error.strerror or error}; name another with --project"
        ) from error
    except click.UsageError:
        _clear(target, completely=is_new)
        raise
    return target


def _empty(into: str) -> Path:
    path = Path(into).absolute()
    try:
        if not into or (path.exists() and any(path.iterdir())):
            raise wrong(f"{into!r} is not empty; name a directory that is new or empty with --into")
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise wrong(f"cannot put the copy into {into!r}: {reason}; name another directory with --into") from error
    return path


def _clear(directory: Path, *, completely: bool) -> None:
    for path in directory.iterdir():
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() and not path.is_symlink() else path.unlink()
    if completely:
        directory.rmdir()


def _names(directory: Path) -> list[str]:
    """The files of a project, README first."""
    found = (path.relative_to(directory) for path in directory.rglob("*") if path.is_file())
    names = [path.as_posix() for path in found if ".git" not in path.parts]
    return sorted(names, key=lambda name: (not name.lower().startswith("readme"), name))


def _suggestions(directory: Path, names: list[str], changes: ChangesSoFar) -> tuple[tuple[str, str], ...]:
    """What to try next in this very project."""
    commands = [(f"cd {directory}", ""), ("wink tools", "what the model was offered")]
    changed = [name for name in changes.paths if (directory / name).is_file()]
    if readable_names := [*changed, *names]:
        commands.append(
            (f"wink call read_file file_path={readable_names[0]}", "a call of your own, in the same session")
        )
    untouched = [name for name in names if name not in changes.touched]
    if untouched:
        commands.append((f"wink call write_file file_path={untouched[0]} content=hi", "refused: it has not been read"))
    commands.append(("wink plugins", "where the tools came from"))
    return tuple(commands)
