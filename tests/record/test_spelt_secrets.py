"""A secret whose value is known is found however a program prints it, and a text that only looks similar stays."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wink.record import Masking

SECRET = "q8Zt/Wv2+Lw7 Kj3~ü€😀x9"
MASKING = Masking(values=[SECRET])
PROGRAMS = (
    "cat",
    "base64",
    "base64 -w 20",
    "(echo -n user:; cat) | base64 -w 30",
    "(echo -n a; cat; echo later) | base64 -w 0",
    "(echo -n ab; cat; echo later) | base64 | tr '+/' '-_'",
    "LC_ALL=C.UTF-8 sed -E 's/.{5}/&\\n/g'",
    "LC_ALL=C.UTF-8 sed -E 's/.{5}/&\\r\\n    /g'",
    "od -An -v -tx1",
    "od -An -v -tx1 | tr -d ' \\n'",
    "od -An -v -tx1 | tr a-f A-F | sed 's/ /, 0x/g'",
    "od -An -v -w6 -tx1 | tr -d '\\n' | sed 's/ /\\\\x/g'",
    "bash -c 'printf %q \"$(cat)\"'",
    "python3 -c 'import sys; print(ascii(sys.stdin.read()))'",
    'python3 -c \'import sys; print("".join(f"%{one:02x}" for one in sys.stdin.buffer.read()))\'',
)


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_programs_print_of_a_secret_is_masked(program: str) -> None:
    """In the text, and where the text is written into JSON."""
    done = subprocess.run(["bash", "-c", program], input=SECRET.encode(), capture_output=True, check=True)
    said = f"before {done.stdout.decode(errors='surrogateescape')} after"
    inside = json.loads(MASKING.json(json.dumps({"said": said})))["said"]
    for masked in (MASKING.text(said), inside, MASKING.content(said.encode(errors="surrogateescape")).decode()):
        assert masked.startswith("before ")
        assert masked.endswith(" after")
        assert "[masked]" in masked
        assert len(masked) <= len("before '\"[masked]Kl==\"' after") + 20, masked
        assert MASKING.text(masked) == masked


def folded(width: int) -> Callable[[str], str]:
    """Break a text into lines, as programs do."""
    return lambda text: "\n".join(text[at : at + width] for at in range(0, len(text), width))


WAYS: tuple[Callable[[str], str], ...] = (
    lambda text: text,
    json.dumps,
    lambda text: json.dumps(json.dumps(text)),
    lambda text: json.dumps(text, ensure_ascii=False),
    quote,
    quote_plus,
    lambda text: quote(text, safe=""),
    lambda text: text.encode().hex(),
    lambda text: text.encode().hex(" ").upper(),
    lambda text: text.encode().hex(":"),
    lambda text: base64.b64encode(text.encode()).decode(),
    lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    folded(7),
    lambda text: folded(9)(base64.b64encode(text.encode()).decode()),
    lambda text: json.dumps(folded(3)(text)),
)
LETTERS = st.characters(codec="utf-8", exclude_categories=["Cc"])


@given(st.text(LETTERS, min_size=6, max_size=40), st.text(LETTERS, max_size=5), st.sampled_from(WAYS))
def test_any_secret_is_found_in_any_spelling(secret: str, before: str, way: Callable[[str], str]) -> None:
    """Whatever is before it, which moves where its characters in Base64 begin."""
    masked = Masking(values=[secret]).text(way(f"{before}{secret}"))

    assert "[masked]" in masked
    assert secret not in masked


@pytest.mark.parametrize("secret", ["sk-abcdefghijk", "sk-abcdefghijkl", "sk-abcdefghijklm"])
@pytest.mark.parametrize("before", ["", "a", "ab"])
def test_a_secret_that_follows_another_at_once_is_found_in_base64(secret: str, before: str) -> None:
    """Three times, so that one of them ends where the next begins, with no character that they share."""
    text = base64.b64encode((before + secret * 3).encode()).decode()

    assert len(Masking(values=[secret]).text(text).replace("[masked]", "")) <= 3


def test_what_is_no_spelling_of_it_stays() -> None:
    """A part of it, another one, or its bytes in another order."""
    raw = SECRET.encode()
    for text in (
        SECRET[1:],
        SECRET[::-1],
        raw[::-1].hex(),
        base64.b64encode(raw[3:]).decode(),
        quote(SECRET[:-1]),
        "\n\n".join(SECRET),
        "the quick brown fox",
    ):
        assert MASKING.text(text) == text
