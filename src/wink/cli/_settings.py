"""Build the settings of a command from files, the environment and flags, remembering where each was said.

The order, later beats earlier: the workspace's `pyproject.toml` and `wink.toml`, the user's `wink.toml`, `WINK_PLUGINS`,
`WINK_DISABLE_PLUGINS`, `--plugin`, `--no-plugin`. The workspace's files come first, and can only take away from what is
installed: an agent can edit them.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from wink.errors import SettingsError
from wink.plugins import Catalog, Settings, Step, Table

_LISTS: Final = ("allow", "disable")
_USER_FILE: Final = os.path.join("wink", "wink.toml")


class Configuration(NamedTuple):
    """The settings of a command, the files that they were looked for in, and the plugins that were named for this run."""

    settings: Settings
    files: tuple[str, ...] = ()
    named: tuple[str, ...] = ()


class _Source(NamedTuple):
    """One file's `[tool.wink.plugins]`."""

    shown: str
    text: str
    plugins: Mapping[str, Any]
    is_workspace: bool


def load_settings(
    workspace: str | os.PathLike[str],
    *,
    enable: Sequence[str] = (),
    disable: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
) -> Configuration:
    """The settings for a command that works on `workspace`; raises `SettingsError` for a file that makes no sense."""
    environ = os.environ if environ is None else environ
    sources = list(_sources(os.fspath(workspace), environ))
    steps: list[Step] = []
    tables: list[Table] = []
    strict = False
    for source in sources:
        steps += _steps(source, steps)
        tables += _tables(source)
        strict = source.plugins.get("strict", strict)
    named: list[str] = []
    for variable, action in (("WINK_PLUGINS", "allow"), ("WINK_DISABLE_PLUGINS", "disable")):
        if (value := environ.get(variable)) is not None and (value.strip() or action == "allow"):
            names = _names(value)
            named += names
            steps.append(Step("allow" if action == "allow" else "disable", frozenset(names), variable, f"= {value!r}"))
    if enable:
        steps.append(Step("enable", frozenset(enable), "--plugin", " ".join(enable)))
    if disable:
        steps.append(Step("disable", frozenset(disable), "--no-plugin", " ".join(disable)))
    return Configuration(
        Settings(strict=strict, steps=tuple(steps), tables=tuple(tables)),
        tuple(source.shown for source in sources),
        (*named, *enable, *disable),
    )


def installed_catalog(
    workspace: str | os.PathLike[str],
    *,
    enable: Sequence[str] = (),
    disable: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
) -> Catalog:
    """The installed plugins as this workspace's and this user's settings want them.

    Raises `UnknownPlugin` when a variable or flag names a plugin that is not installed: whoever misspells the name of a
    plugin that is to be switched off must not go on with it.
    """
    configuration = load_settings(workspace, enable=enable, disable=disable, environ=environ)
    catalog = Catalog.installed(configuration.settings, workspace=workspace)
    for name in configuration.named:
        catalog.plugin(name)
    return catalog


def user_file(environ: Mapping[str, str]) -> str | None:
    """Where the user's own settings are: `wink/wink.toml` under `XDG_CONFIG_HOME`, by default `~/.config`."""
    base = environ.get("XDG_CONFIG_HOME", "")
    if os.path.isabs(base):  # the XDG specification has relative ones ignored
        return os.path.join(base, _USER_FILE)
    home = environ.get("HOME", "")
    return os.path.join(home, ".config", _USER_FILE) if os.path.isabs(home) else None


def _sources(workspace: str, environ: Mapping[str, str]) -> Iterable[_Source]:
    for name in ("pyproject.toml", "wink.toml"):
        if (source := _read(os.path.join(workspace, name), name, is_workspace=True)) is not None:
            yield source
    own = user_file(environ)
    if own is not None:
        # A workspace that contains the user's settings, such as the home directory, lets an agent edit them.
        is_workspace = _is_inside(os.path.realpath(own), os.path.realpath(workspace))
        if (source := _read(own, _shown(own, environ), is_workspace=is_workspace)) is not None:
            yield source


def _shown(path: str, environ: Mapping[str, str]) -> str:
    home = environ.get("HOME", "")
    return f"~/{os.path.relpath(path, home)}" if os.path.isabs(home) and _is_inside(path, home) else path


def _is_inside(path: str, directory: str) -> bool:
    return os.path.commonpath((path, directory)) == os.path.normpath(directory)


