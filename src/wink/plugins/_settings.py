"""What the user says about plugins, and which of several sources wins."""

from collections.abc import Collection, Mapping
from typing import Any, Final, Literal, cast

from wink.dataclass import dataclass, field
from wink.plugins._names import normalized

Action = Literal["allow", "choose", "disable", "enable"]

DISTRIBUTION: Final = "distribution"
"""The key of a plugin's table that says which distribution is meant where several share the plugin's name."""


@dataclass(frozen=True, slots=True)
class Step:
    """One source's word on which plugins are on: `allow` leaves nothing else on, `choose` nothing else but wink's own, and
    `disable` and `enable` name some.

    `origin` is where it was said (`pyproject.toml:41`, `WINK_PLUGINS`), `text` how it was written. With `spares_own` it says
    nothing of wink's own plugins.
    """

    action: Action
    names: frozenset[str]
    origin: str
    text: str
    spares_own: bool = False

    def switch(self, plugin: str, *, on: bool, is_foreign: bool = True) -> bool:
        """Whether `plugin` is on after this step, if it was `on` before it."""
        if self.action == "allow":
            return plugin in self.names
        if self.action == "choose":
            return plugin in self.names or (on and not is_foreign)
        return self.action == "enable" if plugin in self.names else on

    def __str__(self) -> str:
        return f"{self.origin} {self.text}"


@dataclass(frozen=True, slots=True)
class Table:
    """One source's values for a plugin's own settings.

    With `tighten_only` a value counts only where it restricts, because the source is a file of the workspace, which an
    agent can edit.
    """

    plugin: str
    values: Mapping[str, Any]
    origin: str
    tighten_only: bool = False


@dataclass(frozen=True, slots=True)
class Settings:
    """Which plugins may be used, and their own settings; neither files nor the environment are read here.

    >>> Settings(disable={"git-tools"}).is_on("git-tools")
    False

    `allow`, if given, leaves nothing else on. `plugins` holds a table for each plugin, read into the dataclass that the
    plugin declares, unknown keys refused; its key `distribution` says which distribution is meant where two share the
    plugin's name. With `strict` whatever would be left out with a warning raises `PluginLoadError`.

    `steps` and `tables` come from elsewhere, a command line's configuration for example, and apply first: later beats
    earlier.
    """

    disable: Collection[str] = ()
    allow: Collection[str] | None = None
    plugins: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    strict: bool = False
    steps: tuple[Step, ...] = ()
    tables: tuple[Table, ...] = ()

    def __post_init__(self) -> None:
        for name in ("disable", "allow"):
            if isinstance(cast("object", getattr(self, name)), str):
                raise TypeError(f"{name} must be a collection of plugin names, not one text; write {{...}} around it")

    @property
    def chain(self) -> tuple[Step, ...]:
        """Every step, in the order in which they apply."""
        own: list[Step] = []
        if self.allow is not None:
            own.append(Step("allow", frozenset(self.allow), "Settings", _written("allow", self.allow)))
        if self.disable:
            own.append(Step("disable", frozenset(self.disable), "Settings", _written("disable", self.disable)))
        return (*self.steps, *own)

    def verdicts(self, plugin: str, *, is_foreign: bool = True) -> tuple[tuple[Step, bool], ...]:
        """Each step that says something about `plugin`, which is another package's or wink's own, and whether it is on then."""
        on, said = True, list[tuple[Step, bool]]()
        for step in self.chain:
            if step.spares_own and not is_foreign:
                continue
            if plugin in step.names or step.action == "allow" or (step.action == "choose" and is_foreign):
                on = step.switch(plugin, on=on, is_foreign=is_foreign)
                said.append((step, on))
        return tuple(said)

    def is_on(self, plugin: str, *, is_foreign: bool = True) -> bool:
        """Whether `plugin` may be used."""
        said = self.verdicts(plugin, is_foreign=is_foreign)
        return said[-1][1] if said else True

    def tables_of(self, plugin: str) -> tuple[Table, ...]:
        """What every source says about the plugin's own settings, in the order in which they apply."""
        own = self.plugins.get(plugin)
        mine = tuple(table for table in self.tables if table.plugin == plugin)
        return mine if own is None else (*mine, Table(plugin, own, f"Settings plugins[{plugin!r}]"))

    def distribution_of(self, plugin: str) -> tuple[str, str] | None:
        """The distribution that is meant by `plugin`, normalised, and where that is said.

        Choosing one makes something usable that was not, so the workspace's own files have no say in it.
        """
        for table in reversed(self.tables_of(plugin)):
            if DISTRIBUTION in table.values and not table.tighten_only:
                return normalized(str(table.values[DISTRIBUTION])), table.origin
        return None


def _written(key: str, names: Collection[str]) -> str:
    return f"{key} = [{', '.join(f'{chr(34)}{name}{chr(34)}' for name in sorted(names))}]"
