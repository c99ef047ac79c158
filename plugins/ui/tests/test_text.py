"""Text from anywhere is shown as text, and what cannot be seen is."""

from __future__ import annotations

import re
from html import unescape

from hypothesis import given, settings
from hypothesis import strategies as st

from wink_ui._text import one_line, shown, shown_line, visible

HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
ANY = st.text(st.characters(codec=None), max_size=40)


@settings(deadline=None)
@given(ANY)
def test_nothing_hidden_is_left_and_all_of_it_can_be_sent(text: str) -> None:
    """Bidi marks turn lines around, and a half of a surrogate pair fits no encoding."""
    for told in (visible(text), one_line(text), str(shown(text)), str(shown_line(text))):
        assert not HIDDEN.search(told)
        told.encode()


@settings(deadline=None)
@given(ANY)
def test_markup_is_only_ours(text: str) -> None:
    """Whatever it says, no element of it is another than the mark of a hidden character."""
    told = str(shown(text))

    assert set(re.findall(r"<[^>]*>", told)) <= {'<span class="ctl">', "</span>"}
    assert "<" not in re.sub(r'<span class="ctl">|</span>', "", told)


@settings(deadline=None)
@given(st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_categories=["Cc", "Cf"]), max_size=40))
def test_plain_text_stays_what_it_is(text: str) -> None:
    """Escaped, and nothing else."""
    assert unescape(str(shown(text))) == text
    assert visible(text) == text


def test_lines_stay_lines_where_they_may() -> None:
    """And become visible where there is one line only."""
    assert shown("a\n\tb") == "a\n\tb"
    assert one_line("a\n\tb") == r"a\n\tb"
    assert str(shown_line("a\nb")) == r'a<span class="ctl">\n</span>b'
