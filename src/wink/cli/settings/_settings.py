"""Build the settings of a command from files, the environment and flags, remembering where each was said.

The order, later beats earlier: the workspace's `pyproject.toml` and `wink.toml`, the user's `wink.toml`, `WINK_PLUGINS`,
`WINK_DISABLE_PLUGINS`, `--plugin`, `--no-plugin`. The workspace's files come first, and can only take away from what is
installed, unless the user trusts exactly what they say (`wink trust`): an agent can edit them.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from wink.cli._wrong import nearest
from wink.cli.settings._sources import Source, sources
from wink.errors import SettingsError, WinkError
from wink.plugins import Catalog, Quarantine, Settings, Step, Table
from wink.trust import Trust

_LISTS: Final = ("allow", "disable")


VARIABLES: Final = {"WINK_PLUGINS": "choose", "WINK_DISABLE_PLUGINS": "disable"}
"""The variables of the environment that wink reads, and what they do to the plugins that they name."""


class Configuration(NamedTuple):
    """The settings of a command, the files that they were looked for in, and the plugins that were named for this run."""

    settings: Settings
    files: tuple[str, ...] = ()
    named: tuple[str, ...] = ()


def load_settings(
    workspace: str | os.PathLike[str],
    *,
    enable: Sequence[str] = (),
    disable: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
    trusting: bool = True,
    for_commands: bool = False,
) -> Configuration:
    """The settings for a command that works on `workspace`, without `trusting` as if none of its files was trusted; raises `SettingsError` for a file that makes no sense.

    `for_commands` are those that say which commands there are, see `commands_catalog`.
    """
    environ = os.environ if environ is None else environ
    found = sources(os.fspath(workspace), environ, trusting=trusting)
    steps: list[Step] = []
    tables: list[Table] = []
    strict = False
    for source in found:
        plugins = _plugins(source)
        steps += _steps(source, plugins, steps, for_commands=for_commands)
        tables += _tables(source, plugins)
        strict = plugins.get("strict", strict)
    named: list[str] = []
    _check_names(environ)
    for variable, action in VARIABLES.items():
        if (value := environ.get(variable)) is not None and (value.strip() or action == "choose"):
            names = _names(value)
            taken = {name.removeprefix("-") for name in names if name.startswith("-") or action == "disable"}
            chosen = {name for name in names if name not in taken and not name.startswith("-")}
            named += [*chosen, *taken]
            if chosen or not taken:
                steps.append(Step("choose", frozenset(chosen), variable, f"= {value!r}"))
            if taken:
                steps.append(Step("disable", frozenset(taken), variable, f"= {value!r}"))
    if enable:
        steps.append(Step("enable", frozenset(enable), "--plugin", " ".join(enable)))
    if disable:
        steps.append(Step("disable", frozenset(disable), "--no-plugin", " ".join(disable)))
    return Configuration(
        Settings(strict=strict, steps=tuple(steps), tables=tuple(tables)),
        tuple(source.shown for source in found),
        (*named, *enable, *disable),
    )


def installed_catalog(
    workspace: str | os.PathLike[str],
    *,
    enable: Sequence[str] = (),
    disable: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
    trusting: bool = True,
) -> Catalog:
    """The installed plugins as this workspace's and this user's settings want them.

    Raises `UnknownPlugin` when a variable or flag names a plugin that is not installed: whoever misspells the name of a
    plugin that is to be switched off must not go on with it.
    """
    configuration = load_settings(workspace, enable=enable, disable=disable, environ=environ, trusting=trusting)
    return _catalog(workspace, configuration)


def commands_catalog(workspace: str | os.PathLike[str]) -> tuple[Catalog, WinkError | None]:
    """The plugins whose commands a person may type, and what they add to `wink diff` and `wink doctor`.

    `allow` chooses what a model gets, and what a workspace that nobody trusts says is not about what a person may do: neither
    takes away wink's own, so that what `wink try` keeps apart can be seen and accepted. Where the settings cannot be read,
    for the reason given beside, there are wink's own alone.
    """
    try:
        return _catalog(workspace, load_settings(workspace, for_commands=True)), None
    except WinkError as error:
        found = Catalog.installed(workspace=workspace)
        return Catalog([plugin for plugin in found.plugins if not plugin.is_foreign], trust=Trust((workspace,))), error


def _catalog(workspace: str | os.PathLike[str], configuration: Configuration) -> Catalog:
    catalog = Catalog.installed(configuration.settings, workspace=workspace, quarantine=quarantine())
    for name in configuration.named:
        catalog.plugin(name)
    return catalog


def quarantine() -> Quarantine:
    """What wink's commands remember of plugins that ended them, in the user's directory for state."""
    return Quarantine(_place_of_notes, _say)


def _place_of_notes() -> str | None:
    from wink.state import user_directory

    directory = user_directory()
    return None if directory is None else os.path.join(directory, "plugins")


def _say(text: str) -> None:
    # Past Python's buffers, whose lock the thread that hangs may hold.
    os.write(2, f"wink: {text}\n".encode(errors="backslashreplace"))


def _check_names(environ: Mapping[str, str]) -> None:
    """Refuse what looks like a misspelt variable: whoever meant to switch a plugin off must not go on with it."""
    unknown = [name for name in environ if name.startswith("WINK_") and name not in VARIABLES and "PLUGIN" in name]
    for name in sorted(unknown):
        from difflib import get_close_matches

        if close := get_close_matches(name, VARIABLES, n=1, cutoff=0.8):
            raise SettingsError("environment", [f"{name}: there is no such variable; did you mean {close[0]}?"])


def _plugins(source: Source) -> Mapping[str, Any]:
    """One file's `[tool.wink.plugins]`, or in `wink.toml` also `[plugins]`."""
    table, place = source.table("plugins", {})
    if not isinstance(table, dict):
        raise SettingsError(source.shown, [f"$.{place}: must be a table"])
    plugins = cast("dict[str, Any]", table)
    _check(plugins, place, source.shown)
    return plugins


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
            known = nearest(key, (*_LISTS, "strict"), otherwise="the key one of allow, disable, strict")
            problems.append(f"{where}: must be a plugin's table; {known}")
        elif not isinstance(cast("dict[str, Any]", value).get("distribution", ""), str):
            problems.append(f"{where}.distribution: must be the name of a distribution")
    if problems:
        raise SettingsError(shown, problems)


