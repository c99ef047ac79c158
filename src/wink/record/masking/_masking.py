"""Take secrets out of what is kept and shown: by what they look like, by the name of their field, and by their value.

Rules of this module:

* Every expression is RE2's, which searches in linear time, whatever the text and whoever wrote the expression.
* One search says whether there is anything to mask, and almost always there is not; only then is it looked at closely.
* Masking what is masked changes nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, cast

from wink.errors import MaskPatternError
from wink.filesystem import Stamp
from wink.record.masking._rules import ENDINGS, EXACT_NAMES, GATE, NAMED, SHAPES

if TYPE_CHECKING:
    from wink.record._slices import Encoded
    from wink.transactions import CommitEntry

MASK: Final = "[masked]"
"""What stands in the place of a secret."""

SHORTEST: Final = 6
"""Values of fewer characters are not looked for: they are everywhere."""

_LONGEST_PATTERN: Final = 1000
_LARGEST_PROGRAM: Final = 5000
_MASK: Final = MASK.encode()
_PUNCTUATION: Final = re.compile(r"[\W_]+")
_CANDIDATE_NAME: Final = r"(?i:{})\\*[\"']\s*:"


class Masking:
    """Rules by which secrets are found; those that are built in always are among them.

    `patterns` are regular expressions in RE2's syntax; where one has a group, only that is masked. `names` are names of
    arguments and fields whose values are masked, whatever case and punctuation they are written with. `values` are secrets
    themselves, which are found as they are, quoted or escaped, as in JSON or in an address, in hexadecimal and in Base64, and
    split over lines. Raises `MaskPatternError`.

    >>> rules = Masking(names=["pin"], values=["correct horse"])
    >>> rules.text("use Authorization: Bearer abcdefgh12345678 or 'correct horse'")
    "use Authorization: [masked] or '[masked]'"
    >>> rules.json('{"pin": 1234, "path": "a.txt"}')
    '{"pin": "[masked]", "path": "a.txt"}'
    """

    __slots__ = ("_exact", "_gate", "_own", "_patterns", "_rules", "_values", "given")

    def __init__(self, *, patterns: Iterable[str] = (), names: Iterable[str] = (), values: Iterable[str] = ()) -> None:
        self._patterns = tuple(dict.fromkeys(patterns))
        for pattern in self._patterns:
            _checked(pattern)
        self._own = frozenset(_plain(name) for name in names) - {""}
        self._exact = EXACT_NAMES | self._own
        self._values = tuple(sorted({value for value in values if len(value) >= SHORTEST}, key=len, reverse=True))
        self._rules: tuple[Any, ...] | None = None
        self._gate: Any = None
        self.given = len(self._patterns), len(self._own), len(self._values)
        """How many patterns, names and values there are beside what is built in."""

    def finds(self, *texts: str) -> bool:
        """Whether something in these texts may have to be masked; a few microseconds for short ones."""
        data = "\n".join(texts).encode("utf-8", "surrogatepass")
        return (self._gate or self._compiled()).search(data) is not None

    def finds_in_json(self, *texts: str) -> bool:
        """The same of texts that may be JSON: with escapes a secret has many spellings, so such a text has to be read."""
        text = "\n".join(texts)
        return "\\u" in text or "\\/" in text or self.finds(text)

    def text(self, text: str) -> str:
        """The text with `[masked]` in the place of each secret."""
        return self._masked(text) if text and self.finds(text) else text

    def json(self, text: str) -> str:
        """JSON with the texts in it masked, still JSON; anything else is masked as text."""
        if not text or not self.finds_in_json(text):
            return text
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return self.text(text)
        masked = self._walk(value, is_secret=False)
        return text if masked == value else json.dumps(masked)

    def by_looks(self, text: str) -> str:
        """JSON masked by what its texts look like alone, not by the names of fields."""
        try:
            return json.dumps(self._texts(json.loads(text)))
        except (ValueError, RecursionError):
            return self.text(text)

    def value(self, value: object) -> Any:
        """Plain values, as JSON has them, with the texts in them masked."""
        return self._walk(value, is_secret=False)

    def content(self, content: bytes) -> bytes:
        """A file's content, for showing it; what is no UTF-8 is searched as it is."""
        gate = self._gate or self._compiled()
        return self._replaced(content) if gate.search(content) is not None else content

    # -- how

    def _texts(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {key: self._texts(inner) for key, inner in cast("dict[str, object]", value).items()}
        return [self._texts(inner) for inner in cast("list[object]", value)] if isinstance(value, list) else value

    def _walk(self, value: object, *, is_secret: bool) -> Any:
        if isinstance(value, str):
            if is_secret:
                return MASK if value else value
            # What a model sent may be JSON inside of JSON.
            return self.json(value) if value[:1] in ("{", "[") else self.text(value)
        if isinstance(value, Mapping):
            found: dict[Any, Any] = {}
            for key, inner in cast("Mapping[object, object]", value).items():
                name = self.text(key) if isinstance(key, str) else key
                found[name] = self._field(str(key), inner, is_secret)
            return found
        if isinstance(value, list | tuple):
            return [self._walk(inner, is_secret=is_secret) for inner in cast("Sequence[object]", value)]
        if is_secret and isinstance(value, int | float) and not isinstance(value, bool):
            return MASK
        return value

    def _field(self, name: str, value: object, is_secret: bool) -> Any:
        plain = _plain(name)
        # A position in a text is a `token`, too: numbers are masked only where the name leaves no doubt.
        certain = is_secret or plain in self._own or plain.endswith(ENDINGS)
        if certain or (plain in self._exact and not isinstance(value, int | float)):
            return self._walk(value, is_secret=True)
        return self._walk(value, is_secret=False)

    def _masked(self, text: str) -> str:
        return self._replaced(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def _replaced(self, data: bytes) -> bytes:
        if self._rules is None:
            self._rules = (*map(_expression, self._given(None)), *_built_in())
        for rule in self._rules:
            data = _replace(rule, data)
        return data

    def _given(self, most: int | None) -> tuple[str, ...]:
        """The expressions beside those that are built in; of values only the first characters, where `most` is given."""
        if not self._values:
            return self._patterns
        from wink.record.masking._spellings import spellings  # which takes base64 along

        forms = [form for value in self._values for form in spellings(value, most)]
        return ("|".join(forms), *self._patterns)

    def _compiled(self) -> Any:
        """The one search that comes first; it is made when the first text is looked at, and the others when it finds something."""
        given = self._given(SHORTEST)
        own = "|".join(_loose(name) for name in sorted(self._own))
        self._gate = _gate() if not given and not own else _expression(_either(given, own))
        return self._gate


def _either(given: tuple[str, ...], own: str) -> str:
    names = f"{NAMED}|{own}" if own else NAMED
    return "|".join([*(f"(?:{pattern})" for pattern in (*given, *GATE)), _CANDIDATE_NAME.format(names)])


@cache
def _gate() -> Any:
    return _expression(_either((), ""))


@cache
def _built_in() -> tuple[Any, ...]:
    return tuple(_expression(shape) for shape in SHAPES)


def _plain(name: str) -> str:
    return _PUNCTUATION.sub("", name).lower()


def _loose(name: str) -> str:
    """An expression for a name with any punctuation in it."""
    from wink.record.masking._spellings import quoted

    return r"[\W_]{0,2}".join(quoted(letter) for letter in name)


def _expression(pattern: str) -> Any:
    re2: Any = import_module("re2")  # has no types
    options = re2.Options()
    options.log_errors = False
    options.encoding = re2.Options.Encoding.LATIN1  # bytes: nothing that is no UTF-8 may hide what follows it
    options.max_mem = 64 << 20
    return re2.compile(pattern.encode(), options=options)


def _checked(pattern: str) -> None:
    re2: Any = import_module("re2")
    if not pattern or len(pattern) > _LONGEST_PATTERN:
        raise MaskPatternError(pattern, f"it is empty or longer than {_LONGEST_PATTERN} characters")
    try:
        made = _expression(pattern)
    except (re2.error, UnicodeEncodeError) as error:
        said = error.args[0]
        raise MaskPatternError(
            pattern, said.decode(errors="replace") if isinstance(said, bytes) else str(said)
        ) from None
    if made.search(b"") is not None:
        raise MaskPatternError(pattern, "it is found in nothing at all, so it would be everywhere")
    if made.programsize > _LARGEST_PROGRAM:
        raise MaskPatternError(pattern, "it is too large; repeat less")


def _replace(rule: Any, data: bytes) -> bytes:
    pieces: list[bytes] = []
    at = 0
    group = 1 if rule.groups else 0
    for match in rule.finditer(data):
        first, last = _span(match, group, rule.groups)
        if first < at or first == last or data[first:last] == _MASK:
            continue
        pieces += (data[at:first], _MASK)
        at = last
    if not at:
        return data
    pieces.append(data[at:])
    return b"".join(pieces)


def _span(match: Any, group: int, groups: int) -> tuple[int, int]:
    """The first group that took part, or the whole."""
    for number in range(group, groups + 1):
        first, last = match.span(number)
        if first >= 0:
            return first, last
    return match.span()


DEFAULT: Final = Masking()
"""What is built in, and nothing else."""


# -- what is about to be stored

_STAMPS: Final = f"{Stamp.__module__}:{Stamp.__qualname__}"
"""They hold paths and digests, by which files are judged: nothing else."""
_MARK: Final = "masked:"
"""JSON that was masked is stored with this before it, so that it is never taken for what it was."""

_told: Final[set[str]] = set()


def masked(
    masking: Masking, calls: Sequence[CommitEntry], encoded: Sequence[Encoded]
) -> tuple[Sequence[CommitEntry], Sequence[Encoded]]:
    """The same with secrets masked; one search where there are none."""
    texts = [text for delta, items in encoded if delta.type_name != _STAMPS for text in items]
    for call in calls:
        texts += (call.tool, call.arguments, call.rendered)
        if call.error is not None:
            texts.append(call.error)
        texts += [reason for _, _, reason, _ in call.decisions if reason]
    if not masking.finds_in_json(*texts):
        return calls, encoded
    return [masked_call(masking, call) for call in calls], [_items(masking, one) for one in encoded]


def masked_call(masking: Masking, call: CommitEntry) -> CommitEntry:
    """A call with its arguments, its reply, what its exception said and what policies said masked."""
    decisions = tuple(
        (policy, allowed, reason and masking.text(reason), asks) for policy, allowed, reason, asks in call.decisions
    )
    return replace(
        call,
        tool=masking.text(call.tool),  # a model may call anything
        arguments=masking.json(call.arguments),
        rendered=masking.text(call.rendered),
        error=call.error and masking.text(call.error),
        decisions=decisions,
    )


def stored(masking: Masking, text: str) -> tuple[str, bool]:
    """JSON as the record keeps it, and whether what it was has to be sealed."""
    found = masking.json(text)
    return (text, False) if found == text else (_MARK + found, True)


def shown(text: str) -> str:
    """JSON out of the record, masked or not."""
    return text.removeprefix(_MARK)


def is_masked(text: str) -> bool:
    """Whether JSON in the record is not what it was."""
    return text.startswith(_MARK)


def _items(masking: Masking, one: Encoded) -> Encoded:
    delta, texts = one
    if delta.type_name == _STAMPS:
        return one
    return delta, tuple(_item(masking, item, text) for item, text in zip(delta.items, texts, strict=True))


def _item(masking: Masking, item: object, text: str) -> str:
    """An item of a slice, masked so that it can still be read as what it is."""
    found = masking.json(text)
    if found == text:
        return text
    for candidate in (found, masking.by_looks(text)):
        if _can_be_read(type(item), candidate):
            return candidate
    name = type(item).__qualname__
    if name not in _told:
        _told.add(name)
        import logging  # 4 ms, for what hardly ever is

        logging.getLogger("wink.record").warning(
            "%s cannot be read back with its secrets masked, and is kept in the session as it is", name
        )
    return text


def _can_be_read(kind: type, text: str) -> bool:
    from wink.serde import parse

    try:
        parse(kind, text, extra="ignore")
    except Exception:  # foreign code: `__post_init__` of the item's type
        return False
    return True
