"""Read the files that hold settings, and say of each whether an agent could have written it."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, cast

from wink.bounded import SETTINGS, content, content_beneath, toml
from wink.cli._shorten import fit
from wink.cli.settings._trust_store import Standing, TrustStore, is_within
from wink.errors import SettingsError

_USER_FILE: Final = os.path.join("wink", "wink.toml")
WORKSPACE_FILES: Final = ("pyproject.toml", "wink.toml")
_KEYS: Final = (
    "plugins",
    "rules",
    "rules_default",
    "mask",
    "max_file_bytes",
    "portable_names",
    "history",
    "persist",
    "network",
    "network_default",
    "hide",
    "tools_files",
)
_PLACES: Final = {
    # keys of tables, which people write at the top: the table that each belongs to
    **dict.fromkeys(("allow", "disable", "strict"), "[{}plugins]"),
    **dict.fromkeys(("patterns", "names", "environment"), "[{}mask]"),
    **dict.fromkeys(("action", "tools", "paths", "arguments", "effects", "requires", "reason"), "[[{}rules]]"),
    **dict.fromkeys(("same_path", "at_most", "path_arguments"), "[[{}rules]]"),
    "keep": "[{}history]",
    **dict.fromkeys(("calls", "days", "bytes"), "[{}history.keep]"),
}

_QUOTED: Final = r"""\"[^"\\]*\"|'[^']*'"""
_SHOWN: Final = 5
_WIDTH: Final = 60


class Source(NamedTuple):
    """One file's settings. `may_loosen` says that it is the user's own, or a workspace's that the user trusts."""

    path: str
    shown: str
    data: bytes
    text: str
    is_workspace: bool
    standing: Standing
    tables: Mapping[str, tuple[Any, str]]
    """Each of wink's keys in it, and how it is called in this file: `tool.wink.rules` or `rules`."""

    @property
    def may_loosen(self) -> bool:
        """Whether all that it says counts; otherwise only what restricts."""
        return not self.is_workspace or self.standing == "trusted"

    def table(self, key: str, otherwise: Any) -> tuple[Any, str]:
        """The value of one of wink's keys and how the file calls it."""
        return self.tables.get(key, (otherwise, key))

    def place(self, key: str, *, is_table: bool = False) -> str:
        """`file:line` of a dotted key, without `tool.wink.`, or the file alone when it is written in an unusual way."""
        keys, tables = _lines(self.text)
        found = [keys.get(key), tables.get(key) if is_table else None]
        lines = [line for line in found if line is not None]
        return f"{self.shown}:{min(lines)}" if lines else self.shown

    def places(self, key: str, count: int) -> list[str]:
        """`file:line` of each table of an array of them; the array's own where they are written in an unusual way."""
        lines = table_lines(self.text, key)
        if len(lines) == count:
            return [f"{self.shown}:{number}" for number in lines]
        return [self.place(key)] * count

    def entry_places(self, key: str, entries: Sequence[str]) -> tuple[str, ...]:
        """`file:line` of each text of a list; the list's own where one is written in an unusual way."""
        first = _lines(self.text)[0].get(key)
        if first is None:
            return (self.shown,) * len(entries)
        found = dict[str, int]()
        for number, raw in enumerate(self.text.splitlines()[first - 1 :], start=first):
            for text in re.findall(_QUOTED, raw):
                found.setdefault(text[1:-1], number)
            if raw.partition("#")[0].rstrip().endswith("]"):
                break
        return tuple(f"{self.shown}:{found.get(entry, first)}" for entry in entries)


def table_lines(text: str, key: str) -> list[int]:
    """The lines of TOML at which the tables of an array begin, as far as they are written in the usual way, `[[key]]`."""
    return [
        number
        for number, raw in enumerate(text.splitlines(), start=1)
        if raw.strip().startswith("[[") and _header(raw.strip()) == key
    ]


def sources(
    workspace: str, environ: Mapping[str, str], *, trusting: bool = True, without: Collection[str] = ()
) -> tuple[Source, ...]:
    """The workspace's files and then the user's own, those that exist; without `trusting` as if no file was trusted.

    Raises `SettingsError` for one that cannot be read, since it may well take something away; `without` are the workspace's
    that are not read.
    """
    store = TrustStore.of_user(environ, workspace=workspace) if trusting else TrustStore(None)
    return tuple(_sources(workspace, environ, store, without))


def user_file(environ: Mapping[str, str]) -> str | None:
    """Where the user's own settings are: `wink/wink.toml` under `XDG_CONFIG_HOME`, by default `~/.config`."""
    base = environ.get("XDG_CONFIG_HOME", "")
    if os.path.isabs(base):  # the XDG specification has relative ones ignored
        return os.path.join(base, _USER_FILE)
    home = environ.get("HOME", "")
    return os.path.join(home, ".config", _USER_FILE) if os.path.isabs(home) else None


