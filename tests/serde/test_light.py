"""Importing wink.serde must cost next to nothing."""

import subprocess
import sys


def test_pydantic_is_imported_on_first_use_only() -> None:
    """`import wink` stays fast for commands that read no JSON."""
    code = (
        "import sys, wink.serde, wink.tools\n"
        "wink.serde.dumps({'a': [1]})\n"
        "heavy = {'pydantic', 'pydantic_core', 'asyncio', 'decimal', 'difflib', 'fsspec', 'git'} & set(sys.modules)\n"
        "print(sorted(heavy))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
