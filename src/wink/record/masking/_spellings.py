"""How a secret may be written down by a program that prints it: an expression for each way, in RE2's syntax."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from typing import Final

_BREAK: Final = r"(?:(?:\\+r)?\\+n[\t ]*|\r?\n[\t ]*)?"
"""Where a line may end in the middle, as `fold` and `base64` do it; in JSON the end is written out."""
_OF_BASE64: Final = r"[\w+/-]?"
"""The character at either side that holds bits of a secret, and of what stands beside it."""


def spellings(value: str, most: int | None = None) -> tuple[str, ...]:
    """Expressions that find a text as such, quoted, escaped, in hexadecimal and in Base64, also split over lines.

    Of each, only its first `most` characters, where that is given: to find out whether it may be there at all.
    """
    raw = value.encode("utf-8", "surrogatepass")
    text = _BREAK.join(map(_character, value[:most]))
    # as bytes are dumped, with or without something between them
    digits = r"[\s:,-]*(?:0x|\\+x)?".join(f"{byte:02x}" for byte in raw[:most])
    return text, f"(?i:{digits})", *(_in_base64(raw, before, most) for before in range(3))


def quoted(text: str) -> str:
    """An expression for a text as it is."""
    return re.sub(
        r"([^\w])", lambda found: "".join(rf"\x{byte:02x}" for byte in found[1].encode()), text, flags=re.ASCII
    )


def _character(one: str) -> str:
    raw = one.encode("utf-8", "surrogatepass")
    plain = "".join(rf"\x{byte:02x}" for byte in raw)
    units = one.encode("utf-16-be", "surrogatepass").hex()
    ways = ["".join(f"%{byte:02x}" for byte in raw), *(["[+]"] if one == " " else [])]
    ways += [
        "".join(rf"\\+x{byte:02x}" for byte in raw),
        rf"\\+x{ord(one):02x}",
        rf"\\+u{ord(one):08x}",
        rf"\\+u\{{{ord(one):x}\}}",
    ]
    ways += ["".join(rf"\\+u{units[at : at + 4]}" for at in range(0, len(units), 4))]
    short = json.dumps(one)[1:-1]
    if len(short) == 2 and short[1].isalpha():  # a backslash and a letter
        ways.append(rf"\\+{short[1]}")
    by_shells = "" if one.isalnum() else r"\\*"
    return f"(?:{by_shells}{plain}|(?i:{'|'.join(ways)}))"


def _in_base64(raw: bytes, before: int, most: int | None) -> str:
    """After so many other bytes, modulo 3: the characters that hold nothing but bits of these, in either alphabet."""
    whole = b64encode(bytes(before) + raw).decode()
    known = whole[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6]
    letters = [{"+": "[+-]", "/": "[/_]"}.get(one, one) for one in known[:most]]
    # Only where there is such a character: that of another secret that follows at once is its own.
    return f"{_OF_BASE64 * (before > 0)}{_BREAK.join(letters)}{_OF_BASE64 * ((before + len(raw)) % 3 > 0)}={{0,2}}"