def for_people(path: str, environ: Mapping[str, str]) -> str:
    """A path of the host with `~` for the home directory."""
    home = environ.get("HOME", "")
    return f"~/{os.path.relpath(path, home)}" if os.path.isabs(home) and _is_inside(path, home) else path


def _sources(
    workspace: str, environ: Mapping[str, str], store: TrustStore, without: Collection[str]
) -> Iterable[Source]:
    for name in WORKSPACE_FILES:
        if (
            name not in without
            and (source := _read(os.path.join(workspace, name), name, store, within=workspace)) is not None
        ):
            yield source
    own = user_file(environ)
    if own is not None:
        # A workspace that contains the user's settings, such as the home directory, lets an agent edit them.
        is_workspace = is_within(own, workspace)
        if (source := _read(own, for_people(own, environ), store if is_workspace else None)) is not None:
            yield source


def _read(path: str, shown: str, store: TrustStore | None, *, within: str = "") -> Source | None:
    """A file's settings; with a `store`, which knows what the user trusts of it, it is the workspace's.

    A file `within` a workspace is read from there, and from nowhere that a link in it leads to.
    """
    try:
        data = content_beneath(within, shown, most=SETTINGS) if within else content(path, most=SETTINGS)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        # Going on without a file that may switch plugins off would be the less careful guess.
        raise SettingsError(shown, [f"cannot be read: {error.strerror or error}"]) from None
    is_ours = os.path.basename(path) == "wink.toml"
    if not is_ours and b"wink" not in data:
        return None
    try:
        document, text = toml(data), data.decode()
    except ValueError as error:
        raise SettingsError(shown, [f"is not TOML: {error}"]) from None
    tables = _tables(document, shown, own_file=is_ours)
    return Source(
        path, shown, data, text, store is not None, store.standing(path, data) if store else "unknown", tables
    )


def _tables(document: dict[str, Any], shown: str, *, own_file: bool) -> dict[str, tuple[Any, str]]:
    """What is said under `[tool.wink]`, and in `wink.toml` also without that."""
    tool: Any = document.get("tool", {})
    inner: Any = cast("dict[str, Any]", tool).get("wink", {}) if isinstance(tool, dict) else {}
    found: dict[str, tuple[Any, str]] = {}
    levels = [("tool.wink.", cast("dict[str, Any]", inner))] if isinstance(inner, dict) else []
    if own_file:
        levels.append(("", document))
    problems, unknown = list[str](), list[tuple[str, str, Any]]()
    for prefix, level in levels:
        for key, value in level.items():
            if key in _KEYS:
                if key in found:
                    problems.append(f"has both [{key}] and [tool.wink.{key}]; keep one of them")
                found[key] = value, f"{prefix}{key}"
            elif prefix or key != "tool":
                unknown.append((prefix, key, value))
    # Whoever misspells the rules must not go on without them.
    problems += (_unknown(prefix, key, value) for prefix, key, value in unknown[:_SHOWN])
    if len(unknown) > _SHOWN:
        problems.append(f"and {len(unknown) - _SHOWN} more that are no settings")
    if problems:
        raise SettingsError(shown, problems)
    return found


def _unknown(prefix: str, key: str, value: object) -> str:
    """Say that a key is none of wink's, and what it may have been meant for."""
    from difflib import get_close_matches

    told, spelt = fit(key, _WIDTH), key.lower().replace("-", "_")
    hint = f"there are {', '.join(_KEYS)}"
    if isinstance(value, dict):
        hint = f"what a plugin is told stands in [{prefix}plugins.{told}], and else {hint}"
    for known in (tuple(_PLACES), _KEYS):  # the last one that fits counts
        for close in get_close_matches(spelt, known, n=1, cutoff=0.8):
            place = _PLACES.get(close, "").format(prefix)
            hint = f"did you mean {close!r}{f' in {place}' if place else ''}?"
    return f"$.{prefix}{told}: there is no such setting; {hint}"


@lru_cache(maxsize=4)
def _lines(text: str) -> tuple[dict[str, int], dict[str, int]]:
    """The first line of each key, and of each table or of what is in it, by dotted names; once for a file, however long."""
    keys: dict[str, int] = {}
    tables: dict[str, int] = {}
    header = ""
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip().replace('"', "").replace("'", "")
        if line.startswith("["):
            header = _header(line)
            tables.setdefault(header, number)
        if "=" in line:
            path = f"{header}.{line.partition('=')[0]}".replace(" ", "").strip(".").removeprefix("tool.wink.")
            keys.setdefault(path, number)
            while path := path.rpartition(".")[0]:
                tables.setdefault(path, number)
    return keys, tables


def _header(line: str) -> str:
    plain = line.replace('"', "").replace("'", "").replace(" ", "")
    return plain.partition("]")[0].strip("[").removeprefix("tool.wink.")


def _is_inside(path: str, directory: str) -> bool:
    return os.path.commonpath((path, directory)) == os.path.normpath(directory)
