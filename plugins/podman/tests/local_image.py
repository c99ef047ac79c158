"""A container image made of what this machine has, since tests pull none: a shell with its tools, and a Python."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile

NAME = "localhost/wink-tests:1"
_UNUSED = ("test", "idlelib", "lib2to3", "ensurepip", "tkinter", "turtledemo", "site-packages", "__pycache__")
_PASSWD = b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n"


def local_image() -> str:
    """The image's name; made at the first use on a machine."""
    podman = required("podman", "podman")
    if subprocess.run([podman, "image", "exists", NAME], check=False).returncode == 0:
        return NAME
    busybox = required("busybox", "busybox-static")
    with TemporaryFile() as packed:
        with tarfile.open(fileobj=packed, mode="w") as tar:
            for host, inside in contents(Path(busybox)):
                tar.add(host, inside, recursive=False)
            for name, target in links(busybox):
                info = tarfile.TarInfo(name)
                info.type, info.linkname = tarfile.SYMTYPE, target
                tar.addfile(info)
            passwd = tarfile.TarInfo("etc/passwd")
            passwd.size = len(_PASSWD)
            from io import BytesIO

            tar.addfile(passwd, BytesIO(_PASSWD))
            for name in ("tmp", "proc", "sys", "dev", "workspace", "run"):
                directory = tarfile.TarInfo(name)
                directory.type, directory.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(directory)
        packed.seek(0)
        subprocess.run([podman, "import", "--quiet", "-", NAME], stdin=packed, check=True, capture_output=True)
    return NAME


def required(program: str, package: str) -> str:
    """Where a program is; a missing one is a failure, since a test that is skipped proves nothing."""
    found = shutil.which(program)
    assert found is not None, f"these tests run {program}; install it: apt-get install {package}"
    return found


def contents(busybox: Path) -> Iterator[tuple[Path, str]]:
    """What goes into the image, and where: the shell, the interpreter that runs these tests, and their libraries."""
    yield busybox, "bin/busybox"
    python = Path(sys.executable).resolve()
    yield python, f"usr/bin/python3.{sys.version_info.minor}"
    standard = Path(sys.base_prefix) / f"lib/python3.{sys.version_info.minor}"
    extensions: list[Path] = []
    for path in sorted(standard.rglob("*")):
        if any(part in _UNUSED for part in path.relative_to(standard).parts) or path.is_dir():
            continue
        if path.suffix == ".so":
            extensions.append(path)
        yield path, f"usr/lib/python3.{sys.version_info.minor}/{path.relative_to(standard)}"
    for library in sorted(needed([python, *extensions])):
        yield library.resolve(), str(library).lstrip("/")


def needed(programs: list[Path]) -> set[Path]:
    """The shared libraries that programs load, with the loader itself."""
    told = subprocess.run(["ldd", *map(str, programs)], check=False, capture_output=True, text=True).stdout
    return {Path(path) for path in re.findall(r"(?:=> |^\s+)(/\S+) \(0x", told, re.MULTILINE)}


def links(busybox: str) -> Iterator[tuple[str, str]]:
    """Names for busybox's applets, and for the interpreter."""
    listed = subprocess.run([busybox, "--list"], check=True, capture_output=True, text=True).stdout
    for name in listed.split():
        if name != "busybox":
            yield f"bin/{name}", "busybox"
    yield "usr/bin/python3", f"python3.{sys.version_info.minor}"
