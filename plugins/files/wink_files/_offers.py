"""Find a section that a plugin offers, without knowing the plugin."""

from typing import Any, Final, cast

from wink.errors import PluginError, PromptValidationError
from wink.prompt import Section
from wink.spellings import offered

__all__ = ["offered_section"]

_GROUP: Final = "wink.sections"


def offered_section(name: str, catalog: Any, section_path: tuple[str, ...]) -> Section[Any]:
    """The section that an installed plugin offers as `name`; a catalog, if there is one, is asked in its place.

    Raises `PromptValidationError` when it cannot be had.
    """
    try:
        section: object = _offered(name, section_path) if catalog is None else catalog.use("section", name)
    except (PluginError, ImportError) as error:
        raise PromptValidationError(f"{name!r} cannot be had: {error}", section_path) from error
    if not isinstance(section, Section):
        raise PromptValidationError(f"what is offered as {name!r} is no section, but {section!r}", section_path)
    return cast("Section[Any]", section)


def _offered(name: str, section_path: tuple[str, ...]) -> object:
    point = offered(_GROUP, name)
    if point is None:
        raise PromptValidationError(
            f"no installed plugin offers {name!r} ({_GROUP}); install the plugin, or leave {name!r} out of offers",
            section_path,
        )
    return point.load()()
