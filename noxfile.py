"""The checks of wink. `nox` runs those that every change must pass; `nox -l` lists the others."""

import os
import sys
from pathlib import Path

import nox

nox.needs_version = ">=2025.5"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.download_python = "never"
nox.options.error_on_missing_interpreters = False
nox.options.stop_on_first_error = False

PROJECT = nox.project.load_toml("pyproject.toml")
PYTHONS = ["3.11", "3.12", "3.13"]
MAIN = f"{sys.version_info.major}.{sys.version_info.minor}"
# Attacks, containers, crashes, browsers, whole commands and files by the thousand: minutes of work of the system and of
# other programs, which is the same under every Python.
OF_THE_SYSTEM = [
    "tests/adapters/providers",
    "tests/approvals",
    "tests/batch",
    "tests/cli",
    "tests/docs",
    "tests/examples",
    "tests/faults",
    "tests/filesystem",
    "tests/history",
    "tests/http",
    "tests/mcp/chaos",
    "tests/mcp/failures",
    "tests/mcp/mount",
    "tests/mcp/test_asking.py",
    "tests/mcp/test_ending.py",
    "tests/mcp/test_http.py",
    "tests/mcp/test_http_paths.py",
    "tests/mcp/test_http_slow.py",
    "tests/mcp/test_http_token.py",
    "tests/mcp/test_wire.py",
    "tests/plugins",
    "tests/prompt/overrides/test_local_store.py",
    "tests/record/test_masking.py",
    "tests/sandbox",
    "tests/saves",
    "tests/scaffold",
    "tests/state",
    "tests/testing/test_guide.py",
    "tests/tries",
    "tests/tutorial",
    "tests/ui",
    "tests/workspace",
    "plugins/podman/tests",
    "plugins/shell/tests",
]
SOURCES = ["src", "plugins", "tests", "benchmarks", "examples", "noxfile.py", *map(str, Path("docs").rglob("*.py"))]


def groups(*names: str) -> list[str]:
    """The requirements of dependency groups."""
    return nox.project.dependency_groups(PROJECT, *names)


def from_npm(session: nox.Session) -> dict[str, str]:
    """Where the tests find, and leave, what they install from npm; 1.6 GB that later runs need not download."""
    return {"WINK_NPM": os.environ.get("WINK_NPM", str(session.cache_dir.absolute() / "npm"))}


@nox.session(python=MAIN)
def lint(session: nox.Session) -> None:
    """Style and format of every Python file."""
    session.install(*groups("lint"))
    session.run("ruff", "check", *SOURCES)
    session.run("ruff", "format", "--check", *SOURCES)


@nox.session(python=MAIN)
def types(session: nox.Session) -> None:
    """Strict types of what is installed, and what users' code infers from it."""
    session.install("-e", ".", *groups("types"))
    session.run("pyright")


@nox.session(python=MAIN)
def layers(session: nox.Session) -> None:
    """Imports go down the map, and `import wink` loads nothing heavy."""
    session.install("-e", ".", *groups("layers"))
    session.run("lint-imports")
    session.run("python", "tests/import_light.py")


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """The tests of wink and of the plugins that ship with it; what tries the system is run on one Python."""
    session.install("-e", ".", *groups("test"))
    once = [] if session.python == MAIN or session.posargs else [f"--ignore={path}" for path in OF_THE_SYSTEM]
    session.run("pytest", "-n", "auto", "--dist=loadfile", "--durations=10", *once, *session.posargs)


@nox.session(python=MAIN, default=False)
def coverage(session: nox.Session) -> None:
    """The tests again, in one process group, with branch coverage."""
    session.install("-e", ".", *groups("test"))
    session.run(
        "pytest", "-n", "auto", "--dist=loadfile", "--cov", "--cov-report=term:skip-covered", "--cov-fail-under=85"
    )


@nox.session(python=MAIN, default=False)
def escapes(session: nox.Session) -> None:
    """All attacks on the sandbox from inside, also those that take minutes."""
    session.install("-e", ".", *groups("test"))
    session.run("pytest", "tests/sandbox/escapes", "tests/sandbox/escapes/slow_monsters.py", "--timeout=900")


@nox.session(python=MAIN, default=False)
def docs(session: nox.Session) -> None:
    """The pages: what the code says of itself is fresh, Sphinx has nothing to complain of, and no link leads nowhere."""
    session.install("-e", ".", *groups("docs"))
    session.run("python", "-m", "docs.generate", "--check")
    html = str(Path(session.create_tmp()) / "html")
    session.run("sphinx-build", "-W", "-n", "-j", "2", "--keep-going", "--fresh-env", "-b", "html", "docs", html, "-q")
    session.run("python", "-m", "docs.check", html)


@nox.session(python=MAIN)
def wheel(session: nox.Session) -> None:
    """The built wheel in an environment of its own: the demo, the commands, the plugins."""
    session.install("build")
    dist = Path(session.create_tmp()) / "dist"
    session.run("python", "-m", "build", "--outdir", str(dist), silent=True)
    session.install(str(next(dist.glob("*.whl"))))
    with session.chdir(session.create_tmp()):
        session.run("wink", "demo")
        session.run("wink", "plugins", "check")
        session.run("wink", "tools")


@nox.session(python=MAIN, default=False)
def minimums(session: nox.Session) -> None:
    """The tests with the oldest dependencies that are allowed."""
    session.install("uv")
    session.run("uv", "pip", "install", "--resolution", "lowest-direct", "-e", ".", *groups("test"))
    session.run("pytest", "-n", "auto", "--dist=loadfile")


