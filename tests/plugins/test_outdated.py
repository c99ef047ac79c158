"""Hooks that are going away still work, and plugins that implement them are told."""

from types import ModuleType
from typing import Any

import pluggy
import pytest

from wink.plugins import HOOK_API, PluginWarning, _hookspecs, hookimpl
from wink.plugins._hooks import Hooks
from wink.plugins._hookspecs import SINCE, hookspec, outdated


def test_every_hook_says_since_when_there_is_it() -> None:
    """The reference has the version of each hook from here, and none is newer than all of them together."""
    hooks = {name for name, value in vars(_hookspecs).items() if hasattr(value, "wink_spec")}

    assert set(SINCE) == hooks
    assert all(version[0] == HOOK_API[0] and version <= HOOK_API for version in SINCE.values())


@pytest.mark.parametrize("marked", ["hook", "argument"])
def test_an_outdated_hook_works_and_warns(marked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The deprecation policy promises that nothing stops working before the first number of the version grows."""

    @hookimpl
    def wink_subscribe(session: Any) -> Any:
        return [session]

    def specification(session: Any, settings: Any) -> None:
        """As it is, and going."""

    specification.__name__ = "wink_subscribe"
    told = outdated("wink_subscribe", (1, 3), "wink_watch")
    options = {"warn_on_impl": told} if marked == "hook" else {"warn_on_impl_args": {"session": told}}
    specifications = ModuleType("specifications")
    vars(specifications)["wink_subscribe"] = hookspec(**options)(specification)
    plugin = ModuleType("plugin")
    vars(plugin)["wink_subscribe"] = wink_subscribe
    hooks = Hooks()
    manager = pluggy.PluginManager("wink")
    manager.add_hookspecs(specifications)
    monkeypatch.setattr(hooks, "_manager", manager)

    with pytest.warns(PluginWarning, match=r"wink_subscribe is outdated since hook API 1\.3; implement wink_watch"):
        hooks.register("old", plugin)

    assert hooks.call("old", "wink_subscribe", session="one", settings=None) == [["one"]]
