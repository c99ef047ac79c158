"""The options of `wink batch`, and how numbers with units are read."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

_UNITS: Final = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_THOUSANDS: Final = {"": 1, "k": 1000, "m": 1_000_000}
_TIME: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|d)?")
_COUNT: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kKmM])?")

F = TypeVar("F", bound=Callable[..., Any])


class Seconds(click.ParamType[float]):
    """A length of time: `90`, `15m`, `2h`."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read it."""
        if isinstance(value, int | float):
            return float(value)
        found = _TIME.fullmatch(str(value).strip())
        if found is None or not float(found[1]):
            self.fail(f"{value!r} is no length of time; write 90, 15m or 2h", param, ctx)
        return float(found[1]) * _UNITS[found[2] or ""]


class Count(click.ParamType[int]):
    """A number of things: `50000`, `50k`, `2M`."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read it."""
        if isinstance(value, int):
            return value
        found = _COUNT.fullmatch(str(value).strip())
        number = 0 if found is None else int(float(found[1]) * _THOUSANDS[(found[2] or "").lower()])
        if not number:
            self.fail(f"{value!r} is no number above zero; write 50000, 50k or 2M", param, ctx)
        return number


_ABOVE_ZERO: Final = click.FloatRange(min=0, min_open=True)
_NOT_NEGATIVE: Final = click.FloatRange(min=0)


def _o(*names: str, **about: Any) -> Callable[[F], F]:
    return click.option(*names, **about)


OPTIONS: Final = (
    # what is done
    _o("--model", metavar="KIND:NAME", help="The model, for example openai:NAME; a task may name another one."),
    _o("--base-url", metavar="URL", help="Where the model is, if not at its provider's."),
    _o("--template", metavar="MODULE:NAME", help="A prompt template, or a function of a task that gives one."),
    _o("--section", "sections", multiple=True, metavar="NAME", help="Add a section that a plugin offers."),
    _o("--policy", "policies", multiple=True, metavar="NAME", help="Add a policy that a plugin offers."),
    _o("--check", metavar="CHECK", help="Judge what each attempt leaves: MODULE:FUNCTION, or a command in a sandbox."),
    _o("--check-time", type=Seconds(), help="How long a check may take; 10m by default."),
    _o("--attempts", type=click.IntRange(1), metavar="N", help="Attempts at each task side by side; the best is kept."),
    # where it goes
    _o("--out", metavar="DIR", help="A new directory for the batch; batches/NAME by default."),
    _o("--name", metavar="NAME", help="What the batch is called, in references of git too."),
    _o("--results", multiple=True, metavar="URL", help="Write the records also to a .jsonl or .parquet at an fsspec URL."),
    _o("--checkpoint", metavar="WHERE", help="Where final states go: bundle (default), none, origin, or a git remote."),
    _o("--no-records", is_flag=True, help="Do not keep the record of each attempt's calls."),
    # where it runs
    _o("--engine", type=click.Choice(("ray", "local")), help="Ray, or this process; Ray where it is installed."),
    _o("--address", metavar="ADDRESS", help="A Ray cluster, as in auto or HOST:PORT; a Ray of its own by default."),
    _o("--parallel", type=click.IntRange(1), metavar="N", help="At most so many attempts at once."),
    _o("--cpus", type=_ABOVE_ZERO, default=1.0, show_default=True, help="Processors that an attempt takes; 0.1 for ten on each."),
    _o("--ship", metavar="DIR", type=click.Path(exists=True, file_okay=False), help="Send DIR to every node, to import from."),
    _o("--env", "env", multiple=True, metavar="NAME", help="Give attempts this variable of the environment, as for keys."),
    _o("--cache", metavar="DIR", help="Where each node keeps what it fetches; beneath /tmp by default."),
    # how much
    _o("--retries", type=click.IntRange(0), metavar="N", help="Begin an attempt again that was lost, up to N times; 2 by default."),
    _o("--task-time", type=Seconds(), help="How long an attempt may take; 1h by default."),
    _o("--idle-time", type=Seconds(), help="How long an attempt may give no sign of life; 15m by default."),
    _o("--task-tokens", type=Count(), help="How many tokens an attempt may use."),
    _o("--task-cost", type=_ABOVE_ZERO, metavar="MONEY", help="How much an attempt may cost."),
    _o("--batch-time", type=Seconds(), help="How long all may take."),
    _o("--batch-tokens", type=Count(), help="How many tokens all may use together."),
    _o("--batch-cost", type=_ABOVE_ZERO, metavar="MONEY", help="How much all may cost together."),
    _o("--input-price", type=_NOT_NEGATIVE, metavar="MONEY", help="What a million tokens of input cost."),
    _o("--output-price", type=_NOT_NEGATIVE, metavar="MONEY", help="What a million tokens of output cost."),
    _o("--cached-price", type=_NOT_NEGATIVE, metavar="MONEY", help="What a million tokens of cached input cost."),
    _o("--requests-per-minute", type=_ABOVE_ZERO, metavar="N", help="How often all together may ask the provider."),
    _o("--tokens-per-minute", type=Count(), help="How many tokens all together may use in a minute."),
    # going on
    _o("--resume", metavar="DIR", help="Go on with the batch in DIR; limits may be given anew."),
    _o("--json", "as_json", is_flag=True, help="Print one JSON object a line, for machines."),
)  # fmt: skip


def batch_options(command: F) -> F:
    """All of them, in this order."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command
