"""The plugin's settings, as `[tool.wink.plugins.shell]` gives them."""

from wink.plugins import hookimpl
from wink_shell._config import ShellConfig


@hookimpl
def wink_settings() -> type[ShellConfig]:
    """Limits, network, scratch directories, and whether there is a sandbox at all."""
    return ShellConfig
