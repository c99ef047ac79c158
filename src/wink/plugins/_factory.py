"""Call an offer's factory with the options that a template gives, and check what it makes."""

import inspect
from collections.abc import Mapping
from typing import Any

from wink.errors import InvalidOption
from wink.plugins._guard import Failed, guarded
from wink.plugins._info import Loaded, Offer

_NO_DEFAULT = inspect.Parameter.empty
_NOUNS = {"overrides": "store of overrides"}


def make(loaded: Loaded, options: Mapping[str, Any], provided: Mapping[str, Any]) -> Any:
    """What the factory returns for `options`.

    `provided` are things of ours (`settings`, `catalog`) that are passed if the factory asks for them by name; one that
    is None is passed only if the factory has no default for it. Raises `InvalidOption` for options that do not fit, and
    `Failed` for everything that is the factory's own fault.
    """
    if loaded.offer.kind == "command":  # no factory: click has made it already
        if options:
            raise InvalidOption("command", loaded.offer.name, f"no option {', '.join(map(repr, options))}")
        return loaded.factory
    arguments = _arguments(loaded, options, provided)
    with guarded(loaded.offer.target):
        made: Any = loaded.factory(**arguments)
        if inspect.iscoroutine(made):
            made.close()  # it would warn that nobody awaited it
        fits = _is_a(loaded.offer, made)
    if not fits:
        kind = _NOUNS.get(loaded.offer.kind, loaded.offer.kind)
        raise Failed(f"{loaded.offer.target} returned {type(made).__name__}, not a {kind}")
    return made


def takes(loaded: Loaded, name: str) -> bool:
    """Whether the factory has an option of this name, as far as can be told."""
    try:
        parameters = inspect.signature(loaded.factory).parameters
    except (TypeError, ValueError):
        return True
    return name in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values())


def _arguments(loaded: Loaded, options: Mapping[str, Any], provided: Mapping[str, Any]) -> dict[str, Any]:
    offer = loaded.offer
    try:
        parameters = inspect.signature(loaded.factory).parameters
    except (TypeError, ValueError):
        return dict(options)  # written in C: only the call itself can tell
    named = {
        name: parameter
        for name, parameter in parameters.items()
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    }
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    accepted = [name for name in named if name not in provided]
    if unknown := [name for name in options if name not in named and not takes_any]:
        raise InvalidOption(offer.kind, offer.name, f"no option {', '.join(map(repr, unknown))}", accepted)
    arguments = dict(options)
    for name, value in provided.items():
        if name in named and name not in options and (value is not None or named[name].default is _NO_DEFAULT):
            if value is None:
                raise Failed(f"{offer.target} asks for {name}, and the plugin declares none with wink_{name}")
            arguments[name] = value
    missing = [name for name, one in named.items() if one.default is _NO_DEFAULT and name not in arguments]
    if missing:
        raise InvalidOption(offer.kind, offer.name, f"option {', '.join(map(repr, missing))} is needed", accepted)
    return arguments


def _is_a(offer: Offer, made: Any) -> bool:
    if isinstance(made, type):
        return False  # a class has all the methods that its instances have
    match offer.kind:
        case "section":
            from wink.prompt import Section

            return isinstance(made, Section)
        case "policy":
            from wink.policies import ToolPolicy

            return isinstance(made, ToolPolicy)
        case "filesystem":
            from wink.filesystem import Filesystem

            return isinstance(made, Filesystem)
        case "adapter":
            return callable(getattr(made, "evaluate", None))
        case "command" | "checkup" | "diff" | "collection" | "standing" | "explanation" | "history" | "agent":
            # The first was seen to when it was loaded, and the commands that ask for the others look at them.
            return True
        case "overrides":
            from wink.prompt.overrides import TaggedOverridesStore

            return isinstance(made, TaggedOverridesStore)
