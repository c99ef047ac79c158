"""`wink batch compare`: did the second batch do better?"""

from __future__ import annotations

import json
from typing import Final

import click

from wink.cli import one_line
from wink_batch import Batch
from wink_batch import compare as compared

_SHOWN: Final = 30
_LEVEL: Final = 0.05


@click.command()
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, for machines.")
def compare(first: str, second: str, as_json: bool) -> None:
    """Hold the batches in the directories A and B against each other, task by task.

    A task is solved when its checker says so, or, without a checker, when it was done. Whether the difference may be chance
    is told by McNemar's exact test, over the tasks that are over in both.
    """
    one, two = Batch(first), Batch(second)
    found = compared(one.results, two.results)
    if as_json:
        click.echo(json.dumps({"before": one.plan.name, "after": two.plan.name, "comparison": found.to_json()}))
        return
    if found.before is None or found.after is None:
        click.echo("no task is over in both and could be judged")
    else:
        click.echo(one_line(f"A {one.plan.name}: {found.before}"))
        click.echo(one_line(f"B {two.plan.name}: {found.after}"))
        verdict = "hardly chance" if found.p_value < _LEVEL else "may be chance"
        click.echo(
            f"B solved {len(found.better)} that A did not, A {len(found.worse)} that B did not; p = {found.p_value:.4f}, {verdict}"
        )
        for word, names in (("only B", found.better), ("only A", found.worse)):
            for name in names[:_SHOWN]:
                click.echo(one_line(f"  {word}: {name}"))
            if len(names) > _SHOWN:
                click.echo(f"  and {len(names) - _SHOWN} more")
        cost = f", cost {found.cost:+.4f}" if found.cost else ""
        click.echo(f"B to A: {found.tokens:+d} tokens{cost}, {found.seconds:+.1f} s")
    for word, names in (
        ("only in A", found.only_before),
        ("only in B", found.only_after),
        ("not judged", found.unjudged),
    ):
        if names:
            click.echo(one_line(f"{word}: {', '.join(names[:_SHOWN])}{' …' if len(names) > _SHOWN else ''}"))
