"""Errors of plugins and settings."""

from collections.abc import Sequence

from wink.errors._core import WinkError

__all__ = [
    "AmbiguousOffer",
    "BindingConflict",
    "InvalidOption",
    "OfferBroken",
    "OfferNotFound",
    "OfferUnavailable",
    "PluginError",
    "PluginLoadError",
    "PluginWarning",
    "SettingsError",
    "UnknownPlugin",
    "ExtraMissing",
]


class PluginWarning(UserWarning):
    """Something of an installed plugin was left out; given once for each plugin and catalog."""


class PluginError(WinkError):
    """The base of what goes wrong between wink and a plugin."""


class PluginLoadError(PluginError):
    """A plugin would have been left out, and the settings are strict."""

    says = "plugin {plugin!r} of {distribution}: {reason}; fix it, or disable {plugin!r}"

    def __init__(self, plugin: str, distribution: str, reason: str) -> None:
        self.plugin, self.distribution, self.reason = plugin, distribution, reason
        super().__init__(plugin, distribution, reason)


class UnknownPlugin(PluginError, LookupError):
    """No plugin of this name is installed; `close` are names that look like it, `hint` says where it may be."""

    def __init__(self, name: str, close: Sequence[str] = (), hint: str = "") -> None:
        self.name, self.close, self.hint = name, tuple(close), hint
        super().__init__(name, self.close, hint)

    def __str__(self) -> str:
        remedy = self.hint or _did_you_mean(self.close) or "`wink plugins` lists what is installed"
        return f"no plugin {self.name!r} is installed; {remedy}"


class OfferNotFound(PluginError, LookupError):
    """No installed plugin offers this; `close` are offers that look like it, `hint` says what else may be meant."""

    def __init__(self, kind: str, name: str, close: Sequence[str] = (), hint: str = "") -> None:
        self.kind, self.name, self.close, self.hint = kind, name, tuple(close), hint
        super().__init__(kind, name, self.close, hint)

    def __str__(self) -> str:
        remedy = self.hint or _did_you_mean(self.close) or "`wink plugins` lists what is offered"
        return f"no plugin offers a {self.kind} {self.name!r}; {remedy}"


class AmbiguousOffer(PluginError, LookupError):
    """A short name fits several offers."""

    def __init__(self, kind: str, name: str, candidates: Sequence[str]) -> None:
        self.kind, self.name, self.candidates = kind, name, tuple(candidates)
        super().__init__(kind, name, self.candidates)

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r} could be {' or '.join(map(repr, self.candidates))}; give the full name"


class OfferUnavailable(PluginError):
    """The plugin that offers this is installed and may not be used: disabled, incompatible or in conflict."""

    def __init__(self, kind: str, name: str, state: str, reason: str) -> None:
        self.kind, self.name, self.state, self.reason = kind, name, state, reason
        super().__init__(kind, name, state, reason)

    def __str__(self) -> str:
        where = f"{self.kind} {self.name!r} is {'in conflict' if self.state == 'conflict' else self.state}"
        return f"{where}: {self.reason}; `wink plugins why {self.name.partition('.')[0]}` explains"


class OfferBroken(PluginError):
    """An offer could not be imported or built; the original error is its cause."""

    says = "{kind} {name!r} of {distribution} is broken: {reason}"

    def __init__(self, kind: str, name: str, distribution: str, reason: str) -> None:
        self.kind, self.name, self.distribution, self.reason = kind, name, distribution, reason
        super().__init__(kind, name, distribution, reason)


class InvalidOption(PluginError, TypeError):
    """An offer was used with options that its factory does not take, or without one that it needs."""

    def __init__(self, kind: str, name: str, problem: str, accepted: Sequence[str] = ()) -> None:
        self.kind, self.name, self.problem, self.accepted = kind, name, problem, tuple(accepted)
        super().__init__(kind, name, problem, self.accepted)

    def __str__(self) -> str:
        takes = f"it takes {', '.join(self.accepted)}" if self.accepted else "it takes none"
        return f"{self.kind} {self.name!r}: {self.problem}; {takes}"


class BindingConflict(PluginError):
    """Two plugins bind a resource of one type, or one plugin does so twice."""

    says = "{resource} is bound by plugin {first!r} and by {second!r}; disable one of them"

    def __init__(self, resource: str, first: str, second: str) -> None:
        self.resource, self.first, self.second = resource, first, second
        super().__init__(resource, first, second)


class SettingsError(WinkError, ValueError):
    """Settings that make no sense; `problems` are all of them, each with its place, none of them was applied."""

    def __init__(self, source: str, problems: Sequence[str]) -> None:
        self.source, self.problems = source, tuple(problems)
        super().__init__(source, self.problems)

    def __str__(self) -> str:
        return f"{self.source}: {'; '.join(self.problems)}"


def _did_you_mean(close: Sequence[str]) -> str:
    return f"did you mean {' or '.join(map(repr, close))}?" if close else ""


class ExtraMissing(WinkError, ImportError):
    """A part of wink was asked for whose packages are not installed; `extra` is what to install."""

    says = "{feature} needs the package {package!r}; install wink[{extra}]"

    def __init__(self, feature: str, extra: str, package: str) -> None:
        self.feature, self.extra, self.package = feature, extra, package
        super().__init__(feature, extra, package)
