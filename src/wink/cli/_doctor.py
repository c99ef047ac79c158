"""`wink doctor`: what this machine can do for wink, and how to get what it lacks."""

from __future__ import annotations

import json
import os
from typing import Final

import click

from wink.cli._calls import workspace_option
from wink.cli._shorten import visible
from wink.cli._wrong import wrong
from wink.sandbox import probe

FAILED: Final = 1


@click.command()
@workspace_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON for machines, one finding a line.")
def doctor(workspace: str, as_json: bool) -> int:
    """Check what programs can be confined with here, how files are kept in the workspace, and what is missing.

    The exit status is 1 where programs cannot be confined.
    """
    if not os.path.isdir(workspace):
        raise wrong(f"--workspace {workspace!r} is not a directory")
    report = probe()
    findings = [(one.name, one.has, one.detail, one.remedy) for one in report.features]
    findings += _files(workspace)
    for name, has, detail, remedy in findings:
        if as_json:
            click.echo(json.dumps({"name": name, "ok": has, "detail": detail, "remedy": "" if has else remedy}))
            continue
        click.echo(visible(f"{'ok' if has else '--'}  {name}{': ' if detail else ''}{detail}"))
        if not has and remedy:
            click.echo(visible(f"      {remedy}"))
    guard = report.guard
    if not as_json:
        able = (
            f"programs are run under the {guard} guard" if guard else "programs cannot be confined here and are not run"
        )
        click.echo(f"\n{able}")
    return 0 if guard else FAILED


def _files(workspace: str) -> list[tuple[str, bool, str, str]]:
    """How paths are kept inside the workspace."""
    from wink.filesystem import HostFilesystem

    try:
        with HostFilesystem(workspace, read_only=True) as files:
            level = files.level
    except OSError as error:
        return [("workspace", False, error.strerror or str(error), "")]
    by = (
        "the kernel keeps every path inside the workspace"
        if level == "openat2"
        else "wink walks every path step by step"
    )
    return [("paths", True, f"{level}: {by}", "")]
