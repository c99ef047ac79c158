"""Run by itself: `import wink` and its packages must load nothing that is heavy."""

import subprocess
import sys

HEAVY = {
    "asyncio",
    "click",
    "difflib",
    "fsspec",
    "git",
    "importlib_metadata",
    "pluggy",
    "pydantic",
    "re2",
    "rich",
    "sqlite3",
}
PACKAGES = [
    "wink",
    "wink.errors",
    "wink.serde",
    "wink.limits",
    "wink.session",
    "wink.resources",
    "wink.filesystem",
    "wink.transactions",
    "wink.record",
    "wink.workspace",
    "wink.tools",
    "wink.policies",
    "wink.prompt",
    "wink.runtime",
    "wink.plugins",
    "wink.adapters",
]


def heavy_modules(package: str) -> set[str]:
    """What a fresh interpreter has loaded of `HEAVY` after importing `package`."""
    program = f"import sys; before = set(sys.modules); import {package}; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return HEAVY & set(done.stdout.split())


def main() -> int:
    """Report what is loaded and must not be."""
    wrong = {package: found for package in PACKAGES if (found := heavy_modules(package))}
    for package, found in wrong.items():
        print(f"import {package} loads {', '.join(sorted(found))}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