def _steps(source: Source, plugins: Mapping[str, Any], before: Sequence[Step], *, for_commands: bool) -> list[Step]:
    """What one file switches: its `allow` first, so that its `disable` can take from it."""
    steps: list[Step] = []
    if (allow := plugins.get("allow")) is not None:
        names = frozenset[str](allow)
        if source.is_workspace:
            # Two files of the workspace add up: neither can bring back what the other takes away.
            names = frozenset(name for name in names if Settings(steps=tuple(before)).is_on(name))
        steps.append(Step("allow", names, source.place("plugins.allow"), _written("allow", allow), for_commands))
    if disable := plugins.get("disable"):
        place = source.place("plugins.disable")
        spares_own = for_commands and not source.may_loosen
        steps.append(Step("disable", frozenset(disable), place, _written("disable", disable), spares_own))
    return steps


def _tables(source: Source, plugins: Mapping[str, Any]) -> list[Table]:
    return [
        Table(
            name,
            cast("dict[str, Any]", values),
            source.place(f"plugins.{name}", is_table=True),
            tighten_only=not source.may_loosen,
        )
        for name, values in plugins.items()
        if isinstance(values, dict)
    ]


def _written(key: str, names: Iterable[str]) -> str:
    return f"{key} = [{', '.join(f'{chr(34)}{name}{chr(34)}' for name in names)}]"


def _names(value: str) -> list[str]:
    return [name.strip() for name in value.split(",") if name.strip()]
