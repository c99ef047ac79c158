"""Keep overrides as JSON files beneath a directory, where people can read, edit, compare and share them."""

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from wink.errors import PromptOverrideError
from wink.prompt.overrides import PromptDescriptor
from wink_overrides._fit import Misfit, fit
from wink_overrides._format import as_json, from_json
from wink_overrides._merging import merged, with_hashes
from wink_overrides._overlay import unusable
from wink_overrides._place import Place, checked_name
from wink_overrides._present import present
from wink_overrides._reports import Reports, place_of
from wink_overrides._values import PromptOverride, SectionOverride, TaskExampleOverride, ToolOverride, section_path

if TYPE_CHECKING:
    from wink.prompt import Prompt, PromptTemplate

    Described = Prompt[Any] | PromptTemplate[Any]

__all__ = ["LocalPromptOverridesStore"]


class LocalPromptOverridesStore:
    """Overrides in `.wink/prompts/overrides/{ns}/{key}/{tag}.json` beneath a root.

    `root_path` is by default the nearest directory with a `.git`, at or above the current one, or else the current one;
    it is settled when the store is made. Whoever makes a store trusts what lies beneath its root: do not make one for a
    directory that came from a stranger, whose texts would then speak to the model in your name.

    Writers take a lock and replace the file in one step, so that any number of processes may share a store. A file that
    cannot be read, and parts that no longer fit, are left out with a `PromptOverrideWarning`, once; a link on the way to
    a file is not followed.
    """

    def __init__(self, root_path: "str | os.PathLike[str] | None" = None) -> None:
        self.root: str = _nearest_repository() if root_path is None else os.path.abspath(os.fspath(root_path))
        self._place = Place(self.root)
        self._reports = Reports()
        self._resolved: dict[tuple[str, ...], tuple[str, PromptDescriptor, PromptOverride]] = {}

    # What a prompt asks.

    def resolve(self, descriptor: PromptDescriptor, tag: str = "latest") -> PromptOverride | None:
        """What a tag says and fits the template as it is now; `None` when that is nothing."""
        parts = _parts(descriptor.ns, descriptor.key, tag)
        where = place_of(descriptor.ns, descriptor.key, tag)
        try:
            text = self._place.read(parts, tag)
            if text is None:
                return None
            known = self._resolved.get((*parts, tag))
            if known is None or known[:2] != (text, descriptor):
                override, misfits = from_json(text, ns=descriptor.ns, prompt_key=descriptor.key, tag=tag)
                kept, more = fit(override, descriptor)
                self._reports.add(where, (*misfits, *more))
                self._resolved[(*parts, tag)] = known = (text, descriptor, kept)
        except PromptOverrideError as error:
            self._reports.say(where, f"{self._place.path(parts, tag)} {error.message}")
            return None
        return known[2] or None

    # What people change.

    def upsert(self, descriptor: PromptDescriptor, override: PromptOverride) -> PromptOverride:
        """Keep what `override` says, beside what its tag says of other parts; gives all that the tag says now.

        Hashes that are left empty become those of the present code. Raises `PromptOverrideError`, and changes nothing,
        when a part does not fit, or when the file there is damaged: nobody's work is written over.
        """
        return self._add(descriptor, with_hashes(override, descriptor))

    def store(
        self,
        prompt: "Described | PromptDescriptor",
        override: PromptOverride | SectionOverride | ToolOverride | TaskExampleOverride,
        *,
        tag: str = "latest",
    ) -> PromptOverride:
        """Keep one part, such as a `SectionOverride` with its `path`; otherwise like `upsert`.

        Given the prompt or its template, not only its descriptor, examples are checked against their types as well.
        """
        descriptor = prompt if isinstance(prompt, PromptDescriptor) else PromptDescriptor.from_prompt(prompt)
        whole = with_hashes(_whole(descriptor, override, tag), descriptor)
        if not isinstance(prompt, PromptDescriptor):
            _refuse(unusable(prompt, whole), descriptor, whole.tag)
        return self._add(descriptor, whole)

    def set_section_override(
        self,
        prompt: "Described | PromptDescriptor",
        *,
        path: "str | tuple[str, ...]",
        body: str,
        summary: str | None = None,
        tag: str = "latest",
    ) -> PromptOverride:
        """Keep another text for the section at `path`, written against the text that the code has now."""
        return self.store(prompt, SectionOverride("", body, summary, section_path(path)), tag=tag)

    def seed(self, prompt: "Described", *, tag: str = "latest") -> PromptOverride:
        """Keep what the code says now, as a starting point to edit; what the tag says already stays."""
        descriptor = PromptDescriptor.from_prompt(prompt)
        parts = _parts(descriptor.ns, descriptor.key, tag)
        with self._place.locked():
            before = self._to_change(descriptor.ns, descriptor.key, tag)
            after = merged(present(prompt, tag), before)
            if after != before:
                self._place.write(parts, tag, as_json(after))
        return after

    def delete(
        self,
        *,
        ns: str,
        prompt_key: str,
        tag: str,
        section: "str | tuple[str, ...] | None" = None,
        tool: str | None = None,
    ) -> bool:
        """Forget all that a tag says, or only what it says of a section or a tool; whether there was something."""
        parts = _parts(ns, prompt_key, tag)
        if tag not in self._place.tags(parts):
            return False
        with self._place.locked():
            if section is None and tool is None:
                return self._place.remove(parts, tag)
            before = self._to_change(ns, prompt_key, tag)
            path = None if section is None else section_path(section)
            after = PromptOverride(
                ns,
                prompt_key,
                tag,
                {key: one for key, one in before.sections.items() if key != path},
                {name: one for name, one in before.tool_overrides.items() if name != tool},
                tuple(one for one in before.task_example_overrides if one.path != path),
            )
            if not after:
                self._place.remove(parts, tag)
            elif after != before:
                self._place.write(parts, tag, as_json(after))
            return after != before

    # What people look at.

    def load(self, *, ns: str, prompt_key: str, tag: str = "latest") -> PromptOverride | None:
        """All that a tag says, whether it fits or not. Raises `PromptOverrideError` when the file is damaged."""
        parts = _parts(ns, prompt_key, tag)
        try:
            text = self._place.read(parts, tag)
            if text is None:
                return None
            override, misfits = from_json(text, ns=ns, prompt_key=prompt_key, tag=tag)
        except PromptOverrideError as error:
            raise PromptOverrideError(f"{self._place.path(parts, tag)} {error.message}") from None
        if misfits:
            raise PromptOverrideError("is damaged", self._place.path(parts, tag), [str(one) for one in misfits])
        return override

    def tags(self, *, ns: str, prompt_key: str) -> tuple[str, ...]:
        """The tags under which something is kept for a template, in order of the alphabet."""
        return self._place.tags(_parts(ns, prompt_key, "latest"))

    def stored(self) -> tuple[tuple[str, str, str], ...]:
        """Namespace, key and tag of everything that is kept, for whatever template."""
        return tuple(("/".join(parts[:-1]), parts[-1], tag) for parts, tag in self._place.files())

    def path(self, *, ns: str, prompt_key: str, tag: str = "latest") -> str:
        """The file in which a tag's overrides are kept, or would be."""
        return self._place.path(_parts(ns, prompt_key, tag), tag)

    def _to_change(self, ns: str, prompt_key: str, tag: str) -> PromptOverride:
        """What a tag says, of which nothing may get lost by writing it again."""
        try:
            found = self.load(ns=ns, prompt_key=prompt_key, tag=tag)
        except PromptOverrideError as error:
            raise PromptOverrideError(f"{error}; fix the file, or delete the tag {tag!r}") from None
        return PromptOverride(ns, prompt_key, tag) if found is None else found

    def _add(self, descriptor: PromptDescriptor, override: PromptOverride) -> PromptOverride:
        tag = override.tag
        parts = _parts(descriptor.ns, descriptor.key, tag)
        _refuse(fit(override, descriptor)[1], descriptor, tag)
        with self._place.locked():
            before = self._to_change(descriptor.ns, descriptor.key, tag)
            after = merged(before, override)
            text = as_json(after)
            # What we would not read again must not be written.
            _refuse(from_json(text, ns=after.ns, prompt_key=after.prompt_key, tag=tag)[1], descriptor, tag)
            if after != before:
                self._place.write(parts, tag, text)
        return after

    def __repr__(self) -> str:
        return f"LocalPromptOverridesStore({self.root!r})"


