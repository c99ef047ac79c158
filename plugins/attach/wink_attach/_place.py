"""Where the client, the sockets and what is known of attached workspaces lie: with the user, never in a workspace.

A socket that lay in a workspace could be one that somebody planted, and would answer "allow". So it lies in a directory of mode
0700 that is this user's, under a name made of the workspace's path; and whoever connects looks whose process answers. A baseline
that lay there could tell of what never was, and an undo would write it.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import re
import shlex
import shutil
import site
import stat
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from wink.cli import one_line, wrong
from wink.state import opened_directory, user_directory
from wink_attach import _client

_LONGEST: Final = 80
"""Bytes that the directory of sockets may have in its name: a socket's may have 107."""
_LEFT: Final = 7 * 86_400.0
"""Seconds without use after which the baseline of a workspace that is gone goes too."""
_MOST: Final = 600
_SEAL: Final = "seal-"
"""How the name of the file begins by which `wink.state` knows a state: no two directories have the same one."""
_MARK: Final = re.compile(r"^known = .*$", re.MULTILINE)


def home_of_ours() -> str:
    """`wink/attach` in the user's directory for state; raises `StateKeyError` where there is no place for it."""
    return os.path.join(user_directory(os.environ) or "", "attach")


def client_path() -> str:
    """Where the client is installed: no workspace has this path."""
    return f"{home_of_ours()}/client.py"


def identity(root: str) -> str:
    """By what a workspace is known among sockets and marks.

    >>> identity("/srv/project")
    'ab4271cd2909836e860e'
    """
    return hashlib.blake2b(os.fsencode(root), digest_size=10).hexdigest()


def baseline_directory(root: str) -> str:
    """Where the baseline of a workspace lies: by its path, as the helper's lock, so that two never share one."""
    return f"{home_of_ours()}/baselines/{identity(root)}"


def baseline_of(root: str, state: str) -> tuple[str, str]:
    """That directory, made if need be, and by what the workspace and its record are known; raises `WrongInput`.

    Baselines of workspaces that are gone since go.
    """
    for above in (home_of_ours(), f"{home_of_ours()}/baselines"):
        made_private(above)
    _forget_gone(f"{home_of_ours()}/baselines")
    place = made_private(baseline_directory(root))
    write_own(f"{place}/root", root)
    with opened_directory(os.path.realpath(state)) as fd:
        seals = sorted(name for name in os.listdir(fd) if name.startswith(_SEAL))
    return place, "-".join((str(os.stat(root).st_ino), *seals))


def _forget_gone(baselines: str) -> None:
    for one in os.scandir(baselines):
        with suppress(OSError, ValueError):
            with open(f"{one.path}/root", "rb") as stream:
                root = stream.read(4096)
            if os.stat(f"{one.path}/root").st_mtime < time.time() - _LEFT and not os.path.lexists(root):
                shutil.rmtree(one.path)


def oddity(root: str, *, is_chosen: bool) -> str:
    """Why no helper works in a directory, with the way on; "" where one does.

    One that was not chosen is where an agent happens to work that is attached for all projects.
    """
    for place in homes():
        if f"{place}/".startswith(f"{root.rstrip('/')}/"):
            return f"{root} holds more than a project; start the agent in the directory of one"
    if f"{root}/".startswith(f"{os.path.realpath(home_of_ours())}/"):
        return f"{root} is wink's own; start the agent in the directory of a project"
    if not is_chosen and os.stat(root).st_uid != os.geteuid():
        return f"{root} is another user's; detach the agent from all projects, and attach it there, if you want it judged there"
    return ""


def homes() -> list[str]:
    """What no workspace may be, or hold: this user's home, and where wink keeps what it must not believe of a workspace."""
    found = [os.path.expanduser("~"), user_directory(os.environ) or ""]
    with suppress(KeyError):
        found.append(pwd.getpwuid(os.geteuid()).pw_dir)
    return sorted({os.path.realpath(one) for one in found if one.startswith("/")})


def runtime_directory(environ: Mapping[str, str]) -> str:
    """Where sockets lie: `wink` in `XDG_RUNTIME_DIR` where that is this user's alone, otherwise in `/tmp`, which is checked at each use."""
    given = environ.get("XDG_RUNTIME_DIR", "")
    if given.startswith("/") and is_private(given) and len(given) <= _LONGEST:
        return f"{given}/wink"
    return f"/tmp/wink-{os.getuid()}"  # noqa: S108  # whose it is, is looked at


