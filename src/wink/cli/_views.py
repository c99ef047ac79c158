"""What plugins add to `wink doctor`, `diff`, `gc`, `status` and `explain`, under the entry points `wink.doctor`, `wink.diffs`, `wink.gc`, `wink.status` and `wink.explain`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, cast

import click

from wink.cli._foreign import printing_to_stderr
from wink.cli._shorten import one_line
from wink.errors import OfferBroken, UnknownTry, WinkError

if TYPE_CHECKING:
    from wink.filesystem import FileChange
    from wink.plugins import Catalog, Kind, Offer, PluginInfo
    from wink.workspace import Workspace


ENDS: Final[dict[str, str]] = {"allow": "allowed", "deny": "denied", "ask": "needs a person's approval"}
"""How what is answered ends, for people."""


class Finding(NamedTuple):
    """One thing that is as it should be or not; `remedy` says how to get what is missing.

    Findings of one `group` are shown together, below its name.
    """

    group: str
    name: str
    ok: bool
    detail: str = ""
    remedy: str = ""


class Checkup(NamedTuple):
    """What a plugin found for `wink doctor`: the function `(workspace: str) -> Checkup` of an entry point `wink.doctor`.

    `summary` is a line that is told last; where it is not `ok`, the exit status is 1. Values of settings do not belong into
    findings, which are made to be pasted into a report of a bug.
    """

    findings: tuple[Finding, ...]
    summary: str = ""
    ok: bool = True


class Pending(NamedTuple):
    """Changes that are not the workspace's yet: what the function of an entry point `wink.diffs` gives to `wink diff`.

    That is `(workspace: Workspace, name: str | None) -> Pending | None`. For None as `name` it gives what there is, or None;
    for a name that it does not know it raises `UnknownTry`. For `wink diff --home` it is called with
    `home=True` too, and for `wink diff --conflicts`, which shows what others have changed since, with `conflicts=True`. `title` is the line that is told above the changes.
    """

    changes: tuple[FileChange, ...]
    title: str


class Verdict(NamedTuple):
    """What `who` does about a path or a host, for `wink explain`: it lets it be read, written or reached, or not, or asks a person.

    `who` is a tool, or a command of wink's such as `wink try`. `origin` is the file and the line of the rule or the entry of
    settings that decides, `rule` what that says; both are empty where nothing that a person has written decides.
    """

    who: str
    does: Literal["call", "read", "write", "reach"]
    answer: Literal["allow", "deny", "ask"]
    reason: str = ""
    origin: str = ""
    rule: str = ""


def checkups(catalog: Catalog, workspace: str) -> Iterator[Checkup]:
    """What each plugin in use finds, wink's own first; one that cannot say it is a finding."""
    for plugin, offer in _offers(catalog, "checkup"):
        made, problem = None, plugin.reason
        if plugin.usable:
            try:
                with printing_to_stderr():
                    made = catalog.use("checkup", offer.name, workspace=workspace)
                problem = "" if _is_checkup(made) else f"{offer.target} did not return a Checkup of Findings"
            except WinkError as error:
                problem = str(error)
        if problem or made is None:
            remedy = f"wink plugins why {offer.plugin}"
            finding = Finding(offer.plugin, offer.name, ok=False, detail=problem, remedy=remedy)
            made = Checkup((finding,), ok=plugin.is_foreign or plugin.state == "disabled")
        elif plugin.is_foreign:
            # Under its own name: what wink itself has found is nobody else's to say.
            findings = (one._replace(group=f"{offer.plugin}: {one.group}") for one in made.findings)
            made = made._replace(findings=tuple(findings))
        yield made


def pending(catalog: Catalog, workspace: Workspace, name: str | None, **asked: bool) -> Pending | None:
    """The changes of this name, or those that there are; wink's own plugins are asked first, and others where those know none.

    A plugin of another package that cannot say it costs a line, and so does one of wink's own that is switched off. Raises
    `UnknownTry`, and what else wink's own say of the workspace or the name.
    """
    known: list[str] = []
    asked = {what: True for what in asked if asked[what]}  # only who asks for it needs plugins that have it
    for plugin, offer in _offers(catalog, "diff"):
        problem = f"{offer.name} is not asked: {plugin.reason}"
        if plugin.usable:
            try:
                with printing_to_stderr():
                    found: Any = catalog.use("diff", offer.name, workspace=workspace, name=name, **asked)
            except OfferBroken as error:
                if isinstance(cause := error.__cause__, UnknownTry):
                    known += cause.known
                    continue
                if not plugin.is_foreign:
                    raise cause if isinstance(cause, WinkError | click.ClickException | OSError) else error from None
                problem = str(error)
            else:
                if found is None:
                    continue
                if _is_pending(found):
                    return found
                problem = f"{offer.target} did not return a Pending"
        click.echo(one_line(f"wink: {problem}"), err=True)
    if name is not None:
        raise UnknownTry(name, known)
    return None


