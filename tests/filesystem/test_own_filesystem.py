"""What the guide shows passes what the guide says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from wink.testing import FilesystemContract

GUIDE = Path(__file__).parents[2] / "docs/guide/your-own-filesystem.md"


def shown() -> type[FilesystemContract]:
    """The test class of the guide."""
    names: dict[str, Any] = {"__name__": __name__}
    for block in re.findall(r"```python\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL):
        exec(block, names)
    return names["TestDictStore"]


TestDictStore = shown()
