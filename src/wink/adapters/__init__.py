"""Evaluate prompts with models."""

from wink.adapters._adapter import MAX_TURNS, ModelReplied, PromptResponse, ProviderAdapter
from wink.adapters._conversation import Conversation, Exchange, ModelTurn
from wink.adapters._script import Expectation, Script, ScriptedTurn, parse_script
from wink.adapters._scripted import ScriptedAdapter, Turn
from wink.errors import PromptEvaluationError

__all__ = [
    "MAX_TURNS",
    "Conversation",
    "Exchange",
    "Expectation",
    "ModelReplied",
    "ModelTurn",
    "PromptEvaluationError",
    "PromptResponse",
    "ProviderAdapter",
    "Script",
    "ScriptedAdapter",
    "ScriptedTurn",
    "Turn",
    "parse_script",
]