@nox.session(python=MAIN, default=False)
def bench(session: nox.Session) -> None:
    """The benchmarks, with ratios against rivals in the same run."""
    session.install("-e", ".", *groups("test", "bench"))
    session.run(
        "pytest",
        "benchmarks",
        "--benchmark-only",
        "--benchmark-group-by=group",
        "--benchmark-columns=min,median,max,rounds",
        *session.posargs,
    )
    session.run("python", "-m", "benchmarks.mcp_overhead")
    session.run("python", "-m", "benchmarks.plugins_listing")


@nox.session(python=MAIN, default=False)
def compare(session: nox.Session) -> None:
    """What a way back costs, beside git and a copy of the tree; the whole table takes a quarter of an hour."""
    session.install("-e", ".", *groups("test", "bench"))
    session.run("python", "-m", "benchmarks.compare", *session.posargs)


@nox.session(python=MAIN, default=False)
def programs(session: nox.Session) -> None:
    """What it costs to run a program so that it can be taken back, beside bare bubblewrap; needs bubblewrap."""
    session.install("-e", ".", *groups("test", "bench"))
    session.run("python", "-m", "benchmarks.programs", *session.posargs)


@nox.session(python=MAIN, default=False)
def faults(session: nox.Session) -> None:
    """Every call of a workload fails, or is the last, at each system call in turn; needs a C compiler."""
    session.install("-e", ".")
    session.run("python", "-m", "tests.faults.run", *session.posargs)


@nox.session(python=MAIN, default=False)
def chaos(session: nox.Session) -> None:
    """Servers are killed, cancelled and fed with garbage 500 times; files and record must agree after each."""
    session.install("-e", ".", *groups("test"))
    session.run("python", "-m", "tests.mcp.chaos.run", *session.posargs)


@nox.session(python=MAIN, default=False)
def real(session: nox.Session) -> None:
    """The main job on a real package: its source distribution, a bug of its history, the fix that it shipped."""
    session.install("-e", ".", "pytest", "pip")
    session.run("python", "tests/real/run.py", *session.posargs)


@nox.session(python=MAIN, default=False)
def agents(session: nox.Session) -> None:
    """Real agents from npm and PyPI, under `wink try` and as clients of `wink serve`; a scripted model drives them."""
    session.install("-e", ".", *groups("test", "agents"))
    session.run("pytest", "tests/agents", *session.posargs, env=from_npm(session))


@nox.session(python=MAIN, default=False)
def fleet(session: nox.Session) -> None:
    """Batches on a real Ray, of one node and of several; nodes and drivers are killed in the middle."""
    session.install("-e", ".", *groups("fleet"))
    session.run("pytest", "tests/batch/fleet", *session.posargs)


@nox.session(python=MAIN, default=False)
def page(session: nox.Session) -> None:
    """The page of `wink ui` in a real Chromium, which has to be installed; axe-core comes from npm."""
    session.install("-e", ".[ui]", *groups("page"))
    session.run("pytest", "tests/ui/browser", *session.posargs, env=from_npm(session))


@nox.session(python=MAIN, default=False)
def conformance(session: nox.Session) -> None:
    """`wink serve` before the official conformance suite and the official inspector's command line, both from npm."""
    session.install("-e", ".", *groups("test"))
    session.run("pytest", "tests/mcp/conformance", "tests/mcp/inspector", *session.posargs, env=from_npm(session))


@nox.session(python=MAIN, default=False)
def laws(session: nox.Session) -> None:
    """Anything that can happen to files, in any order, on every filesystem at once, against a dictionary; takes minutes."""
    session.install("-e", ".", *groups("test"))
    session.run(
        "pytest", "tests/filesystem/test_machine.py", "--timeout=7200", *session.posargs, env={"WINK_LAWS": "2000"}
    )


@nox.session(python=MAIN, default=False)
def races(session: nox.Session) -> None:
    """Swap files for links, and save as an editor does, before every single call to the file system."""
    session.install("-e", ".", *groups("test"))
    session.run("pytest", "-n", "auto", "tests/filesystem/confinement", *session.posargs, env={"WINK_RACES": "all"})


@nox.session(python=MAIN, default=False)
def planted(session: nox.Session) -> None:
    """Every kind of trap at every name of the state, before every command; hours, or `-- --part 1/20` of them. Needs Linux."""
    session.install("-e", ".", *groups("test"))
    session.run("python", "-m", "tests.state.run", *session.posargs)


@nox.session(python=MAIN, default=False)
def saves(session: nox.Session) -> None:
    """Let a person save, in every way, at each step of everything that wink does to their file; needs Linux."""
    session.install("-e", ".", *groups("test"))
    session.run("python", "-m", "tests.saves.run", *session.posargs)


@nox.session(python=MAIN, default=False)
def scaffold(session: nox.Session) -> None:
    """Packages that `wink new-plugin` writes, and the example, pass their own checks with the built wheel; `-- --quick` for some."""
    session.install("nox>=2025.5", "uv")
    dist = Path(session.create_tmp()) / "dist"
    session.run("uv", "build", "--wheel", "--clear", "--out-dir", str(dist), silent=True)
    wheel = next(dist.glob("*.whl"))
    session.install(str(wheel))
    session.run("python", "tests/scaffold/packages.py", str(wheel), *session.posargs)