def _parts(ns: str, prompt_key: str, tag: str) -> tuple[str, ...]:
    """The directories of a template, when all that goes into the path can be a part of one."""
    checked_name("tag", tag)
    return (
        *(checked_name("namespace's part", part) for part in ns.split("/")),
        checked_name("template's key", prompt_key),
    )


def _whole(descriptor: PromptDescriptor, override: Any, tag: str) -> PromptOverride:
    if isinstance(override, PromptOverride):
        return override
    if isinstance(override, SectionOverride):
        if not override.path:
            raise PromptOverrideError("which section is it? pass path= to SectionOverride")
        return PromptOverride(descriptor.ns, descriptor.key, tag, sections={override.path: override})
    if isinstance(override, ToolOverride):
        return PromptOverride(descriptor.ns, descriptor.key, tag, tool_overrides={override.name: override})
    if isinstance(override, TaskExampleOverride):
        return PromptOverride(descriptor.ns, descriptor.key, tag, task_example_overrides=(override,))
    raise PromptOverrideError(f"{override!r} is no override; give a SectionOverride, ToolOverride or PromptOverride")


def _refuse(misfits: Iterable[Misfit], descriptor: PromptDescriptor, tag: str) -> None:
    problems = [str(misfit) for misfit in misfits]
    if problems:
        raise PromptOverrideError("cannot be stored", place_of(descriptor.ns, descriptor.key, tag), problems)


def _nearest_repository() -> str:
    here = directory = os.path.abspath(os.curdir)
    while not os.path.lexists(os.path.join(directory, ".git")):
        above = os.path.dirname(directory)
        if above == directory:
            return here
        directory = above
    return directory
