"""The names by which programs know OpenAI's models go on working."""

from __future__ import annotations

import subprocess
import sys

import wink.adapters
import wink_openai


def test_programs_import_it_from_the_adapters() -> None:
    """They get what the plugin has, and pay for it when they ask."""
    program = "import sys, wink.adapters; sys.exit('wink_openai' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
    for name in ("OpenAIChat", "OpenAIResponses"):
        assert getattr(wink.adapters, name) is getattr(wink_openai, name)
