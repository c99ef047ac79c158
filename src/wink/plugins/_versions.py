"""Tell whether a version of wink is within the range that a distribution requires.

A subset of PEP 440 written out, because importing `packaging` would double what listing plugins costs. The tests hold it
to what `packaging` says.
"""

import re
from functools import lru_cache
from typing import Final

# Compiled when it is first needed, since plain numbers do without.
_VERSION: Final = r"""(?xi)\s*v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)
    (?:[-_.]?(?P<pre>a|b|c|rc|alpha|beta|pre|preview)[-_.]?(?P<pre_n>\d*))?
    (?P<post>-(?P<post_bare>\d+)|[-_.]?(?:post|rev|r)[-_.]?(?P<post_n>\d*))?
    (?P<dev>[-_.]?dev[-_.]?(?P<dev_n>\d*))?
    (?:\+[a-z0-9]+(?:[-_.][a-z0-9]+)*)?\s*"""
_CLAUSE: Final = re.compile(r"\s*(===|~=|==|!=|<=|>=|<|>)\s*([^\s,]+)\s*")
_PRE: Final = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc"}

Key = tuple[int, tuple[int, ...], tuple[str, int], int, float]
"""Sorts as PEP 440 orders versions: epoch, release without trailing zeros, pre-release, post-release, dev-release."""


@lru_cache(maxsize=256)
def version_key(version: str) -> Key | None:
    """A key that orders versions, or None for what is not one.

    >>> ordered = ["1.0.dev1", "1.0a1", "1.0rc1", "1.0", "1.0.post1", "1.1"]
    >>> sorted(ordered, key=version_key) == ordered
    True
    """
    if version.replace(".", "").isdecimal() and version.isascii():
        release = [int(part) for part in version.split(".") if part]
        return None if len(release) <= version.count(".") else (0, _trimmed(release), ("z", 0), -1, float("inf"))
    match = re.fullmatch(_VERSION, version)
    if match is None:
        return None
    release = [int(part) for part in match["release"].split(".")]
    pre = (_PRE.get(match["pre"].lower(), match["pre"].lower()), int(match["pre_n"] or 0)) if match["pre"] else None
    post = int(match["post_bare"] or match["post_n"] or 0) if match["post"] else -1
    dev = float(match["dev_n"] or 0) if match["dev"] else float("inf")
    if pre is None:
        # A bare development release comes before the first alpha, a final release after every pre-release.
        pre = ("", 0) if match["dev"] and post < 0 else ("z", 0)
    return int(match["epoch"] or 0), _trimmed(release), pre, post, dev


def _trimmed(release: list[int]) -> tuple[int, ...]:
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    return tuple(release)


def is_within(version: str, wanted: str) -> bool | None:
    """Whether `version` satisfies a range such as `>=1,<2`; None when the range cannot be understood.

    >>> is_within("1.4.2", ">=1,<2"), is_within("2.0", ">=1,<2"), is_within("1.0", "newest")
    (True, False, None)
    """
    clauses = [_CLAUSE.fullmatch(clause) for clause in wanted.split(",") if clause.strip()]
    verdicts = [None if clause is None else _satisfies(version, clause[1], clause[2]) for clause in clauses]
    return None if None in verdicts else all(verdicts)


def _satisfies(version: str, operator: str, wanted: str) -> bool | None:
    if operator == "===":
        return version.strip().lower() == wanted.lower()
    if operator in ("==", "!=") and wanted.endswith(".*"):
        return None if (same := _has_prefix(version, wanted[:-2])) is None else same is (operator == "==")
    have, want = version_key(version), version_key(wanted)
    if have is None or want is None:
        return None
    match operator:
        case "==":
            return have == want
        case "!=":
            return have != want
        case "<=":
            return have <= want
        case ">=":
            return have >= want
        case "<":
            # `<2` is not meant to let 2.0rc1 in.
            return have < want and not (have[:2] == want[:2] and _is_pre(have) and not _is_pre(want))
        case ">":
            return have > want and not (have[:3] == want[:3] and have[3] >= 0 > want[3])
        case _:
            release = wanted.rpartition(".")[0]
            return None if not release else have >= want and bool(_has_prefix(version, release))


def _is_pre(key: Key) -> bool:
    return key[2] != ("z", 0) or key[4] != float("inf")


def _has_prefix(version: str, prefix: str) -> bool | None:
    have, want = re.fullmatch(_VERSION, version), re.fullmatch(_VERSION, prefix)
    if have is None or want is None:
        return None
    have_parts, want_parts = ([int(part) for part in match["release"].split(".")] for match in (have, want))
    have_parts += [0] * (len(want_parts) - len(have_parts))
    return have_parts[: len(want_parts)] == want_parts and (have["epoch"] or "0") == (want["epoch"] or "0")
