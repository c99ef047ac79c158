"""Prompts, under the name that the documents of the specification import them by."""

from wink.prompt import Prompt, PromptTemplate, RenderedPrompt

__all__ = ["Prompt", "PromptTemplate", "RenderedPrompt"]
