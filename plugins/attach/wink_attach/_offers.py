"""The agents that plugins offer under the entry points `wink.agents`."""

from __future__ import annotations

from typing import Any

from wink.cli import installed_catalog, nearest, wrong
from wink.errors import OfferNotFound
from wink_attach._agent import Agent


def agent_named(workspace: str, name: str) -> Agent:
    """The agent of this name; raises `WrongInput` for one that nobody offers, and `OfferBroken`."""
    catalog = installed_catalog(workspace)
    try:
        made: Any = catalog.use("agent", name)
    except OfferNotFound:
        known = agent_names(workspace)
        raise wrong(
            f"no agent {name!r} can be attached; {nearest(name, known, otherwise='there are ' + (', '.join(known) or 'none here'))}"
        ) from None
    return made


def agent_names(workspace: str) -> list[str]:
    """The names of the agents that can be attached."""
    return sorted(offer.short for offer in installed_catalog(workspace).offers("agent"))
