"""The checks of wink. `nox` runs those that every change must pass; `nox -l` lists the others."""

import os
import shutil
import subprocess
import sys
import tempfile
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
    "plugins/models/tests",
    "tests/approvals",
    "tests/cli",
    "tests/days",
    "tests/docs",
    "tests/examples",
    "tests/faults",
    "tests/filesystem",
    "tests/histories",
    "tests/plugins",
    "tests/record/test_masking.py",
    "tests/filesystem/saves",
    "tests/cli/scaffold",
    "tests/state",
    "tests/testing/test_guide.py",
    "tests/tutorial",
    "tests/workspace",
    "plugins/acp/tests",
    "plugins/anthropic/tests",
    "plugins/attach/tests",
    "plugins/batch/tests",
    "plugins/bundles/tests",
    "plugins/history/tests",
    "plugins/http/tests",
    "plugins/mcp/tests/chaos",
    "plugins/mcp/tests/failures",
    "plugins/mcp/tests/mount",
    "plugins/mcp/tests/test_asking.py",
    "plugins/mcp/tests/test_ending.py",
    "plugins/mcp/tests/test_http.py",
    "plugins/mcp/tests/test_http_paths.py",
    "plugins/mcp/tests/test_http_slow.py",
    "plugins/mcp/tests/test_http_token.py",
    "plugins/mcp/tests/test_wire.py",
    "plugins/openai/tests",
    "plugins/overlay/tests",
    "plugins/overrides/tests",
    "plugins/podman/tests",
    "plugins/sandbox/tests",
    "plugins/shell/tests",
    "plugins/ui/tests",
    "plugins/verify/tests",
]
# What starts programs, all of which root may do; without what takes minutes and is the same for everybody.
OF_PROGRAMS = [
    "plugins/acp/tests/test_terminals.py",
    "plugins/batch/tests",
    "plugins/sandbox/tests",
    "plugins/shell/tests",
    "tests/days",
]
# Of these, what root's own tests leave to an ordinary user, because minutes are dear; `nox -s as_root` runs them.
AS_ORDINARY = [
    "plugins/sandbox/tests/tries/test_closed_by_programs.py",
    "plugins/sandbox/tests/tries/test_copies.py",
    "plugins/sandbox/tests/tries/test_git_below.py",
    "plugins/sandbox/tests/tries/test_links_out.py",
    "plugins/sandbox/tests/tries/test_persist.py",
    "plugins/sandbox/tests/tries/test_refusals.py",
    "plugins/sandbox/tests/tries/test_settings_files.py",
    "tests/days",
]
# What the kernel does without: each plugin, and those that need it.
REMOVABLE: dict[str, tuple[str, ...]] = {
    "acp": (),
    "anthropic": (),
    "asteval": (),
    "attach": ("acp",),
    "batch": (),
    "bundles": (),
    "demo": (),
    "files": (),
    "fsspec": ("overlay",),
    "history": ("ui",),
    "http": ("acp", "mcp", "ui"),
    "mcp": ("acp",),
    "models": ("anthropic", "openai"),
    "openai": (),
    "overlay": (),
    "overrides": (),
    "planning": (),
    "podman": (),
    "read_before_write": ("files",),
    "rules": ("acp", "attach", "batch", "podman", "sandbox", "shell", "ui"),
    "sandbox": ("acp", "batch", "podman", "shell", "ui"),
    "shell": ("acp",),
    "ui": (),
    "verify": ("bundles",),
}
# A quick part of the kernel's tests that would find it asking for them: the first uses the tools for files, the second no plugin.
WITHOUT_OTHERS = [
    "tests/cli/test_call.py",
    "tests/cli/test_main.py",
    "tests/cli/test_offered_commands.py",
    "tests/runtime/test_outcomes.py",
]
WITHOUT_ANY = [
    "tests/policies",
    "tests/runtime/test_outcomes.py",
    "tests/session",
    "tests/tools",
    "tests/transactions",
]
# The kernel's own, none of which waits for a program, a server or a disk.
OF_THE_KERNEL = [
    "tests/adapters",
    "tests/policies",
    "tests/prompt",
    "tests/resources",
    "tests/serde",
    "tests/session",
    "tests/spec",
    "tests/tools",
    "tests/transactions",
    "plugins/files/tests",
]
PYTHONS_OF_ALL = [sys.executable, *(f"/usr/bin/python3{minor}" for minor in (".13", ".12", ".11", ""))]
SOURCES = ["src", "plugins", "tests", "benchmarks", "examples", "noxfile.py", *map(str, Path("docs").rglob("*.py"))]


