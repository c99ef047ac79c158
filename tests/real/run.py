"""The main job on a real project: a released bug of humanize, fixed by a scripted run as the next release fixed it.

The source distributions of both releases come from the package index. The older one becomes a git repository with the
newer one's tests, which fail; after the run they pass, and the repository differs by exactly the released fix.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

OLD, NEW = "4.12.0", "4.12.1"
FIXED = "src/humanize/filesize.py"
TESTS = "tests/test_filesize.py"
SCRIPT = Path(__file__).with_name("humanize.toml")


def run(*command: str, cwd: Path, check: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program and keep what it prints."""
    done = subprocess.run(
        command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if check and done.returncode:
        sys.exit(f"{' '.join(command)} failed with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


def sources(version: str, work: Path) -> Path:
    """The unpacked source distribution of one release."""
    pip = (sys.executable, "-m", "pip", "download", "--no-binary", ":all:", "--no-deps", "--quiet")
    run(*pip, f"humanize=={version}", cwd=work)
    with tarfile.open(work / f"humanize-{version}.tar.gz") as archive:
        archive.extractall(work, filter="data")
    return work / f"humanize-{version}"


def tests_pass(project: Path) -> bool:
    """Whether the project's own tests of the fixed function pass."""
    pytest = (
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-o",
        "addopts=",
        "-o",
        "filterwarnings=",
        TESTS,
    )
    done = run(*pytest, cwd=project, check=False, PYTHONPATH="src", PYTHONDONTWRITEBYTECODE="1")
    print("   ", (done.stdout.strip().splitlines() or [done.stderr])[-1])
    if done.returncode not in (0, 1):
        sys.exit(f"the tests could not be run:\n{done.stdout}{done.stderr}")
    return done.returncode == 0


def fingerprint(directory: Path) -> str:
    """One digest of all names and contents."""
    digest = hashlib.sha256()
    for path in sorted(directory.rglob("*")):
        digest.update(str(path.relative_to(directory)).encode())
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()


def expect(condition: bool, what: str) -> None:
    """Say what holds, and end where it does not."""
    print(f"{'ok' if condition else 'NO'}  {what}")
    if not condition:
        sys.exit(1)


def main(work: Path) -> None:
    """Run the whole story, and check every step of it."""
    project, released = sources(OLD, work), sources(NEW, work)
    shutil.copy(released / TESTS, project / TESTS)
    git = ("git", "-c", "user.name=wink", "-c", "user.email=wink@example.invalid", "-c", "core.autocrlf=false")
    run(*git, "init", "--quiet", "--initial-branch=main", cwd=project)
    run(*git, "add", "--all", "--force", cwd=project)
    run(*git, "commit", "--quiet", "--message", f"humanize {OLD} with the tests of {NEW}", cwd=project)
    before, files_before = fingerprint(project / ".git"), len(list(project.rglob("*")))

    expect(not tests_pass(project), f"the tests of {NEW} fail on {OLD}")
    wink = (sys.executable, "-m", "wink", "run", "Fix naturalsize().", "--workspace", str(project), "--json")
    done = run(*wink, "--model", f"scripted:{SCRIPT}", "--section", "demo.refactor", cwd=work, check=False)
    expect(done.returncode == 0, f"the run succeeds\n{done.stderr}")
    calls = [row for row in map(json.loads, done.stdout.splitlines()) if row["event"] == "call"]
    (undone,) = [row for row in calls if row["rolled_back"]]
    expect(undone["tool"] == "rename_word", f"one call was rolled back: {undone['reply']}")
    expect([c["path"] for c in undone["changes"]] == [TESTS, "src/humanize/__init__.py"], "it had changed two files")
    expect(fingerprint(project / ".git") == before, "the repository's .git is untouched")
    expect(tests_pass(project), "the tests pass now")

    diff = run(*git, "--no-optional-locks", "diff", "--no-ext-diff", cwd=project).stdout
    print(diff)
    changed = run(*git, "--no-optional-locks", "status", "--porcelain", cwd=project).stdout.split()
    expect(changed == ["M", FIXED], f"only {FIXED} differs")
    expect((project / FIXED).read_bytes() == (released / FIXED).read_bytes(), f"it is byte for byte what {NEW} shipped")
    print(f"{len(calls)} calls on {files_before} files and directories")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        main(Path(directory))
