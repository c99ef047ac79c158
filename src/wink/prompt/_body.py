"""Ask a section for its text, with as much as its `render_body` wants to know."""

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from wink.errors import PromptValidationError

if TYPE_CHECKING:
    from wink.prompt._section import Section

__all__ = ["Body"]

_NAMED: Final = ("session", "path", "tools", "resources")


class Body:
    """A section's `render_body` together with what its signature asks for.

    It may take `(params, *, session)`, `(params)`, `(*, session)` or nothing, `**kwargs`, a `path`, which is the keys from
    the root section down, `tools`, the names of the tools that the model is told of, the prompt's `resources`, and
    whatever has a default.
    """

    __slots__ = ("_path", "_render", "_wants", "_wants_params")

    def __init__(self, section: "Section[Any]", path: tuple[str, ...]) -> None:
        self._render: Callable[..., Any] = section.render_body
        self._path = path
        self._wants_params, self._wants = _wanted(self._render, path)

    def __call__(self, params: Any, known: Mapping[str, Any]) -> str:
        """The text, from the parameters and what else is `known` of the rendering; all but a string is a `TypeError`."""
        named = {name: self._path if name == "path" else known[name] for name in self._wants}
        text = self._render(params, **named) if self._wants_params else self._render(**named)
        if not isinstance(text, str):
            raise TypeError(f"render_body returned {type(text).__qualname__!r}; it must return a string")
        return text


def _wanted(render: Callable[..., Any], path: tuple[str, ...]) -> tuple[bool, tuple[str, ...]]:
    """Whether `render` takes parameters, and the names of what else it takes."""
    positional, named = False, list[str]()
    for parameter in inspect.signature(render).parameters.values():
        if parameter.name in _NAMED and parameter.kind is not parameter.POSITIONAL_ONLY:
            named.append(parameter.name)
        elif parameter.kind is parameter.VAR_POSITIONAL:
            positional = True
        elif parameter.kind is parameter.VAR_KEYWORD:
            named += [name for name in ("session",) if name not in named]
        elif not positional and parameter.kind is not parameter.KEYWORD_ONLY:
            positional = True
        elif parameter.default is parameter.empty:
            raise PromptValidationError(
                f"render_body cannot be given {parameter.name!r}; it is called with (params, *, session)", path
            )
    return positional, tuple(named)
