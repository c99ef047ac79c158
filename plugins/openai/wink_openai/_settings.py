"""The plugin's settings, as `[tool.wink.plugins.openai]` gives them."""

from wink.plugins import hookimpl
from wink_models import ModelSettings


@hookimpl
def wink_settings() -> type[ModelSettings]:
    """Where the models are and how they are asked; keys come from the environment alone."""
    return ModelSettings
