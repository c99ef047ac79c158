"""Take of a changed git configuration which branch follows which, and remotes if they are confirmed; name all other keys.

Of three versions (as it was, as the program left it, as it is now) single keys are merged. Git reads them and writes the
result, on private copies: each of them is text by whoever, and nobody but git knows all of its syntax.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from wink.dataclass import replace
from wink.errors import RecordCorrupt
from wink.state import opened_directory, read_file, replace_file
from wink.trust import program
from wink_sandbox import _rules
from wink_sandbox._merge import Differences
from wink_sandbox._overlay import Overlay
from wink_sandbox._upper import Step

if TYPE_CHECKING:
    from wink_sandbox._git_remotes import RemoteSetting

MOST: Final = 1 << 20
"""Bytes of a configuration; larger ones are not read."""

PATH: Final = ".git/config"
_PLACE: Final = "git-config"
_BASE: Final = "base"
_MOST_CHANGED: Final = 200
_SHOWN: Final = 6
_LONG: Final = 40
_SECONDS: Final = 20
_KEY: Final = re.compile(r"branch\.(.+)\.(remote|merge|rebase)", re.DOTALL)
# As git-check-ref-format(1) has it, and no more than that.
_REF: Final = re.compile(r"(?![-./])(?!.*(//|\.\.|/\.|@\{|\.lock(/|$)))[^\s~^:?*\[\\\"'\x00-\x20\x7f]+(?<![./])")
_REBASE: Final = frozenset(("true", "false", "merges"))
_ONLY: Final = (
    "only a branch's remote, merge and rebase, and a remote's url, pushurl and fetch if confirmed, are merged"
)

Keys = Mapping[str, tuple[str | None, ...]]
"""The values of each key, in their order; None for a key without one."""


class _Refused(Exception):
    """Why nothing of a configuration is taken."""


class _Unconfirmed(_Refused):
    """Settings that a person has to be asked about."""

    def __init__(self, settings: Collection[RemoteSetting]) -> None:
        shown = ", ".join(map(str, settings))
        super().__init__(f"has remotes that nobody has confirmed: {shown}; `wink accept --remotes` takes them")
        self.settings = settings


def keep_base(overlay: Overlay) -> None:
    """Remember the workspace's configuration as a program finds it, unless one before has changed it."""
    if os.path.lexists(f"{overlay.upper}/{PATH}"):
        return
    try:
        content = _content(overlay.root, PATH)
    except _Refused:
        content = b""  # there is none, or none that can be read
    with opened_directory(f"{overlay.directory}/{_PLACE}", make=True) as place:
        replace_file(place, _BASE, content)


def with_git_config(found: Differences, confirmed: Collection[RemoteSetting] = ()) -> Differences:
    """The same, with what is to be taken of changed configurations, or why nothing of them is."""
    steps, settings, refusals = list(found.steps), dict[str, str](), dict[str, str]()
    asked: list[RemoteSetting] = []
    overlay = found.overlay
    for number, step in enumerate(steps):
        if step.kind != "file" or step.found is None:
            continue
        if not _rules.is_known_config(step.path, overlay.root, is_git=overlay.is_git):
            continue
        try:
            now = _content(overlay.root, step.path)
            tried = _content(overlay.upper, step.path)
            place = f"{overlay.root}/{step.path}"
            merged = _merged(_base(found, step, now), tried, now, place=place, confirmed=confirmed)
        except _Refused as reason:
            refusals[step.path] = str(reason)
            asked += reason.settings if isinstance(reason, _Unconfirmed) else ()
            continue
        name = step.path.replace("/", "%")[-200:]
        with opened_directory(f"{overlay.directory}/{_PLACE}", make=True) as place:
            replace_file(place, name, merged)
            os.chmod(name, stat.S_IMODE(step.found.st_mode) & 0o777, dir_fd=place)
            steps[number] = replace(step, made=os.stat(name, dir_fd=place, follow_symlinks=False))
        settings[step.path] = f"{overlay.directory}/{_PLACE}/{name}"
    return replace(found, steps=tuple(steps), settings=settings, refusals=refusals, asked=tuple(asked))


def _base(found: Differences, step: Step, now: bytes) -> bytes:
    if step.found is not None and step.found.st_ctime_ns <= found.overlay.since:
        return now
    if step.path == PATH:
        try:
            with opened_directory(f"{found.overlay.directory}/{_PLACE}") as place:
                return read_file(place, _BASE, MOST)
        except OSError:
            pass
    raise _Refused("was changed by somebody else too since the try began")


def _content(base: str, path: str) -> bytes:
    above, _, name = path.rpartition("/")
    try:
        with opened_directory(f"{base}/{above}") as place:
            return read_file(place, name, MOST)
    except RecordCorrupt:
        raise _Refused("is reached through a link") from None
    except OSError as error:
        raise _Refused(f"cannot be read: {error.strerror}") from None


