"""The hooks of plugins: signature, docstring, and the version of the hook API that brought each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from docs.generator.source import doc, signature
from wink.plugins import _hookspecs


def specifications() -> Iterator[tuple[str, Any]]:
    """Each hook's name and specification, in the order in which they are written."""
    for name, value in vars(_hookspecs).items():
        if hasattr(value, "wink_spec"):
            yield name, value


def blocks() -> dict[str, str]:
    """All hooks, and the example."""
    from docs.generate import ROOT

    example = (ROOT / "docs/examples/release_notes.py").read_text(encoding="utf-8").strip()
    return {
        "hooks": "\n\n".join(_hook(name, function) for name, function in specifications()),
        "docs/examples/release_notes.py": f"```python\n{example}\n```",
    }


def _hook(name: str, function: Any) -> str:
    major, minor = _hookspecs.SINCE[name]
    return f"### `{signature(function)}`\n\n{doc(function)}\n\nIn the hook API since {major}.{minor}."
