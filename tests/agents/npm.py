"""Programs from npm at pinned versions, each in a directory of its own that outlives the tests."""

from __future__ import annotations

import atexit
import fcntl
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

MACHINE = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
PACKAGES = {
    # name: (package at a version, its program)
    "node": (f"node-{sys.platform}-{MACHINE}@26.10.0", "node"),
    "claude-code": ("@anthropic-ai/claude-code@2.1.330", "claude"),
    "codex": ("@openai/codex@0.169.0", "codex"),
    "opencode": ("opencode-ai@1.18.33", "opencode"),
    "gemini": ("@google/gemini-cli@0.61.0", "gemini"),
    "qwen": ("@qwen-code/qwen-code@0.24.4", "qwen"),
    "goose": (f"@aaif/goose-binary-{sys.platform}-{MACHINE}@1.52.0", f"goose-binary-{sys.platform}-{MACHINE}"),
    "conformance": ("@modelcontextprotocol/conformance@0.2.0-alpha.12", "conformance"),
    "inspector": ("@modelcontextprotocol/inspector@2.12.0", "mcp-inspector"),
}


@cache
def program(name: str) -> Path:
    """The program, installed when it is not there yet; `WINK_NPM` says where, otherwise it is a temporary directory."""
    package, command = PACKAGES[name]
    place = Path(os.environ.get("WINK_NPM") or _temporary()).absolute() / package.replace("/", "-")
    found = place / "node_modules/.bin" / command
    place.mkdir(parents=True, exist_ok=True)
    with open(place / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "complete").exists():
            npm = shutil.which("npm")
            assert npm is not None, f"this test needs {package} from npm; install Node.js with npm"
            install = [npm, "install", "--no-fund", "--no-audit", "--silent", "--prefix", str(place), package]
            done = subprocess.run(install, capture_output=True, text=True, check=False, timeout=280)
            assert done.returncode == 0, f"npm could not install {package}: {done.stderr or done.stdout}"
            assert found.exists(), f"{package} has no program {command!r}"
            (place / "complete").touch()
    return found


def path() -> str:
    """A PATH with a newer Node.js than most machines have."""
    return f"{program('node').parent}:{os.environ['PATH']}"


@cache
def _temporary() -> str:
    place = tempfile.mkdtemp(prefix="wink-npm-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place