def _read(path: str, shown: str, *, is_workspace: bool) -> _Source | None:
    try:
        with open(path, "rb") as opened:
            data = opened.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        # Going on without a file that may switch plugins off would be the less careful guess.
        raise SettingsError(shown, [f"cannot be read: {error.strerror or error}"]) from None
    is_ours = os.path.basename(path) == "wink.toml"
    if not is_ours and b"wink" not in data:
        return None
    import tomllib

    try:
        text = data.decode()
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise SettingsError(shown, [f"is not TOML: {error}"]) from None
    table, place = _plugins_table(document, shown, own_file=is_ours)
    _check(table, place, shown)
    return _Source(shown, text, table, is_workspace)


def _plugins_table(document: dict[str, Any], shown: str, *, own_file: bool) -> tuple[dict[str, Any], str]:
    """`[tool.wink.plugins]`, or in `wink.toml` also `[plugins]`."""
    tool: Any = document.get("tool", {})
    wink: Any = cast("dict[str, Any]", tool).get("wink", {}) if isinstance(tool, dict) else {}
    found: list[tuple[Any, str]] = []
    if isinstance(wink, dict) and "plugins" in wink:
        found.append((cast("dict[str, Any]", wink)["plugins"], "tool.wink.plugins"))
    if own_file and "plugins" in document:
        found.append((document["plugins"], "plugins"))
    if len(found) > 1:
        raise SettingsError(shown, ["has both [plugins] and [tool.wink.plugins]; keep one of them"])
    table, place = found[0] if found else (dict[str, Any](), "plugins")
    if not isinstance(table, dict):
        raise SettingsError(shown, [f"$.{place}: must be a table"])
    return cast("dict[str, Any]", table), place


def _check(table: dict[str, Any], place: str, shown: str) -> None:
    problems: list[str] = []
    for key, value in table.items():
        where = f"$.{place}.{key}"
        if key in _LISTS:
            items: list[Any] = cast("list[Any]", value) if isinstance(value, list) else [None]
            if not all(isinstance(item, str) for item in items):
                problems.append(f"{where}: must be a list of plugin names")
        elif key == "strict":
            if not isinstance(value, bool):
                problems.append(f"{where}: must be true or false")
        elif not isinstance(value, dict):
            problems.append(f"{where}: must be a plugin's table, or the key one of allow, disable, strict")
        elif not isinstance(cast("dict[str, Any]", value).get("distribution", ""), str):
            problems.append(f"{where}.distribution: must be the name of a distribution")
    if problems:
        raise SettingsError(shown, problems)


def _steps(source: _Source, before: Sequence[Step]) -> list[Step]:
    """What one file switches: its `allow` first, so that its `disable` can take from it."""
    steps: list[Step] = []
    if (allow := source.plugins.get("allow")) is not None:
        names = frozenset[str](allow)
        if source.is_workspace:
            # Two files of the workspace add up: neither can bring back what the other takes away.
            names = frozenset(name for name in names if Settings(steps=tuple(before)).is_on(name))
        steps.append(Step("allow", names, _place(source, "allow"), _written("allow", allow)))
    if disable := source.plugins.get("disable"):
        steps.append(Step("disable", frozenset(disable), _place(source, "disable"), _written("disable", disable)))
    return steps


def _tables(source: _Source) -> list[Table]:
    return [
        Table(
            name, cast("dict[str, Any]", values), _place(source, name, is_table=True), tighten_only=source.is_workspace
        )
        for name, values in source.plugins.items()
        if isinstance(values, dict)
    ]


def _place(source: _Source, key: str, *, is_table: bool = False) -> str:
    """`file:line` of a key of the plugins' table, or the file alone when it is written in an unusual way."""
    header = ""
    for number, raw in enumerate(source.text.splitlines(), start=1):
        line = raw.strip().replace('"', "").replace("'", "")
        if line.startswith("["):
            header = line.partition("]")[0].strip("[ ").replace(" ", "")
            if is_table and header.removeprefix("tool.wink.") == f"plugins.{key}":
                return f"{source.shown}:{number}"
        path = f"{header}.{line.partition('=')[0]}".replace(" ", "").strip(".").removeprefix("tool.wink.")
        is_it = path == f"plugins.{key}" or (is_table and path.startswith(f"plugins.{key}."))
        if "=" in line and is_it:
            return f"{source.shown}:{number}"
    return source.shown


def _written(key: str, names: Iterable[str]) -> str:
    return f"{key} = [{', '.join(f'{chr(34)}{name}{chr(34)}' for name in names)}]"


def _names(value: str) -> list[str]:
    return [name.strip() for name in value.split(",") if name.strip()]
