"""The hooks of a plugin `release-notes`: a section for each area that the settings name, a resource, and a log."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial

from wink.plugins import SectionOffer, hookimpl
from wink.prompt import ToolsSection
from wink.resources import Binding
from wink.runtime import ToolInvoked
from wink.session import Session
from wink.tools import Tool, ToolContext, ToolResult


@dataclass(frozen=True)
class Notes:
    """What `[tool.wink.plugins.release-notes]` may hold."""

    areas: tuple[str, ...] = ("general",)
    longest: int = field(default=200, metadata={"ge": 1, "tighten": "lower"})


@dataclass(frozen=True)
class Note:
    """One line about what has changed."""

    text: str


@dataclass(frozen=True)
class Limits:
    """What the tools of this plugin keep to."""

    longest: int


def add_note(area: str, note: Note, *, context: ToolContext) -> ToolResult[Note]:
    """Write a line to an area's file, or say what is wrong with it."""
    longest = context.resources.get(Limits).longest
    if len(note.text) > longest:
        return ToolResult.error(f"a note has at most {longest} characters, this one has {len(note.text)}")
    context.filesystem.write(f"notes/{area}.md", f"* {note.text}\n", mode="append")
    return ToolResult(f"noted under {area}", note, exclude_value_from_context=True)


def notes_section(area: str) -> ToolsSection:
    """The section of one area."""
    handler = partial(add_note, area)
    tool = Tool[Note, Note](f"note_{area}", f"Note a change of {area} for the next release.", handler)
    return ToolsSection(f"Release notes: {area}", [tool], key=f"notes-{area}")


@hookimpl
def wink_settings() -> type[Notes]:
    """Which areas there are, and how long a note may be."""
    return Notes


@hookimpl
def wink_sections(settings: Notes) -> Iterable[SectionOffer]:
    """Nobody knows the areas before the settings have been read, so no entry point can name them."""
    for area in settings.areas:
        yield SectionOffer(f"release-notes.{area}", partial(notes_section, area), f"Notes about {area}.")


@hookimpl
def wink_resources(settings: Notes) -> Iterable[Binding[Limits]]:
    """The limit, for whatever tool asks for it."""
    yield Binding[Limits].instance(Limits, Limits(settings.longest))


@hookimpl
def wink_subscribe(session: Session) -> None:
    """Tell the log of every note; the argument `settings` is not needed here, so it is left out."""
    session.dispatcher.subscribe(ToolInvoked, tell)


def tell(call: ToolInvoked) -> None:
    """One line for each call of ours."""
    if call.name.startswith("note_"):
        logging.getLogger("release_notes").info("%s: %s", call.name, call.rendered_output)
