"""The agents that wink knows how to attach, one module each."""

from wink_attach.agents._claude_code import ClaudeCode
from wink_attach.agents._codex import Codex
from wink_attach.agents._gemini_cli import GeminiCli
from wink_attach.agents._goose import Goose
from wink_attach.agents._opencode import OpenCode
from wink_attach.agents._qwen_code import QwenCode

__all__ = ["ClaudeCode", "Codex", "GeminiCli", "Goose", "OpenCode", "QwenCode"]
