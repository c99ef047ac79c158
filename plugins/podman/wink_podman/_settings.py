"""The plugin's settings, as `[tool.wink.plugins.podman]` gives them."""

from wink.plugins import hookimpl
from wink_podman._config import PodmanConfig


@hookimpl
def wink_settings() -> type[PodmanConfig]:
    """The image, limits and network of containers."""
    return PodmanConfig
