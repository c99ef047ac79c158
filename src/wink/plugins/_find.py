"""Find the plugins that are installed, from metadata alone: nothing of theirs is imported."""

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from wink.plugins._entry_points import EntryPoint, Header, entry_points, header
from wink.plugins._info import Ignored, Offer, PluginInfo
from wink.plugins._metadata import Distribution, distributions
from wink.plugins._names import GROUPS, HOOKS_GROUP, normalized, problem_with_offer_name, problem_with_plugin_name
from wink.trust import Trust, is_inside

_REQUIRES_WINK: Final = re.compile(r"wink\s*(?:\[[^\]]*\]\s*)?(?P<range>[(<>=!~][^;]*)?(?P<marker>;.*)?", re.IGNORECASE)
_TARGET: Final = re.compile(r"\w+(?:\.\w+)*(?::\w+(?:\.\w+)*)?")


class Found(NamedTuple):
    """All plugins, sorted by name and distribution, and what was ignored."""

    plugins: tuple[PluginInfo, ...] = ()
    ignored: tuple[Ignored, ...] = ()


def find(paths: Sequence[str] | None = None, *, trust: Trust) -> Found:
    """Read the metadata of every distribution on `paths`, which is `sys.path` unless given.

    The first distribution of a name wins, as it does when it is imported. Those that `trust` objects to are ignored,
    and do not hide others of their name.
    """
    objections: dict[str, str] = {}
    winners: dict[str, Distribution] = {}
    plugins: list[PluginInfo] = []
    passed_over: list[tuple[Distribution, str]] = []
    for dist in distributions(paths):
        if dist.root not in objections:
            objections[dist.root] = trust.objection(dist.root or dist.location)
        objection = objections[dist.root]
        first = dist if objection else winners.setdefault(dist.name, dist)
        if first is dist and not objection:
            plugins += _plugins_of(dist)
        elif _offers_for_wink(dist):
            passed_over.append((dist, objection or f"hidden by {first.location}"))
    plugins.sort(key=lambda plugin: (plugin.name, normalized(plugin.distribution)))
    ignored = [
        Ignored(dist.name, dist.location, reason)
        for dist, reason in passed_over
        if not _is_the_same(dist, winners.get(dist.name))
    ]
    ignored.sort(key=lambda one: (one.distribution, one.location))
    return Found(tuple(plugins), tuple(ignored))


def _is_the_same(dist: Distribution, winner: Distribution | None) -> bool:
    """Whether both are one installation: a linked directory, or the `.egg-info` that setuptools leaves in a project."""
    if winner is None:
        return False
    place, project = os.path.realpath(dist.location), winner.project()
    if project is not None and is_inside(place, os.path.realpath(project)):
        return True
    return place == os.path.realpath(winner.location)


def _offers_for_wink(dist: Distribution) -> bytes | None:
    """The bytes of `entry_points.txt`, if one of our groups may be in it, in whatever encoding."""
    data = dist.read("entry_points.txt")
    return data if data and b"[wink." in data.replace(b" ", b"").replace(b"\0", b"") else None


def _plugins_of(dist: Distribution) -> list[PluginInfo]:
    data = _offers_for_wink(dist)
    if data is None:
        return []
    text, undecodable = _decoded(data, "entry_points.txt")
    points = [point for point in entry_points(text) if point.group.startswith("wink.")]
    unclosed = [point.target for point in points if point.target.startswith("[")]
    problems = [undecodable, *(f"entry_points.txt: {line!r} is not closed with a bracket" for line in unclosed)]
    metadata = dist.read("METADATA") or dist.read("PKG-INFO") or b""
    described, unreadable = _decoded(metadata, "METADATA")
    head = header(described)
    lacking = [field for field in ("name", "version") if not getattr(head, field)]
    if not metadata:
        unreadable = "METADATA is missing; name and version are those of the directory"
    elif not unreadable and lacking:
        unreadable = f"METADATA has no {' and no '.join(map(str.capitalize, lacking))}; the directory has"
    distribution = head.name if normalized(head.name) == dist.name else dist.name
    common = PluginInfo(
        name="",
        distribution=distribution,
        version=head.version or dist.version,
        summary="" if head.summary == "UNKNOWN" else head.summary,
        location=dist.location,
        project=dist.project(),
        requires_wink=_requires_wink(head),
        problems=tuple(filter(None, problems)),
        notes=(unreadable,) if unreadable else (),
    )
    by_plugin: dict[str, list[EntryPoint]] = {}
    for point in points:
        if point.target in unclosed and len(points) > len(unclosed):
            continue
        by_plugin.setdefault(point.name.partition(".")[0] or "?", []).append(point)
    return [_plugin(common, name, own) for name, own in by_plugin.items()]


def _plugin(common: PluginInfo, name: str, points: list[EntryPoint]) -> PluginInfo:
    offers: dict[tuple[str, str], Offer] = {}
    hooks, problems, notes = "", list(common.problems), list(common.notes)
    for point in sorted(set(points), key=lambda point: (point.group, point.name, point.target)):
        kind = GROUPS.get(point.group)
        if kind is not None:
            offer = Offer(kind, point.name, common.distribution, point.target, problem=_problem(point))
            if offer.problem:
                problems.append(offer.problem)
            if (twin := offers.get((kind, point.name))) is not None:
                problem = f"{kind} {point.name!r} is declared twice, as {twin.target} and as {point.target}"
                problems.append(problem)
                offer = replace(twin, problem=problem)
            offers[kind, point.name] = offer
        elif point.group == HOOKS_GROUP:
            if problem := _problem(point):
                problems.append(problem)
            elif hooks:
                problems.append(f"hooks are declared twice, as {hooks} and as {point.target}")
            else:
                hooks = point.target
        else:
            notes.append(f"group {point.group!r} means nothing to this version of wink")
    return replace(
        common,
        name=name,
        offers=tuple(offers[key] for key in sorted(offers)),
        hooks=hooks,
        problems=tuple(dict.fromkeys(problems)),
        notes=tuple(dict.fromkeys(notes)),
    )


def _problem(point: EntryPoint) -> str:
    """What is wrong with one entry point, as far as can be seen without importing it."""
    named = problem_with_plugin_name if point.group == HOOKS_GROUP else problem_with_offer_name
    if problem := named(point.name):
        return problem
    if not point.target:
        return f"entry point {point.name!r} in {point.group} has no target"
    if not _TARGET.fullmatch(point.target) or (point.group != HOOKS_GROUP and ":" not in point.target):
        return f"entry point {point.name!r} in {point.group}: {point.target!r} is not <module>:<attribute>"
    return ""


def _decoded(data: bytes, file: str) -> tuple[str, str]:
    """Text, and a problem if it is not UTF-8 as the packaging standards have it."""
    try:
        return data.decode(), ""
    except UnicodeDecodeError as error:
        encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
        return data.decode(encoding, errors="replace"), f"{file} is not UTF-8 (byte {error.start})"


def _requires_wink(head: Header) -> str:
    """The range of wink that is required.

    Requirements under a marker are left out: the installer judged them, and what remains here is an explanation.
    """
    ranges = [
        (match["range"] or "").strip(" ()")
        for match in map(_REQUIRES_WINK.fullmatch, head.requires)
        if match is not None and not match["marker"]
    ]
    return ",".join(filter(None, ranges))
