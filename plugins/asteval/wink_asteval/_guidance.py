"""What the model is told about `evaluate_python`."""

from __future__ import annotations

from typing import Final

from wink_asteval._config import AstevalConfig

GUIDANCE: Final = """\
Compute with `evaluate_python`: an expression, or a short Python script whose last line is the value shown.

- Name the files to read in `reads`; in the code, `read_text(path)` gives their text. `write_text(path, text,
  mode="overwrite")` writes a file once the code has ended well, and so does each of `writes`, whose content may hold
  `{name}` for a value of the code (`{{` and `}}` for braces).
- `globals` gives names and values to start with; nothing is kept from one call to the next.
- There is no `open`, no network and no installed package. Of the standard library there are `math`, `statistics`, `json`,
  `re`, `csv`, `datetime`, `itertools`, `collections` and a few more, with or without `import`. Classes, `with`, `yield`
  and `async` are not supported.

A script is stopped after %SECONDS% seconds, and long output is cut in the middle. One that fails writes nothing."""

READ_FIRST: Final = """\
A file that exists has to be read in this session before it can be overwritten; naming it in `reads` does that."""


def guidance(config: AstevalConfig) -> str:
    """How to use the tool, with the bounds that hold here."""
    text = GUIDANCE.replace("%SECONDS%", f"{config.timeout_seconds:g}")
    return f"{text}\n\n{READ_FIRST}" if config.read_before_write else text
