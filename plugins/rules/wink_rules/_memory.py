"""What rules remember of a session, each fact under a key of its own: it costs the same after ten thousand calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wink.dataclass import dataclass
from wink.errors import ToolValidationError
from wink.policies import RuleState

if TYPE_CHECKING:
    from wink.session import Session, SliceView, Upsert


@dataclass(frozen=True, slots=True)
class _Succeeded:
    """One more success; `at_most` so many may stand, those of calls side by side among them."""

    key: str
    at_most: int | None
    too_many: str


def count_of(session: Session, key: str) -> int:
    """How often it has succeeded."""
    known = session[RuleState].get(key)
    return 0 if known is None else known.count


def remember(session: Session, key: str) -> None:
    """Note that it has succeeded at least once."""
    if not count_of(session, key):
        _count(session, _Succeeded(key, None, ""))


def count_up(session: Session, key: str, at_most: int | None, too_many: str) -> None:
    """Note one more success; where a call side by side has taken the last one, this call fails with `too_many`."""
    _count(session, _Succeeded(key, at_most, too_many))


def _count(session: Session, news: _Succeeded) -> None:
    session[RuleState].register(_Succeeded, _add)
    session.dispatch(news)


def _add(view: SliceView[RuleState], news: _Succeeded) -> Upsert[RuleState]:
    from wink.session import Upsert

    known = view.get(news.key)
    count = 1 if known is None else known.count + 1
    if news.at_most is not None and count > news.at_most:
        raise ToolValidationError(news.too_many)
    return Upsert(news.key, RuleState(news.key, count))
