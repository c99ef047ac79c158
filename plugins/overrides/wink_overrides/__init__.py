"""Other words for a prompt's texts, tools and examples, kept as files beside the code; `wink prompts` edits them."""

from wink_overrides._local import LocalPromptOverridesStore

__all__ = ["LocalPromptOverridesStore"]