def beside(session: nox.Session, name: str) -> Path:
    """A path in the session's environment.

    Not in `session.create_tmp()`, which puts all temporary files below this repository, where wink takes it for their workspace.
    """
    return Path(session.virtualenv.location).absolute() / name


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
    session.run("mypy", "--strict", "tests/typing/functions.py")


@nox.session(python=MAIN)
def layers(session: nox.Session) -> None:
    """Imports go down the map, and `import wink` loads nothing heavy."""
    session.install("-e", ".", *groups("layers"))
    session.run("lint-imports")
    session.run("lint-imports", "--config", ".importlinter-privacy", env={"PYTHONPATH": "."})
    session.run("python", "tests/import_light.py")


@nox.session(python=False, default=False)
def dev(session: nox.Session) -> None:
    """An environment to work in, `.venv`: wink, editable, and what all the checks need."""
    session.run(sys.executable, "-m", "venv", ".venv", external=True)
    python = str(Path(".venv", "Scripts" if os.name == "nt" else "bin", "python"))
    session.run(python, "-m", "pip", "install", "-q", "-e", ".", *groups("dev"), external=True)


@nox.session(python=MAIN, default=False, reuse_venv=True)
def quick(session: nox.Session) -> None:
    """What to run while you work, in less than a minute: style, types of what changed, the tests of the kernel."""
    session.install("-e", ".", *groups("lint", "types"))
    session.run("ruff", "check", *SOURCES)
    session.run("ruff", "format", "--check", *SOURCES)
    names = session.run("git", "ls-files", "-z", "-m", "-o", "--exclude-standard", external=True, silent=True)
    typed = ("src/", "plugins/", "examples/", "tests/typing/")
    changed = [
        name
        for name in str(names).split("\0")
        if name.endswith(".py") and name.startswith(typed) and "/tests/" not in name[6:]
    ]
    if changed := [name for name in changed if Path(name).is_file()]:
        session.run("pyright", *changed)
    ignored = [f"--ignore={path}" for path in OF_THE_SYSTEM]
    session.run("pytest", "-q", "-n", "auto", "--dist=loadfile", *(session.posargs or [*OF_THE_KERNEL, *ignored]))


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """The tests of wink and of the plugins that ship with it; what tries the system is run on one Python."""
    session.install("-e", ".", *groups("test"))
    elsewhere = OF_THE_SYSTEM if session.python != MAIN else AS_ORDINARY if os.getuid() == 0 else []
    left_out = [] if session.posargs else [f"--ignore={path}" for path in elsewhere]
    session.run("pytest", "-n", "auto", "--dist=loadfile", "--durations=10", *left_out, *session.posargs)


@nox.session(python=MAIN, default=False)
def as_root(session: nox.Session) -> None:
    """By root, what the other sessions run as an ordinary user only."""
    session.install("-e", ".", *groups("test"))
    session.run("pytest", "-n", "auto", "--dist=loadfile", *AS_ORDINARY, *session.posargs)


@nox.session(python=False)
def ordinary(session: nox.Session) -> None:
    """The tests of what runs programs, by root as an ordinary user: that is what people are, and root may do too much."""
    if os.getuid() != 0:
        session.skip("whoever runs this is an ordinary user, and so is the session `tests`")
    who = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    python = next((path for path in PYTHONS_OF_ALL if Path(path).exists() and is_run_by(who, path)), None)
    if python is None:
        session.error("no Python of 3.11 or later that other users can run, with venv: apt-get install python3-venv")
    # A home outside of /tmp, which programs see in a way of their own, with a copy of what may lie where only root can look.
    with tempfile.TemporaryDirectory(prefix="wink-ordinary-", dir="/var/lib") as home:
        copy, made = Path(home, "wink"), Path(home, "venv")
        for path in session.run("git", "ls-files", "-z", external=True, silent=True).split("\0"):
            if path and Path(path).is_file():
                (copy / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, copy / path)
        session.run(python, "-m", "venv", str(made), external=True)
        test = str(made / "bin/python")
        session.run(test, "-m", "pip", "install", "-q", "-e", str(copy), *groups("test"), external=True)
        session.run("chown", "-R", "65534:65534", home, external=True)
        with session.chdir(copy):
            environment = {"HOME": home, "USER": "nobody", "PYTHONDONTWRITEBYTECODE": "1"}
            words = [test, "-m", "pytest", "-n", "auto", "--dist=loadfile", "-p", "no:cacheprovider", *OF_PROGRAMS]
            session.run(*who, *words, *session.posargs, env=environment, external=True)


