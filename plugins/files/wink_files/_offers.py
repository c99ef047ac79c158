"""Find a section that a plugin offers, without knowing the plugin."""

from typing import Any, Final, cast

from wink.errors import PluginError, PromptValidationError
from wink.prompt import Section

__all__ = ["offered_section"]

_GROUP: Final = "wink.sections"


def offered_section(name: str, catalog: Any, section_path: tuple[str, ...]) -> Section[Any]:
    """The section that an installed plugin offers as `name`; a catalog, if there is one, is asked in its place.

    Raises `PromptValidationError` when it cannot be had.
    """
    try:
        section: object = _from_entry_points(name) if catalog is None else catalog.use("section", name)
    except PluginError as error:
        raise PromptValidationError(f"{name!r} cannot be had: {error}", section_path) from error
    except LookupError as error:
        raise PromptValidationError(
            f"{error.args[0]}; install the plugin, or leave {name!r} out of offers", section_path
        ) from error
    if not isinstance(section, Section):
        raise PromptValidationError(f"what is offered as {name!r} is no section, but {section!r}", section_path)
    return cast("Section[Any]", section)


def _from_entry_points(name: str) -> Any:
    from importlib import metadata

    from wink.spellings import is_installed

    points = {point.value: point for point in metadata.entry_points(group=_GROUP, name=name) if is_installed(point)}
    if not points:
        raise LookupError(f"no installed plugin offers {name!r} ({_GROUP})")
    if len(points) > 1:
        raise LookupError(f"{name!r} is offered by {' and '.join(sorted(points))}")
    (point,) = points.values()
    return point.load()()
