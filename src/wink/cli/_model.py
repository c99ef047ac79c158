"""Turn `--model` into an adapter."""

from __future__ import annotations

from wink.adapters import ProviderAdapter, ScriptedAdapter, parse_script
from wink.cli._wrong import readable, wrong
from wink.plugins import Catalog


def model_adapter(model: str, catalog: Catalog) -> ProviderAdapter:
    """The adapter that `KIND:REST` names: `scripted:FILE`, or one that a plugin offers."""
    kind, _, rest = model.partition(":")
    if kind == "scripted":
        if not rest:
            raise wrong("--model scripted: needs a file, as in --model scripted:turns.toml")
        return ScriptedAdapter.from_script(parse_script(readable(rest, "the script"), name=rest))
    offers = [offer.name for offer in catalog.offers("adapter")]
    if kind in offers:
        return catalog.use("adapter", kind, **({"model": rest} if rest else {}))
    known = ", ".join(["scripted:FILE", *(f"{name}:MODEL" for name in offers)])
    raise wrong(f"there is no model {model!r}; the models are: {known}")