def is_run_by(who: list[str], python: str) -> bool:
    """Whether a user can run this Python, and it is one that wink works with."""
    # By a shell: what setpriv itself starts is still looked up with root's rights.
    script = f"{python} -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' && true"
    words = [*who, "sh", "-c", script]
    return subprocess.run(words, check=False, stderr=subprocess.DEVNULL, cwd="/").returncode == 0


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
    session.run(
        "pytest", "plugins/sandbox/tests/escapes", "plugins/sandbox/tests/escapes/slow_monsters.py", "--timeout=900"
    )


@nox.session(python=MAIN, default=False)
def docs(session: nox.Session) -> None:
    """The pages: what the code says of itself is fresh, Sphinx has nothing to complain of, and no link leads nowhere."""
    session.install("-e", ".", *groups("docs"))
    session.run("python", "-m", "docs.generate", "--check")
    html = str(beside(session, "html"))
    session.run("sphinx-build", "-W", "-n", "-j", "2", "--keep-going", "--fresh-env", "-b", "html", "docs", html, "-q")
    session.run("python", "-m", "docs.check", html)


@nox.session(python=MAIN)
def wheel(session: nox.Session) -> None:
    """The built wheel in an environment of its own: the demo, the commands, the plugins."""
    session.install("build")
    dist = beside(session, "dist")
    session.run("python", "-m", "build", "--outdir", str(dist), silent=True)
    session.install(str(next(dist.glob("*.whl"))))
    with tempfile.TemporaryDirectory() as elsewhere, session.chdir(elsewhere):
        session.run("wink", "demo")
        session.run("wink", "plugins", "check")
        session.run("wink", "tools")


@nox.session(python=MAIN)
def removable(session: nox.Session) -> None:
    """The kernel works without each plugin that is taken out of the built wheel, and without all of them."""
    session.install("build")
    dist = beside(session, "dist")
    session.run("python", "-m", "build", "--wheel", "--outdir", str(dist), silent=True)
    wheel = str(next(dist.glob("*.whl")))
    session.install(wheel, *groups("test"))
    kept = {"files", "read_before_write"}
    out = [(plugin, *needing) for plugin, needing in REMOVABLE.items()]
    for plugins in (*out, REMOVABLE.keys() - kept, REMOVABLE.keys()):
        session.install("--force-reinstall", "--no-deps", wheel)
        session.run("python", "tests/plugins/without.py", *sorted(plugins))
        if len(plugins) < len(REMOVABLE) - len(kept):
            continue
        tests = WITHOUT_ANY if len(plugins) == len(REMOVABLE) else WITHOUT_OTHERS
        session.run("pytest", "-n", "auto", "--dist=loadfile", *tests)


@nox.session(python=MAIN, default=False)
def minimums(session: nox.Session) -> None:
    """The tests with the oldest dependencies that are allowed."""
    session.install("uv")
    session.run("uv", "pip", "install", "--resolution", "lowest-direct", "-e", ".", *groups("test"))
    session.run("pytest", "-n", "auto", "--dist=loadfile")


@nox.session(python=MAIN, default=False)
def bench(session: nox.Session) -> None:
    """The benchmarks, and a table of them with ratios against rivals in the same run, and with aims."""
    session.install("-e", ".", *groups("test", "bench"))
    figures = str(beside(session, "figures.json"))
    session.run(
        "pytest",
        "benchmarks",
        "--benchmark-only",
        "--benchmark-group-by=group",
        "--benchmark-columns=min,median,max,rounds",
        f"--benchmark-json={figures}",
        *session.posargs,
    )
    session.run("python", "-m", "benchmarks.table", figures)
    session.run("python", "-m", "benchmarks.counts")
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
def several(session: nox.Session) -> None:
    """Eight agents at once in tries, beside a git worktree for each with copies of what is ignored; needs bubblewrap and 10 GB."""
    session.install("-e", ".", *groups("bench"))
    session.run("python", "-m", "benchmarks.several_agents", *session.posargs)


@nox.session(python=MAIN, default=False)
def faults(session: nox.Session) -> None:
    """Every call of a workload fails, or is the last, at each system call in turn; needs a C compiler, and bubblewrap for tries."""
    session.install("-e", ".")
    session.run("python", "-m", "tests.faults.run", *session.posargs)


