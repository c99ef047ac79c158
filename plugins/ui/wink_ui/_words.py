"""Say in words what the record holds: times, lengths of time, arguments."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from typing import Any, Final, cast

from markupsafe import Markup

from wink.record import CallView, values_of
from wink_ui._text import one_line, shown, shown_line

_PAIR: Final = re.compile(r'\s*[{,]\s*"((?:[^"\\]|\\.)*)"\s*:\s*("(?:[^"\\]|\\.)*"?|[^,"{}\[\]]+|.+)', re.DOTALL)
_WORD: Final = 90
_PAIRS: Final = 20
_PLAIN: Final = ("file_path", "path")
_BLANKS: Final = re.compile(r"[ \t\n]+")
_LINE: Final = 220


def clock(moment: datetime) -> str:
    """The local time of day, with the date if it is not today."""
    here = moment.astimezone()
    return f"{here:%H:%M:%S}" if here.date() == datetime.now().astimezone().date() else f"{here:%Y-%m-%d %H:%M}"


def length(duration: timedelta) -> str:
    """A length of time in two figures or three.

    >>> [length(timedelta(seconds=seconds)) for seconds in (0.0004, 0.0123, 2.34, 75, 7384)]
    ['0.4 ms', '12 ms', '2.3 s', '1 min 15 s', '2 h 3 min']
    """
    seconds = duration.total_seconds()
    if seconds < 0.01:
        return f"{seconds * 1000:.1f} ms"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = int(seconds // 60)
    return f"{minutes} min {int(seconds % 60)} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def plural(count: int, one: str, many: str = "") -> str:
    """A number with its noun.

    >>> plural(1, "call"), plural(1200, "call"), plural(2, "try", "tries")
    ('1 call', '1,200 calls', '2 tries')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def brief(arguments: str) -> Markup:
    """The arguments on one line, from JSON of which the end may be missing."""
    pairs = _pairs(arguments)
    if not pairs and arguments.strip() not in ("", "{}"):
        return shown_line(arguments[:_LINE])
    parts: list[Markup] = []
    used = 0
    for name, value in pairs:
        if used > _LINE:
            break
        text = _BLANKS.sub(" ", value if len(value) <= _WORD else value[:_WORD] + "…")
        if name in _PLAIN:
            parts.append(Markup('<span class="arg at">{}</span>').format(shown_line(text)))
        else:
            parts.append(Markup('<span class="arg"><i>{}</i> {}</span>').format(one_line(name), shown_line(text)))
        used += len(text) + len(name)
    return Markup(" ").join(parts)


def _pairs(arguments: str) -> list[tuple[str, str]]:
    """Names and values; of JSON that was cut off as far as it goes."""
    found = values_of(arguments)
    if isinstance(found, dict):
        known = cast("dict[str, Any]", found)
        return [(name, value if isinstance(value, str) else _compact(value)) for name, value in known.items()]
    pairs: list[tuple[str, str]] = []
    at = 0
    while (match := _PAIR.match(arguments, at)) is not None and len(pairs) < _PAIRS:
        value = match[2]
        pairs.append((_string(f'"{match[1]}"'), _string(value) if value.startswith('"') else value))
        at = match.end()
    return pairs


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def arguments_of(call: CallView) -> list[tuple[str, str]] | str:
    """Names and values as text; text that is no JSON object stays as it is."""
    found = call.values
    if not isinstance(found, dict):
        return call.arguments
    return [(name, as_text(value)) for name, value in cast("dict[str, Any]", found).items()]


def as_text(value: object) -> str:
    """A value for a person: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def pretty(text: str) -> Markup:
    """JSON with its parts on lines of their own; text that is none as it is."""
    try:
        return shown(json.dumps(json.loads(text), ensure_ascii=False, indent=2))
    except (ValueError, RecursionError):
        return shown(text)


def _string(text: str) -> str:
    """A JSON string of which the end may be missing."""
    try:
        found: object = json.loads(text)
        return found if isinstance(found, str) else text
    except ValueError:
        return text.strip('"').replace("\\n", "\n").replace('\\"', '"')
