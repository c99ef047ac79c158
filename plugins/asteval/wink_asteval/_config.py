"""The bounds of an evaluation."""

from __future__ import annotations

import math

from wink.dataclass import dataclass, field, fields
from wink.errors import PromptValidationError

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class AstevalConfig:
    """How long an evaluation may take, how much it may hold, and how much it shows and writes.

    `kernel_filter` has the process give up nearly every system call before it runs a script, on Linux on x86-64 and
    ARM64; where the kernel refuses, nothing is evaluated. Without it asteval's own rules are all that keeps a script
    from files and network, and asteval is not a security boundary.

    `prestart` keeps one process per section ready for the next call, which then starts at once; it costs about 15 MiB.
    """

    timeout_seconds: float = field(default=5.0, metadata={"description": "Seconds after which a script is stopped."})
    memory_bytes: int = field(default=256 * MIB, metadata={"description": "Memory that a script's process may use."})
    max_code_chars: int = field(default=20_000, metadata={"description": "Longest script, in characters."})
    max_output_chars: int = field(
        default=4096, metadata={"description": "Most characters of each of value, printed text, error and globals."}
    )
    max_read_bytes: int = field(default=5_000_000, metadata={"description": "Most bytes that one call reads."})
    max_write_bytes: int = field(default=5_000_000, metadata={"description": "Most bytes that one call writes."})
    read_before_write: bool = field(
        default=False,
        metadata={"description": "Whether a file must have been read as it is now before a script may replace it."},
    )
    kernel_filter: bool = True
    prestart: bool = False
    accepts_overrides: bool = False

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if not isinstance(value, bool) and not (isinstance(value, (int, float)) and 0 < value < math.inf):
                raise PromptValidationError(f"{one.name} must be a positive number, not {value!r}")
        if self.memory_bytes < 64 * MIB:
            raise PromptValidationError("Python alone needs nearly 64 MiB; give memory_bytes at least that much")
