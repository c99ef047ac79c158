"""How values that are not JSON's own are written as JSON scalars; imported when one is met."""

import base64
import datetime as dt
import decimal
import ipaddress
import math
import pathlib
import re
import uuid
from collections.abc import Callable
from typing import Any, Final


def scalar_encoder(kind: type) -> Callable[[Any], Any] | None:
    """The function that writes values of `kind`; it raises `ValueError` for one that JSON cannot hold.

    >>> scalar_encoder(dt.timedelta)(dt.timedelta(hours=1))
    'P0DT3600S'
    """
    return next((encode for bases, encode in _SCALARS if issubclass(kind, bases)), None)


def _float(value: float) -> float:
    if math.isfinite(value):
        return float(value)
    raise ValueError(f"{float(value)!r} is not a JSON number")


def _decimal(value: decimal.Decimal) -> str:
    if value.is_finite():
        return str(value)
    raise ValueError(f"{value} is not a JSON number")


def _duration(value: dt.timedelta) -> str:
    sign, value = ("-", -value) if value.days < 0 else ("", value)
    fraction = f".{value.microseconds:06d}" if value.microseconds else ""
    return f"{sign}P{value.days}DT{value.seconds}{fraction}S"


def _base64(value: bytes | bytearray) -> str:
    return base64.urlsafe_b64encode(value).decode("ascii")


# First match wins: a datetime is a date, a bool is an int.
_SCALARS: Final[tuple[tuple[Any, Callable[[Any], Any]], ...]] = (
    (str, str.__str__),
    (bool, bool),
    (int, int),
    (float, _float),
    (decimal.Decimal, _decimal),
    ((dt.datetime, dt.date, dt.time), lambda value: value.isoformat()),
    (dt.timedelta, _duration),
    ((bytes, bytearray), _base64),
    ((uuid.UUID, pathlib.PurePath), str),
    ((ipaddress.IPv4Address, ipaddress.IPv6Address), str),
    ((ipaddress.IPv4Network, ipaddress.IPv6Network), str),
    (re.Pattern, lambda value: value.pattern),
)  # fmt: skip
