"""`wink verify`: whether the record is what wink wrote."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from wink.cli import echo_json, json_option, one_line, opened_for_reading, workspace_option, wrong
from wink.cli.work import counting

if TYPE_CHECKING:
    from wink_verify import Verdict


@click.command()
@workspace_option
@click.option(
    "--trust", "trusts", is_flag=True, help="Keep the head of the record as it is now, in the place of what was kept."
)
@json_option
def verify(workspace: str, trusts: bool, as_json: bool) -> None:
    """Check that the record is what wink wrote: nothing changed, removed, swapped, cut off or put in since.

    Each entry of the record, a transaction with its calls, is committed to the one before it, and the last one is kept outside
    of the workspace, in your own directory. The first entry that does not fit is named, and up to where the record is
    vouched for. Exits with 1 where something does not fit.
    """
    from wink_verify import trust
    from wink_verify import verify as verified

    with opened_for_reading(workspace) as opened, counting("{} entries") as count:
        verdict = (trust if trusts else verified)(opened, progress=count)
        if trusts and not verdict.entry and verdict.fits:
            raise wrong("--trust keeps the head of a chain, and this record has none yet; the next call begins it")
    if as_json:
        echo_json(**json_of(verdict))
    else:
        for line in told(verdict, trusted=trusts):
            click.echo(one_line(line))
    if not verdict.fits:
        click.get_current_context().exit(1)


def json_of(verdict: Verdict) -> dict[str, Any]:
    """What was found, for machines; hashes as hexadecimal."""
    return {"fits": verdict.fits, **asdict(verdict), "entry": verdict.entry.hex()}


def told(verdict: Verdict, *, trusted: bool = False) -> Iterator[str]:
    """What was found, in lines."""
    if verdict.fits:
        yield f"the record fits: {verdict.upto} entries, up to c{verdict.call}" if verdict.upto else "no entries yet"
    else:
        yield f"entry {verdict.position}, {_after(verdict)}, does not fit: {verdict.problem}"
        yield (
            f"up to entry {verdict.upto} each entry fits the one before it"
            if verdict.upto
            else "nothing is vouched for"
        )
    if verdict.kept:
        yield f"up to entry {verdict.kept} they are vouched for by the head that was kept outside of the workspace"
    elif verdict.upto and verdict.fits and not trusted:
        yield "no head was kept outside of the workspace, so that all of it could have been written anew"
    if trusted and verdict.fits:
        yield f"the head at entry {verdict.upto} is kept from now on, in the place of what was kept before"
    if verdict.forgotten:
        yield f"entries up to {verdict.forgotten} were forgotten; what stays is committed to them"
    if verdict.unchained:
        yield f"entries up to {verdict.unchained} were written before there was a chain, and are not vouched for"
    if verdict.contents or verdict.gone or verdict.unknown:
        parts = f"{verdict.contents} are what earlier calls left", f"{verdict.gone} are not kept any more"
        yield f"of contents that calls replaced {', '.join(parts)}, and {verdict.unknown} were no call's"


def _after(verdict: Verdict) -> str:
    return f"after c{verdict.call}" if verdict.call else "the first"
