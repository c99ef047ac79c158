"""Turn `--model` into an adapter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from wink.adapters import ProviderAdapter, ScriptedAdapter, parse_script
from wink.cli._wrong import readable, wrong

if TYPE_CHECKING:
    from wink.plugins import Catalog

SHORT: Final = {"openai": "openai.responses", "openai-chat": "openai.chat", "anthropic": "anthropic.messages"}
"""Short words of `--model`, which no other plugin can take, and the offers that they stand for."""


def model_adapter(model: str, catalog: Catalog, *, base_url: str | None = None) -> ProviderAdapter:
    """The adapter that `KIND:REST` names: `scripted:FILE`, a model of a provider, or one that a plugin offers."""
    name, rest = model_offer(model, catalog)
    if name == "scripted":
        if base_url is not None:
            raise wrong("--base-url is for models of providers; a script has none")
        return ScriptedAdapter.from_script(parse_script(readable(rest, "the script"), name=rest))
    options: dict[str, Any] = {"model": rest}
    if base_url is not None:
        options["base_url"] = base_url
    adapter = catalog.use("adapter", name, **options)
    if isinstance(adapter, ProviderAdapter):  # type: ignore[reportUnnecessaryIsInstance]  what a plugin makes may be anything
        adapter.check()
    return adapter


def model_offer(model: str, catalog: Catalog) -> tuple[str, str]:
    """The offer that `KIND:REST` means, or "scripted", and the rest; for one that there is not it ends with an error."""
    kind, _, rest = model.partition(":")
    offers = [offer.name for offer in catalog.offers("adapter")]
    name = SHORT.get(kind, kind)
    if name != "scripted" and name not in offers:
        own = [f"{short}:NAME" for short, offer in SHORT.items() if offer in offers]
        others = [f"{offer}:NAME" for offer in offers if offer not in SHORT.values()]
        raise wrong(f"there is no model {model!r}; the models are: {', '.join(['scripted:FILE', *own, *others])}")
    if not rest:
        what = "a file, as in --model scripted:turns.toml" if name == "scripted" else None
        raise wrong(f"--model {kind}: needs {what or f'the name of a model, as in --model {kind}:NAME'}")
    return name, rest
