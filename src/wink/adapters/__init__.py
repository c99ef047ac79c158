"""Evaluate prompts with models."""

from wink.adapters._adapter import ProviderAdapter
from wink.adapters._agent_loop import AgentLoop
from wink.adapters._conversation import Conversation, Exchange, ModelTurn
from wink.adapters._evaluation import MAX_EXPANSIONS, MAX_TURNS, RETRIES
from wink.adapters._response import ModelReplied, ModelTold, PromptResponse
from wink.adapters._run_state import RunJournal, RunState
from wink.adapters._script import Expectation, Script, ScriptedTurn, parse_script
from wink.adapters._scripted import ScriptedAdapter, Turn
from wink.errors import OutputParseError, PromptEvaluationError, RunStateError, RunSuspended

__all__ = [
    "MAX_EXPANSIONS",
    "MAX_TURNS",
    "RETRIES",
    "AgentLoop",
    "Conversation",
    "Exchange",
    "Expectation",
    "ModelReplied",
    "ModelTold",
    "ModelTurn",
    "OutputParseError",
    "PromptEvaluationError",
    "PromptResponse",
    "ProviderAdapter",
    "RunJournal",
    "RunState",
    "RunStateError",
    "RunSuspended",
    "Script",
    "ScriptedAdapter",
    "ScriptedTurn",
    "Turn",
    "parse_script",
]