def collections(catalog: Catalog, workspace: Workspace, *, dry_run: bool) -> Iterator[str]:
    """What each plugin in use frees, or with `dry_run` would, a line each; one that cannot say it is a line too.

    An entry point `wink.gc` is a function `(workspace: Workspace, dry_run: bool) -> str`, which gives the line, or "".
    """
    return _lines(catalog, "collection", "frees nothing", workspace=workspace, dry_run=dry_run)


def standings(catalog: Catalog, workspace: Workspace) -> Iterator[str]:
    """What each plugin in use has to tell of a workspace that is not settled, for `wink status`; one that cannot say it is a line too.

    An entry point `wink.status` is a function `(workspace: Workspace) -> str`, which gives lines, or "".
    """
    return _lines(catalog, "standing", "is not asked", workspace=workspace)


def explanations(
    catalog: Catalog, workspace: str, about: Literal["path", "host"], subjects: Sequence[str], *, look_up: bool
) -> tuple[tuple[Verdict, ...], ...]:
    """What each plugin in use says about some paths or hosts, for each of them; one that cannot say it costs a line.

    An entry point `wink.explain` is a function `(workspace: str, about: str, subjects: Sequence[str], look_up: bool)`, which gives
    for each subject a tuple of `Verdict`. `workspace` is a real path; `about` is `path`, and each subject the normalised path of
    one in the workspace or an absolute one, or `host`, and each is HOST or HOST:PORT. Only with `look_up` may a name be looked up.
    Raises what wink's own say of the workspace or a subject.
    """
    found: list[tuple[Verdict, ...]] = [()] * len(subjects)
    for plugin, offer in _offers(catalog, "explanation"):
        problem = f"{offer.name} is not asked: {plugin.reason}"
        if plugin.usable:
            asked: Any = {"workspace": workspace, "about": about, "subjects": subjects, "look_up": look_up}
            try:
                with printing_to_stderr():
                    said: Any = catalog.use("explanation", offer.name, **asked)
            except OfferBroken as error:
                cause = error.__cause__
                if not plugin.is_foreign and isinstance(cause, WinkError | click.ClickException | OSError):
                    raise cause from None
                problem = str(error)
            else:
                if _are_verdicts(said, len(subjects)):
                    if plugin.is_foreign:
                        said = [[one._replace(who=f"{offer.plugin}: {one.who}") for one in each] for each in said]
                    found = [(*before, *new) for before, new in zip(found, said, strict=True)]
                    continue
                problem = f"{offer.target} did not return a tuple of Verdicts for each"
        click.echo(one_line(f"wink: {problem}"), err=True)
    return tuple(found)


def _lines(catalog: Catalog, kind: Literal["collection", "standing"], otherwise: str, **asked: Any) -> Iterator[str]:
    for plugin, offer in _offers(catalog, kind):
        said: Any = f"wink: {offer.name} {otherwise}: {plugin.reason}"
        if plugin.usable:
            try:
                with printing_to_stderr():
                    said = catalog.use(kind, offer.name, **asked)
                said = said if isinstance(said, str) else f"wink: {offer.target} did not return text"
            except WinkError as error:
                said = f"wink: {error}"
        yield from said.splitlines()


def _is_checkup(made: Any) -> bool:
    """Whether all of it can be shown; a plugin may not have looked at what it makes."""
    if type(made) is not Checkup or type(made.findings) is not tuple or type(made.ok) is not bool:
        return False
    if any(type(one) is not Finding for one in made.findings):
        return False
    texts = [made.summary, *(text for one in made.findings for text in (one.group, one.name, one.detail, one.remedy))]
    return all(type(text) is str for text in texts)


def _are_verdicts(made: object, number: int) -> bool:
    several: list[object] = list(cast("tuple[object, ...]", made)) if isinstance(made, tuple) else [None]
    if len(several) != number or not all(isinstance(verdicts, tuple) for verdicts in several):
        return False
    each = [one for verdicts in several for one in cast("tuple[object, ...]", verdicts)]
    return all(
        isinstance(one, Verdict) and all(type(text) is str for text in one) and one.answer in ENDS for one in each
    )


def _is_pending(made: Any) -> bool:
    from wink.filesystem import FileChange

    if type(made) is not Pending or type(made.changes) is not tuple or type(made.title) is not str:
        return False
    return all(isinstance(one, FileChange) for one in cast("tuple[object, ...]", made.changes))


def _offers(catalog: Catalog, kind: Kind) -> list[tuple[PluginInfo, Offer]]:
    """Those of wink's own plugins, then those of others that may be used; no hook is asked, so nothing is imported."""
    plugins = [plugin for plugin in catalog.plugins if plugin.usable or not plugin.is_foreign]
    plugins.sort(key=lambda plugin: plugin.is_foreign)
    return [(plugin, offer) for plugin in plugins for offer in plugin.offers if offer.kind == kind]