def is_private(path: str) -> bool:
    """Whether a directory is this user's, and nobody else may look into it."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not stat.S_IMODE(found.st_mode) & 0o077


def made_private(path: str) -> str:
    """The directory, made if need be; raises `WrongInput` where it is somebody else's."""
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
    except OSError as error:
        raise wrong(f"{path} cannot be made: {error.strerror}; make it yours alone") from None
    if not is_private(path):
        raise wrong(f"{path} is not a directory of yours alone; delete it, or run `chmod 700` on it")
    return path


def install_client() -> str:
    """Write the client, with what it must know of this machine in it; gives its path. Raises `WrongInput`."""
    home = made_private(home_of_ours())
    place = f"{home}/client.py"
    with open(_client.__file__, encoding="utf-8") as stream:
        source = stream.read()
    marks = f"{home}/closed"
    known: dict[str, object] = {
        "python": sys.executable, "flags": _flags(), "run": _runtime(home), "marks": marks, "homes": homes()
    }  # fmt: skip
    made_private(marks)
    made_private(f"{home}/seen")
    text = _MARK.sub(lambda _: f"known = {known!r}", source, count=1)
    write_own(place, text)
    return place


def write_own(path: str, text: str) -> None:
    """Write a file in a directory that is this user's alone."""
    fresh = f"{path}.{os.getpid()}"
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(fd, "w", encoding="utf-8", errors="surrogateescape") as stream:
        stream.write(text)
    os.replace(fresh, path)


def hook_command(agent: str, event: str, root: str | None) -> str:
    """The command line of a hook: an absolute interpreter, isolated and without site, which takes 15 ms to answer."""
    words = [sys.executable, "-I", "-S", client_path(), agent, event, *([] if root is None else [root])]
    return shlex.join(words)


def socket_place(root: str) -> tuple[str, str]:
    """The directory of sockets, and the name of a workspace's in it without its ending."""
    home = home_of_ours()
    return _runtime(home), identity(root)


def mark_closed(root: str, *, closed: bool, reason: str = "") -> None:
    """Note that calls in a workspace are denied where no helper can be reached: rules deny or ask there, or for a `reason`."""
    _mark(f"{home_of_ours()}/closed/{identity(root)}", present=closed, content=one_line(reason)[:_MOST])


def closed_for(root: str) -> str:
    """The reason for which calls in a workspace are denied where no helper can be reached; "" for rules, and where they are not."""
    try:
        with open(f"{home_of_ours()}/closed/{identity(root)}", encoding="utf-8", errors="replace") as stream:
            return stream.read(_MOST)
    except OSError:
        return ""


def mark_seen(root: str, agent: str) -> None:
    """Note that an event of an agent has arrived from a workspace."""
    _mark(f"{home_of_ours()}/seen/{identity(root)}-{agent}", present=True)


def seen(root: str, agent: str) -> float | None:
    """When the last helper of a workspace first heard of an agent, in seconds since the epoch; None for never."""
    try:
        return os.lstat(f"{home_of_ours()}/seen/{identity(root)}-{agent}").st_mtime
    except OSError:
        return None


def _mark(path: str, *, present: bool, content: str = "") -> None:
    if not present:
        try:
            os.unlink(path)
        except OSError:
            pass
        return
    made_private(os.path.dirname(path))
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(fd, "w", encoding="utf-8", errors="backslashreplace") as stream:
        stream.write(content)
    os.utime(path)


def _runtime(home: str) -> str:
    """The directory of sockets, which stays the same for all agents once it was chosen."""
    place = f"{home}/run"
    try:
        known = os.readlink(place)
        if os.path.isdir(os.path.dirname(known)):
            return known
        os.unlink(place)
    except OSError:
        pass
    chosen = runtime_directory(os.environ)
    try:
        os.symlink(chosen, place)
    except FileExistsError:
        return os.readlink(place)
    except FileNotFoundError:
        pass
    return chosen


def _flags() -> list[str]:
    """How Python is to be started so that it finds wink and nothing of the place where it runs."""
    users = site.getusersitepackages()
    return ["-P", "-E"] if os.path.realpath(__file__).startswith(os.path.realpath(users) + "/") else ["-I"]
