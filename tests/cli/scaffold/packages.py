"""Let packages pass their own nox with a built wheel of wink: new ones of `wink new-plugin`, and the example.

    python tests/cli/scaffold/packages.py [--quick]

runs in an environment that has wink's built wheel, nox and uv. Each package's noxfile makes clean environments, as on its author's
machine, with the wink that nox is installed beside, so that no package index is asked for it. Without `--quick` there is a package
for each kind of offer, one with all of them and the example, on every Python that is here; with it the one with all, one of a
single kind and the example, on one Python.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

KINDS = ("section", "policy", "filesystem", "adapter", "command", "hooks")
EXAMPLE = Path(__file__).parents[3] / "examples" / "wink-notes"
MAIN = f"{sys.version_info.major}.{sys.version_info.minor}"
BIN = Path(sys.executable).parent


def main(*, quick: bool) -> int:
    """Check them all; the number of packages that failed."""
    with tempfile.TemporaryDirectory(prefix="wink-packages-") as name:
        place = Path(name)
        environ = {
            **os.environ,
            "MYPY_CACHE_DIR": str(place / "mypy"),
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        }
        packages = [new(place, "everything", KINDS)]
        packages += [new(place, f"only-{kind}", [kind]) for kind in (KINDS[:1] if quick else KINDS)]
        packages.append(copy(EXAMPLE, place))
        sessions = ["lint", "types", f"tests-{MAIN}"] if quick else []
        with ThreadPoolExecutor(2) as workers:
            failed = list(workers.map(lambda package: check(package, sessions, environ), packages))
        together([*packages, new(place, "small", ())])
    return sum(failed)


def new(place: Path, plugin: str, kinds: Sequence[str]) -> Path:
    """A new package, written by the installed command."""
    offers = [word for kind in kinds for word in ("--offer", kind)]
    command = [BIN / "wink", "new-plugin", plugin, *offers, "--directory", place]
    subprocess.run(command, check=True, cwd=place, stdout=subprocess.DEVNULL)
    return place / f"wink-{plugin}"


def copy(package: Path, place: Path) -> Path:
    """The files of a package that git knows, where its checks leave nothing behind."""
    left = shutil.ignore_patterns(".*", "__pycache__", "build", "dist")
    return Path(shutil.copytree(package, place / package.name, ignore=left))


def check(package: Path, sessions: Sequence[str], environ: dict[str, str]) -> bool:
    """Run the package's own nox; whether it failed."""
    begun = time.monotonic()
    chosen = ["--session", *sessions] if sessions else []
    done = subprocess.run(
        [BIN / "nox", "--error-on-external-run", *chosen],
        cwd=package,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1800,
        check=False,
    )
    failed = done.returncode != 0
    print(f"{package.name}: {'FAILED' if failed else 'passed'} in {time.monotonic() - begun:.0f} s", flush=True)
    if failed:
        print(done.stdout, flush=True)
    return failed


def together(packages: Sequence[Path]) -> None:
    """Install all of them beside each other, the smallest too: one author's package must not break another's."""
    pip = [BIN / "uv", "pip", "install", "--quiet", "--python", sys.executable, "--no-deps"]
    subprocess.run([*pip, *packages], check=True)
    subprocess.run([BIN / "wink", "plugins", "check"], check=True, cwd=packages[0].parent)
    call = [BIN / "wink", "call", "small_count_words", "path=pyproject.toml", "--section", "small.tools"]
    subprocess.run(call, check=True, cwd=packages[-1])


if __name__ == "__main__":
    raise SystemExit(main(quick="--quick" in sys.argv[1:]))