@nox.session(python=MAIN, default=False)
def chaos(session: nox.Session) -> None:
    """Servers are killed, cancelled and fed with garbage 500 times; files and record must agree after each."""
    session.install("-e", ".", *groups("test"))
    session.run("python", "-m", "plugins.mcp.tests.chaos.run", *session.posargs)


@nox.session(python=MAIN, default=False)
def real(session: nox.Session) -> None:
    """The main job on a real package: its source distribution, a bug of its history, the fix that it shipped."""
    session.install("-e", ".", "pytest", "pip")
    session.run("python", "tests/real/run.py", *session.posargs)


@nox.session(python=MAIN, default=False)
def histories(session: nox.Session) -> None:
    """Every release of two real packages, replayed through the tools with failures, kills and undos; needs bubblewrap."""
    session.install("-e", ".", "unearth>=0.17")
    kept = str(session.cache_dir.absolute() / "histories")
    session.run("python", "-m", "tests.histories.run", "--cache", kept, *session.posargs)


@nox.session(python=MAIN, default=False)
def dying(session: nox.Session) -> None:
    """The helper of an attached agent, and `wink rewind` of one, killed at every step; some 15 minutes."""
    session.install("-e", ".", *groups("test"))
    words = [
        "pytest",
        "plugins/attach/tests/test_dying.py",
        "plugins/attach/tests/test_rewind_killed.py",
        *session.posargs,
    ]
    session.run(*words, env={"WINK_EVERY_STEP": "1"})


@nox.session(python=MAIN, default=False)
def agents(session: nox.Session) -> None:
    """Real agents from npm and PyPI, under `wink try`, as clients of `wink serve`, attached, and in an editor; a scripted model drives them."""
    session.install("-e", ".", *groups("test", "agents"))
    session.run("pytest", "tests/agents", *session.posargs, env=from_npm(session))


@nox.session(python=MAIN, default=False)
def fleet(session: nox.Session) -> None:
    """Batches on a real Ray, of one node and of several; nodes and drivers are killed in the middle."""
    session.install("-e", ".", *groups("fleet"))
    session.run("pytest", "plugins/batch/tests/fleet", *session.posargs)


@nox.session(python=MAIN, default=False)
def page(session: nox.Session) -> None:
    """The page of `wink ui` in a real Chromium, which has to be installed; axe-core comes from npm."""
    session.install("-e", ".[ui]", *groups("page"))
    session.run("pytest", "plugins/ui/tests/browser", *session.posargs, env=from_npm(session))


@nox.session(python=MAIN, default=False)
def conformance(session: nox.Session) -> None:
    """`wink serve` before the official conformance suite and the official inspector's command line, both from npm."""
    session.install("-e", ".", *groups("test"))
    session.run(
        "pytest",
        "plugins/mcp/tests/conformance",
        "plugins/mcp/tests/inspector",
        *session.posargs,
        env=from_npm(session),
    )


@nox.session(python=MAIN, default=False)
def laws(session: nox.Session) -> None:
    """Anything that can happen to files, on every filesystem at once, and to a workspace and two tries, each against a dictionary.

    Takes minutes. What is given goes to the first; `python -m plugins.sandbox.tests.tries_laws.run` is the second, and a third holds
    who wrote each line against who did.
    """
    session.install("-e", ".", *groups("test"))
    session.run(
        "pytest", "tests/filesystem/test_machine.py", "--timeout=7200", *session.posargs, env={"WINK_LAWS": "2000"}
    )
    session.run("python", "-m", "plugins.sandbox.tests.tries_laws.run")
    blame = "plugins/history/tests/test_blame_laws.py"
    session.run("pytest", blame, "--timeout=7200", env={"WINK_BLAME_EXAMPLES": "500"})


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
    session.run("python", "-m", "tests.filesystem.saves.run", *session.posargs)


@nox.session(python=MAIN, default=False)
def scaffold(session: nox.Session) -> None:
    """Packages that `wink new-plugin` writes, and the example, pass their own checks with the built wheel; `-- --quick` for some."""
    session.install("nox>=2025.5", "uv")
    dist = beside(session, "dist")
    session.run("uv", "build", "--wheel", "--clear", "--out-dir", str(dist), silent=True)
    wheel = next(dist.glob("*.whl"))
    session.install(str(wheel))
    session.run("python", "tests/cli/scaffold/packages.py", *session.posargs)
