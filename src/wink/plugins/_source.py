"""Read what an offer says of itself from the source that it leads to, which is not imported."""

import ast
import os
import warnings
from functools import lru_cache
from importlib.util import find_spec
from typing import Final

from wink.bounded import content
from wink.plugins._guard import Failed, guarded
from wink.plugins._info import Offer, PluginInfo
from wink.plugins._load import first_line
from wink.trust import Trust

_MOST: Final = 128 * 1024
"""Bytes of source that are read; a longer file says nothing."""


def summary_in_source(plugin: PluginInfo, offer: Offer, trust: Trust | None) -> str:
    """The first line of the docstring of what the offer's target names, or else of its module; nothing where there is none."""
    module, _, attribute = offer.target.partition(":")
    try:
        with guarded(module):  # other packages' finders say where it is
            path = _path_of(module.split("."))
        if not path or (trust is not None and not plugin.editable and trust.objection(os.path.dirname(path))):
            return ""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes that are none
            tree = _parsed(content(path, most=_MOST))
    except (Failed, OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return ""
    named = next((one for one in tree.body if getattr(one, "name", None) == attribute), None)
    said = ast.get_docstring(named) if isinstance(named, ast.FunctionDef | ast.ClassDef) else None
    return first_line(said or ast.get_docstring(tree))


@lru_cache(maxsize=4)
def _parsed(source: bytes) -> ast.Module:
    """Several offers of a plugin lead to one module."""
    return ast.parse(source)


def _path_of(parts: list[str]) -> str:
    """The file of a module. Only the first name is looked up as an import would: to find more of it, that would import it."""
    spec = find_spec(parts[0])
    if spec is None:
        return ""
    if len(parts) == 1:
        return (spec.origin or "") if spec.has_location else ""
    for place in spec.submodule_search_locations or ():
        stem = os.path.join(place, *parts[1:])
        for path in (f"{stem}.py", os.path.join(stem, "__init__.py")):
            if os.path.isfile(path):
                return path
    return ""
