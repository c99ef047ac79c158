"""The agents that wink knows how to attach, one module each."""

from wink_attach.agents._claude_code import ClaudeCode
from wink_attach.agents._codex import Codex
from wink_attach.agents._opencode import OpenCode

__all__ = ["ClaudeCode", "Codex", "OpenCode"]
