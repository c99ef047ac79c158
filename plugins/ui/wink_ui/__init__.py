"""A local page to watch what agents do in a workspace, understand it, and take it back; needs the extra `wink[ui]`."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from wink.errors import ExtraMissing

if TYPE_CHECKING:
    from wink_ui._app import page_app
    from wink_ui._server import leading_to, serve_page
    from wink_ui._static import static_page

__all__ = ["leading_to", "page_app", "serve_page", "static_page"]

_PLACES: Final = {"leading_to": "_server", "page_app": "_app", "serve_page": "_server", "static_page": "_static"}
_NEEDS: Final = ("jinja2", "pygments", "starlette", "uvicorn")

if not TYPE_CHECKING:  # a checker that saw this would take any name for granted

    def __getattr__(name: str) -> Any:
        """Each part is imported when it is asked for, and says what is missing."""
        from importlib import import_module

        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        for package in _NEEDS:
            if find_spec(package) is None:
                raise ExtraMissing("the page", "ui", package)
        return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
