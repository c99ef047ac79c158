"""The modules that a script may use, each as a plain list of names."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, Final

NAMES: Final[dict[str, str]] = {
    "math": "*",
    "itertools": "*",
    "statistics": "fmean geometric_mean harmonic_mean linear_regression correlation covariance mean median median_grouped "
    "median_high median_low mode multimode pstdev pvariance quantiles stdev variance",
    "json": "dumps loads JSONDecodeError",
    "re": "compile escape findall finditer fullmatch match search split sub subn A ASCII I IGNORECASE M MULTILINE S "
    "DOTALL X VERBOSE",
    "collections": "ChainMap Counter OrderedDict defaultdict deque",
    "functools": "partial reduce",
    "operator": "add and_ contains eq floordiv ge gt itemgetter le lt mod mul ne neg not_ or_ sub truediv xor",
    "string": "ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits printable punctuation "
    "whitespace",
    "textwrap": "dedent fill indent shorten wrap",
    "datetime": "UTC date datetime time timedelta timezone",
    "decimal": "Decimal ROUND_CEILING ROUND_DOWN ROUND_FLOOR ROUND_HALF_DOWN ROUND_HALF_EVEN ROUND_HALF_UP ROUND_UP",
    "fractions": "Fraction",
    "bisect": "bisect bisect_left bisect_right insort insort_left insort_right",
    "heapq": "heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest",
    "csv": "reader DictReader",
    "random": "betavariate choice choices expovariate gauss normalvariate randint random randrange sample seed shuffle "
    "triangular uniform",
    "base64": "b64decode b64encode",
    "hashlib": "md5 sha1 sha256 sha512",
}
"""What each module is cut down to; `*` is every public name of a module that is written in C and opens nothing."""


LOADED_LATER: Final = {"collections": ("heapq",), "datetime": ("_strptime",)}
"""What functions of a module would load when they are called."""


class Module(SimpleNamespace):
    """A module as scripts see it: the names that were chosen, and no way to the module behind them."""

    def __init__(self, name: str, parts: dict[str, Any]) -> None:
        super().__init__(**parts)
        self._name = name

    def __repr__(self) -> str:
        return f"<module {self._name!r}>"


def toolbox(code: str) -> dict[str, Module]:
    """The modules that `code` mentions, loaded: once calls are filtered nothing can be loaded any more."""
    return {name: _module(name) for name in NAMES if name in code}


def _module(name: str) -> Module:
    whole = importlib.import_module(name)
    for later in LOADED_LATER.get(name, ()):
        importlib.import_module(later)
    names = [one for one in dir(whole) if not one.startswith("_")] if NAMES[name] == "*" else NAMES[name].split()
    parts = {one: getattr(whole, one) for one in names}
    if name == "csv":
        parts |= {"reader": _rows, "DictReader": _records}
    elif name == "json":
        parts |= {"loads": _loads, "dumps": _dumps}
    return Module(name, parts)


def _loads(text: str | bytes) -> Any:
    """`json.loads` of text; without the hooks, which name classes."""
    import json

    return json.loads(text)


def _dumps(
    value: Any,
    *,
    indent: int | str | None = None,
    sort_keys: bool = False,
    ensure_ascii: bool = True,
    separators: tuple[str, str] | None = None,
    default: Callable[[Any], Any] | None = None,
) -> str:
    """`json.dumps` with the options that change the text only."""
    import json

    return json.dumps(
        value, indent=indent, sort_keys=sort_keys, ensure_ascii=ensure_ascii, separators=separators, default=default
    )


def _rows(text: Any, delimiter: str = ",", quotechar: str = '"') -> Iterator[list[str]]:
    """`csv.reader` over lines, or over a whole text."""
    import csv

    return iter(list(csv.reader(_lines(text), delimiter=delimiter, quotechar=quotechar)))


def _records(
    text: Any, fieldnames: Sequence[str] | None = None, delimiter: str = ",", quotechar: str = '"'
) -> Iterator[dict[str | Any, Any]]:
    """`csv.DictReader` over lines, or over a whole text."""
    import csv

    return iter(list(csv.DictReader(_lines(text), fieldnames, delimiter=delimiter, quotechar=quotechar)))


def _lines(text: Any) -> Any:
    return text.splitlines(keepends=True) if isinstance(text, str) else text
