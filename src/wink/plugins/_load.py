"""Import one entry point's target, whatever its code does."""

import importlib
import importlib.util
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from wink.errors import PluginError
from wink.plugins._info import Loaded, Offer, PluginInfo
from wink.plugins._trust import Trust


class Failed(PluginError):
    """A plugin's code failed; the original error is its cause."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


@contextmanager
def guarded() -> Generator[None]:
    """Run a plugin's code: whatever it raises becomes `Failed`, except the user's Ctrl-C."""
    try:
        yield
    except (KeyboardInterrupt, Failed):
        raise
    except BaseException as error:  # foreign code
        raise Failed(described(error)) from error


def described(error: BaseException) -> str:
    """One line that names an error, whatever its own `__str__` does."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # foreign code
        text = ""
    name = type(error).__name__
    return f"{name}: {text}" if text else name


def load_target(plugin: PluginInfo, target: str, trust: Trust | None) -> Any:
    """Import `module` or `module:attribute`; raises `Failed`."""
    module_name, _, attribute = target.partition(":")
    with guarded():
        if trust is not None and not plugin.editable:
            _refuse_planted(module_name.partition(".")[0], trust)
        found: Any = importlib.import_module(module_name)
        for part in filter(None, attribute.split(".")):
            found = getattr(found, part)
        return found


def load(plugin: PluginInfo, offer: Offer, trust: Trust | None) -> Loaded:
    """Import an offer's factory; raises `Failed`."""
    if offer.problem:
        raise Failed(offer.problem)
    factory = offer.factory or load_target(plugin, offer.target, trust)
    if not callable(factory):
        raise Failed(f"{offer.target} is {type(factory).__name__}, not a callable that returns a {offer.kind}")
    return Loaded(offer, factory, offer.summary or first_line(factory))


def first_line(documented: object) -> str:
    """The first line of a docstring, or nothing."""
    text = getattr(documented, "__doc__", None)
    return text.strip().partition("\n")[0].strip() if isinstance(text, str) else ""


def _refuse_planted(package: str, trust: Trust) -> None:
    """Refuse a package that would be imported from where an agent can write, in place of the installed one."""
    if package in sys.modules:
        return
    spec = importlib.util.find_spec(package)
    places = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or ())]
    for place in places:
        if place and os.path.isabs(place) and (objection := trust.objection(os.path.dirname(place))):
            raise ImportError(f"{package} would be imported from {place}, which {objection}")
