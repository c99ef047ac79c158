"""What `evaluate_python` answers with, and how the model reads it."""

from __future__ import annotations

import json
from typing import Any, Final

from wink.dataclass import dataclass, field
from wink_asteval._params import EvalFileRead, EvalFileWrite

REPR: Final = "!repr:"


@dataclass(frozen=True, slots=True)
class EvalResult:
    """What came of a script.

    `value_repr` is the repr of its last expression, or None; `stdout` what it printed, `stderr` the traceback it ended
    with. `globals` are the names that it defined: what JSON holds as it is, everything else as `!repr:` and its repr.
    `writes` is what was written, with the content filled in; a script that failed wrote nothing.
    """

    value_repr: str | None = None
    stdout: str = ""
    stderr: str = ""
    globals: dict[str, Any] = field(default_factory=dict[str, Any])
    reads: tuple[EvalFileRead, ...] = ()
    writes: tuple[EvalFileWrite, ...] = ()

    def render(self) -> str:
        r"""What there is, each under its name.

        >>> print(EvalResult("3", "half way\n", globals={"x": 3, "f": "!repr:nan"}).render())
        value: 3
        stdout:
        half way
        globals:
        x = 3
        f = nan
        """
        parts: list[str] = []
        if self.value_repr is not None:
            parts.append(f"value: {self.value_repr}")
        for name, text in (("stdout", self.stdout), ("stderr", self.stderr)):
            if text:
                parts.append(f"{name}:\n{text.removesuffix(chr(10))}")
        if self.globals:
            parts.append("globals:")
            parts.extend(f"{name} = {_shown(value)}" for name, value in self.globals.items())
        if self.writes:
            parts.append("files:")
            parts.extend(one.render() for one in self.writes)
        return "\n".join(parts)


def _shown(value: Any) -> str:
    if isinstance(value, str) and value.startswith(REPR):
        return value.removeprefix(REPR)
    return json.dumps(value, ensure_ascii=False)