def _merged(base: bytes, tried: bytes, now: bytes, *, place: str, confirmed: Collection[RemoteSetting]) -> bytes:
    """What is there now, with what the program did to branches, and to remotes as `confirmed`; raises `_Refused`."""
    from tempfile import TemporaryDirectory  # most accepts have no changed settings

    from wink_sandbox._git_remotes import MOST as MOST_ASKED
    from wink_sandbox._git_remotes import RemoteSetting, remote_of

    git = program("git")
    if git is None:
        raise _Refused("was changed, and no git is installed that could say how")
    with TemporaryDirectory(prefix="wink-") as directory:
        here = _Git(git, directory)
        before, after, there = (here.read(content) for content in (base, tried, now))
        if b"\0" in tried:
            raise _Refused("has a NUL in it, where git ends a value")
        if _comments(tried) - _comments(base):
            raise _Refused("has comments that it did not have, which cannot be merged")
        changed = [key for key in {**before, **after} if before.get(key) != after.get(key) != there.get(key)]
        remotes = {key[7:-4] for key in there if key.startswith("remote.") and key.endswith(".url")}
        asked = {key: name for key in changed if (name := remote_of(key, after.get(key, ()))) and _is_ref(name)}
        remotes |= {name for key, name in asked.items() if key.endswith(".url")}
        refused = [
            _told(key, before.get(key), after.get(key))
            for key in changed
            if key not in asked and not _may_change(key, before.get(key, ()), after.get(key, ()), remotes)
        ]
        if refused:
            more = f" and {len(refused) - _SHOWN} more" if len(refused) > _SHOWN else ""
            raise _Refused(f"has settings that are not merged: {', '.join(refused[:_SHOWN])}{more}; {_ONLY}")
        both = [key for key in changed if there.get(key) != before.get(key)]
        if both:
            shown = ", ".join(_told(key, there.get(key), after.get(key)) for key in both[:_SHOWN])
            raise _Refused(f"was changed by somebody else too since the try began: {shown}")
        if len(changed) > _MOST_CHANGED:
            raise _Refused(f"has {len(changed)} changed settings, and {_MOST_CHANGED} are merged at a time")
        if len(asked) > MOST_ASKED:
            raise _Refused(f"has {len(asked)} changed settings of remotes, and {MOST_ASKED} are confirmed at a time")
        unconfirmed = [RemoteSetting(place, key, there.get(key, ()), after.get(key, ())) for key in asked]
        if any(one not in confirmed for one in unconfirmed):
            raise _Unconfirmed(unconfirmed)
        merged = here.edited(now, {key: after.get(key, ()) for key in changed}, there)
        wanted = {
            key: values for key, values in {**there, **{key: after.get(key, ()) for key in changed}}.items() if values
        }
        if here.read(merged) != wanted:
            raise _Refused("cannot be merged: git wrote something else than was meant")
        return merged


def _may_change(
    key: str, before: tuple[str | None, ...], after: tuple[str | None, ...], remotes: Iterable[str]
) -> bool:
    match = _KEY.fullmatch(key)
    if match is None or not _is_ref(match[1]) or len(before) > 1 or len(after) > 1:
        return False
    if not after:
        return True
    (value,) = after
    if value is None:
        return False
    if match[2] == "remote":
        return value == "." or value in remotes
    return value in _REBASE if match[2] == "rebase" else value.startswith("refs/") and _is_ref(value)


def _is_ref(name: str) -> bool:
    return name.isprintable() and _REF.fullmatch(name) is not None


def _told(key: str, before: tuple[str | None, ...] | None, after: tuple[str | None, ...] | None) -> str:
    shown = key if key.isprintable() and len(key) <= 2 * _LONG else repr(key[: 2 * _LONG])
    return f"{shown} ({_values(before)} -> {_values(after)})"


def _values(values: tuple[str | None, ...] | None) -> str:
    if not values:
        return "nothing"
    return " and ".join(repr(_short(value or "")) for value in values[:3]) + (" …" if len(values) > 3 else "")


def _short(value: str) -> str:
    return value if len(value) <= _LONG else f"{value[:_LONG]}…"


def _comments(content: bytes) -> set[bytes]:
    return {line.strip() for line in content.splitlines() if line.lstrip()[:1] in (b"#", b";")}


class _Git:
    """Git on private copies, with no settings but what is in them, and no repository."""

    def __init__(self, git: str, directory: str) -> None:
        self._git, self._file = git, f"{directory}/config"
        self._environment = {
            "PATH": os.defpath,
            "HOME": directory,
            "LC_ALL": "C",
            "GIT_DIR": f"{directory}/none",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_SYSTEM": os.devnull,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_COUNT": "0",
        }
        self._directory = directory

    def read(self, content: bytes) -> Keys:
        self._write(content)
        keys: dict[str, tuple[str | None, ...]] = {}
        for entry in self._config("--null", "--list").split("\0")[:-1]:
            key, has_value, value = entry.partition("\n")
            keys[key] = (*keys.get(key, ()), value if has_value else None)
        return keys

    def edited(self, content: bytes, changed: Keys, there: Keys) -> bytes:
        """The content with other values of some keys; none where a key is to go."""
        self._write(content)
        for key, values in changed.items():
            if not values:
                self._config("--unset-all", key)
            for number, value in enumerate(values):
                self._config("--replace-all" if key in there and not number else "--add", key, value or "")
        with open(self._file, "rb") as file:
            return file.read()

    def _write(self, content: bytes) -> None:
        with open(self._file, "wb") as file:
            file.write(content)

    def _config(self, *words: str) -> str:
        import subprocess

        command = [self._git, "config", "--file", self._file, "--no-includes", *words]
        try:
            done = subprocess.run(
                command,
                cwd=self._directory,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=_SECONDS,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise _Refused(f"was changed, and git cannot say how: {type(error).__name__}") from None
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").replace(self._file, "it").strip().splitlines()
            raise _Refused(f"was changed, and git cannot read it: {said[-1] if said else done.returncode}")
        return done.stdout.decode("utf-8", "surrogateescape")
