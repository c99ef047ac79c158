"""`wink.adapters`, under the name that the documents of the specification import it by."""

from wink.adapters import PromptEvaluationError, PromptResponse, ProviderAdapter

__all__ = ["PromptEvaluationError", "PromptResponse", "ProviderAdapter"]
