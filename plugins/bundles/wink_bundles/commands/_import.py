"""`wink import`: a session that was written elsewhere, in a directory of its own."""

from __future__ import annotations

import os

import click

from wink.cli import echo_json, json_option, one_line


@click.command("import")
@click.argument("file")
@click.argument("directory", required=False)
@json_option
def import_(file: str, directory: str | None, as_json: bool) -> None:
    """Read the session in FILE into DIRECTORY, which must be empty or not there; by default the file's name without `.wink`.

    There it can be looked at with `wink log`, `show`, `diff`, `events` and `ui`, and nothing of it can be changed. A file
    that is damaged, or that means harm, is refused, and nothing is written.
    """
    from wink_bundles import read_bundle, write_import

    bundle = read_bundle(file)
    stem = os.path.basename(file).removesuffix(".wink")
    target = directory or (stem if stem not in ("", ".", "..", os.path.basename(file)) else bundle.manifest.session)
    history = write_import(bundle, target)
    if as_json:
        manifest, directory = bundle.manifest, os.path.abspath(target)
        chain = bundle.session.chain
        entry = {"position": chain[-1].position, "entry": chain[-1].entry} if chain else None
        echo_json(directory=directory, session=manifest.session, calls=manifest.calls, chain=entry)
        return
    click.echo(one_line(f"session {bundle.manifest.session}: {bundle.manifest.calls} calls, in {target}"))
    if bundle.session.chain:
        last = bundle.session.chain[-1]
        click.echo(f"its calls fit the chain of their record, which ends with entry {last.position}, {last.entry}")
    click.echo(one_line(f"`wink log --workspace {target}` lists them"))
    if bundle.history is not None:
        click.echo(one_line(f"`git clone {os.path.join(target, history)}` gives what they changed"))
