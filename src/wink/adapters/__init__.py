"""Evaluate prompts with models."""

from typing import TYPE_CHECKING, Any

from wink.adapters._adapter import ProviderAdapter
from wink.adapters._agent_loop import AgentLoop
from wink.adapters._conversation import Conversation, Exchange, ModelTurn
from wink.adapters._evaluation import MAX_EXPANSIONS, MAX_TURNS, RETRIES
from wink.adapters._record_journal import RecordJournal
from wink.adapters._requests import ModelDelta, RequestFailed, RequestSent
from wink.adapters._response import ModelReplied, ModelTold, PromptResponse
from wink.adapters._run_state import RunJournal, RunState
from wink.adapters._script import Expectation, Script, ScriptedTurn, parse_script
from wink.adapters._scripted import ScriptedAdapter, Turn
from wink.adapters._tracing import trace_calls
from wink.errors import ModelUnusable, OutputParseError, PromptEvaluationError, RunStateError, RunSuspended

if TYPE_CHECKING:
    from wink.adapters._anthropic import AnthropicMessages
    from wink.adapters._openai_chat import OpenAIChat
    from wink.adapters._openai_responses import OpenAIResponses
    from wink.adapters._remote import ModelSettings, RemoteAdapter
    from wink.adapters._tool_schemas import PROVIDERS, CompiledTool, Misfit, compile_tools

__all__ = [
    "MAX_EXPANSIONS",
    "MAX_TURNS",
    "PROVIDERS",
    "RETRIES",
    "AgentLoop",
    "AnthropicMessages",
    "CompiledTool",
    "Conversation",
    "Exchange",
    "Expectation",
    "Misfit",
    "ModelDelta",
    "ModelReplied",
    "ModelSettings",
    "ModelTold",
    "ModelTurn",
    "ModelUnusable",
    "OpenAIChat",
    "OpenAIResponses",
    "OutputParseError",
    "PromptEvaluationError",
    "PromptResponse",
    "ProviderAdapter",
    "RecordJournal",
    "RemoteAdapter",
    "RequestFailed",
    "RequestSent",
    "RunJournal",
    "RunState",
    "RunStateError",
    "RunSuspended",
    "Script",
    "ScriptedAdapter",
    "ScriptedTurn",
    "Turn",
    "compile_tools",
    "parse_script",
    "trace_calls",
]

_HOMES = {
    "AnthropicMessages": "_anthropic",
    "CompiledTool": "_tool_schemas",
    "Misfit": "_tool_schemas",
    "ModelSettings": "_remote",
    "OpenAIChat": "_openai_chat",
    "OpenAIResponses": "_openai_responses",
    "PROVIDERS": "_tool_schemas",
    "RemoteAdapter": "_remote",
    "compile_tools": "_tool_schemas",
}

if not TYPE_CHECKING:  # a checker that saw this would take any name for granted

    def __getattr__(name: str) -> Any:
        """What speaks with providers, imported when it is asked for."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
