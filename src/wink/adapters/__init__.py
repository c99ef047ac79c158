"""Evaluate prompts with models."""

from typing import TYPE_CHECKING

from wink.adapters._adapter import ProviderAdapter
from wink.adapters._agent_loop import AgentLoop
from wink.adapters._conversation import Conversation, Exchange, ModelTurn
from wink.adapters._evaluation import MAX_EXPANSIONS, MAX_TURNS, RETRIES, EvaluationOptions
from wink.adapters._record_journal import RecordJournal
from wink.adapters._requests import ModelDelta, RequestFailed, RequestSent
from wink.adapters._response import ModelReplied, ModelTold, PromptResponse
from wink.adapters._run_state import RunJournal, RunState, told
from wink.adapters._script import Expectation, Script, ScriptedTurn, parse_script
from wink.adapters._scripted import ScriptedAdapter, Turn
from wink.adapters._tracing import trace_calls
from wink.errors import ModelUnusable, OutputParseError, PromptEvaluationError, RunStateError, RunSuspended
from wink.spellings import forwarded, lazily

if TYPE_CHECKING:
    from wink.adapters._tool_schemas import PROVIDERS, CompiledTool, Misfit, compile_tools
    from wink_anthropic import AnthropicMessages as AnthropicMessages
    from wink_models import ModelSettings as ModelSettings
    from wink_models import RemoteAdapter as RemoteAdapter
    from wink_openai import OpenAIChat as OpenAIChat
    from wink_openai import OpenAIResponses as OpenAIResponses

__all__ = [
    "MAX_EXPANSIONS",
    "MAX_TURNS",
    "PROVIDERS",
    "RETRIES",
    "AgentLoop",
    "CompiledTool",
    "Conversation",
    "EvaluationOptions",
    "Exchange",
    "Expectation",
    "Misfit",
    "ModelDelta",
    "ModelReplied",
    "ModelTold",
    "ModelTurn",
    "ModelUnusable",
    "OutputParseError",
    "PromptEvaluationError",
    "PromptResponse",
    "ProviderAdapter",
    "RecordJournal",
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
    "told",
    "trace_calls",
]

_HOMES = {
    "CompiledTool Misfit PROVIDERS compile_tools": "_tool_schemas",
    "ModelSettings RemoteAdapter": "remote",  # with a warning, until the next release
}

if not TYPE_CHECKING:
    _find, _found = lazily(__name__, _HOMES), " ".join(_HOMES).split()

    def __getattr__(name: str) -> object:
        """What most programs do without, and the models that plugins bring."""
        return _find(name) if name in _found else forwarded(name, __name__)
