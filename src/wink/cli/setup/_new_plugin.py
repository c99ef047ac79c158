"""`wink new-plugin`: a package for a plugin, which installs and passes its tests at once."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Sequence

import click

from wink import __version__
from wink.cli._wrong import nearest, wrong
from wink.cli.scaffold import KINDS, Package, files_of, write_all


@click.command("new-plugin")
@click.argument("name")
@click.option(
    "--offer",
    "kinds",
    multiple=True,
    metavar="KIND",
    help=f"Write a package with tests and checks of its own that offers this: {', '.join(KINDS)}; may be given several times.",
)
@click.option(
    "--directory", default=".", metavar="PATH", help="Where to make wink-NAME; in the current directory by default."
)
@click.option("--dry-run", is_flag=True, help="Only say what would be written.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON with stable keys.")
def new_plugin(name: str, kinds: tuple[str, ...], directory: str, dry_run: bool, as_json: bool) -> None:
    """Write a package, wink-NAME, for a plugin called NAME.

    By itself that is a pyproject.toml and a module with two functions that are tools. With --offer it has a small working
    example of each kind of offer, with its tests, and passes them, ruff and mypy as it is.
    """
    kinds = _checked_kinds(kinds)
    package = Package(_checked_name(name, kinds), kinds, __version__)
    target = os.path.join(directory, package.distribution) if directory != "." else package.distribution
    _check_place(directory, target)
    files = files_of(package)
    if not dry_run:
        try:
            write_all(target, files)
        except OSError as error:
            raise wrong(
                f"cannot write {target!r}: {error.strerror or error}; nothing was written, "
                "name another place with --directory"
            ) from error
    following = f"cd {shlex.quote(target)} && {' && '.join(_trying(package))}"
    paths = [os.path.join(target, *path.split("/")) for path in files]
    if as_json:
        said = {
            "plugin": package.plugin,
            "distribution": package.distribution,
            "package": package.module,
            "directory": os.path.abspath(target),
            "offers": list(package.kinds or ("section",)),
            "files": paths,
            "next": following,
            "dry_run": dry_run,
        }
        click.echo(json.dumps(said, indent=2))
        return
    heading = "would write " if dry_run else "wrote "
    for number, path in enumerate(paths):
        click.echo(f"{heading if number == 0 else ' ' * len(heading)}{path}")
    if not dry_run:
        click.echo(f"next: {following}")


def _checked_name(name: str, kinds: Sequence[str]) -> str:
    from wink.cli._main import COMMANDS
    from wink.plugins import Catalog, normalized, problem_with_plugin_name

    if problem := problem_with_plugin_name(name):
        words = normalized("-".join(name.split()).strip("-_."))
        fits = words != name and not problem_with_plugin_name(words)
        raise wrong(f"{problem}; {f'try {words!r}' if fits else 'choose another, such as notes or git-tools'}")
    if name.startswith("wink-"):
        short = name.removeprefix("wink-")
        raise wrong(f"the package gets its wink- by itself; call the plugin {short!r}, and its package is {name}")
    if "command" in kinds and name in COMMANDS:
        raise wrong(f"`wink {name}` is a command of wink's own, and a plugin's would never run; choose another name")
    for plugin in Catalog.installed().plugins:
        if plugin.name == name and normalized(plugin.distribution) != f"wink-{name}":
            raise wrong(
                f"{plugin.distribution} {plugin.version} brings a plugin {name!r} already, and two of one name "
                "are in conflict; choose another name"
            )
    return name


def _checked_kinds(kinds: Sequence[str]) -> tuple[str, ...]:
    for kind in kinds:
        if kind not in KINDS:
            known = f"give --offer once for each of: {', '.join(KINDS)}"
            raise wrong(f"there is no kind of offer {kind!r}; {nearest(kind, KINDS, otherwise=known)}")
    return tuple(kind for kind in KINDS if kind in kinds)


def _check_place(directory: str, target: str) -> None:
    if os.path.lexists(target):
        raise wrong(f"{target!r} exists; nothing was written, move it away or name another place with --directory")
    if not os.path.isdir(directory):
        reason = "is no directory" if os.path.lexists(directory) else "does not exist"
        raise wrong(f"{directory!r} {reason}; name a directory to make {os.path.basename(target)} in")
    if not os.access(directory, os.W_OK | os.X_OK):
        raise wrong(f"{directory!r} cannot be written to; name another place with --directory")


def _trying(package: Package) -> tuple[str, ...]:
    """How to install a package, with what there is here, and to try it: by its tests, or by a call where it has none."""
    if package.kinds:
        return (*_installing(" --group test"), "pytest")
    call = f"wink call {package.prefix}_count_words path=pyproject.toml --section {package.plugin}.tools"
    return (*_installing(), call)


def _installing(group: str = "") -> tuple[str, ...]:
    from importlib import metadata

    install = f"pip install -e .{group}"
    try:
        version = metadata.version("pip")
    except metadata.PackageNotFoundError:
        return (f"uv {install}",)
    if not group:
        return (install,)
    major, _, rest = version.partition(".")
    minor = rest.partition(".")[0]
    knows_groups = (int(major), int(minor)) >= (25, 1) if major.isdecimal() and minor.isdecimal() else True
    return (install,) if knows_groups else ("pip install --upgrade pip", install)
