"""The section that gives a prompt files to work on."""

import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Self, Unpack, cast

from wink.errors import PromptValidationError
from wink.prompt import MarkdownSection, PromptResources, SectionOptions
from wink.tools import ResourcesLike, Tool
from wink_files._offers import offered_section
from wink_files._workspace_mounts import fresh_files, mounts_of, top_of

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from wink.filesystem import Filesystem
    from wink.resources import Binding, ResourceRegistry
    from wink.session import Session

    P = TypeVar("P", default=Any)
else:
    from typing import TypeVar

    P = TypeVar("P")

__all__ = ["WorkspaceSection"]

_UNPRINTABLE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class WorkspaceSection(MarkdownSection[P]):
    """Files for the tools of a prompt, the tools to work on them, and a line about what is there.

    The files are `filesystem`, such as `HostFilesystem(root)` for a directory that is changed in place or
    `OverlayFilesystem(...)` for one that is not. Left out, each prompt gets files of its own in memory, with copies of
    `mounts`: files and directories of the host by their place in the workspace, `""` for its root. More than `max_files` or
    `max_bytes` of them are refused, not cut short; links and `.git` are not copied, and changes never come back.
    What is bound to the prompt (`Prompt.bind`) or `wink run` wins over either.

    `offers` names sections of plugins, which become children: the file tools, unless it says otherwise. A `catalog` is asked
    for them if there is one, which knows the settings.

    The text is `template`, and then what is at the top of the workspace, `max_entries` names at most. The other arguments
    are those of `MarkdownSection`.
    """

    def __init__(
        self,
        title: str = "Workspace",
        template: str = "",
        key: str | None = None,
        *,
        filesystem: "Filesystem | None" = None,
        mounts: Mapping[str, str | os.PathLike[str]] | None = None,
        offers: Sequence[str] = ("files.files",),
        catalog: Any = None,
        max_entries: int = 50,
        max_files: int = 20_000,
        max_bytes: int = 64 * 1024 * 1024,
        default_params: P | None = None,
        tools: Sequence[Tool[Any, Any]] | None = (),
        accepts_overrides: bool = True,
        **options: Unpack[SectionOptions],
    ) -> None:
        offers = (offers,) if isinstance(offers, str) else offers
        brought = [offered_section(offer, catalog, (key or title,)) for offer in offers]
        options["children"] = [*brought, *(options.get("children") or ())]
        super().__init__(
            title,
            template,
            key,
            default_params=default_params,
            tools=tools,
            accepts_overrides=accepts_overrides,
            **options,
        )
        self._mounts = mounts_of(mounts or {}, (self.key,))
        self._filesystem = self._checked(filesystem)
        self._max_entries, self._max_files, self._max_bytes = max_entries, max_files, max_bytes
        self._binding: Binding[Filesystem] | None = None

    def render_body(
        self, params: P | None, *, session: "Session | None" = None, resources: ResourcesLike | None = None
    ) -> str:
        """The template, filled in, and what the files of the prompt are."""
        text = super().render_body(params, session=session)
        return f"{text}\n\n{self._facts(resources)}".lstrip("\n")

    def resources(self) -> "ResourceRegistry":
        """The files."""
        from wink.filesystem import Filesystem
        from wink.resources import Binding, ResourceRegistry

        if self._binding is None:
            if self._filesystem is None:
                self._binding = Binding(Filesystem, lambda _: self._fresh_files())
            else:
                self._binding = Binding[Filesystem].instance(Filesystem, self._filesystem)
        return ResourceRegistry.of(self._binding)

    def clone(self, *, title: str | None = None, key: str | None = None) -> Self:
        """A copy with copies of all children; prompts get files of their own from it, unless it was given some."""
        twin = super().clone(title=title, key=key)
        twin._binding = None
        return twin

    def _fresh_files(self) -> "Filesystem":
        return fresh_files(self._mounts, max_files=self._max_files, max_bytes=self._max_bytes)

    def _checked(self, filesystem: "Filesystem | None") -> "Filesystem | None":
        if filesystem is None:
            return None
        from wink.filesystem import Filesystem

        if not isinstance(cast("object", filesystem), Filesystem):
            raise PromptValidationError(
                f"filesystem is {filesystem!r}; give a Filesystem, such as HostFilesystem(path)", (self.key,)
            )
        if self._mounts:
            raise PromptValidationError(
                "mounts are copied into files of the section's own; give mounts or a filesystem, not both", (self.key,)
            )
        return filesystem

    def _facts(self, resources: ResourcesLike | None) -> str:
        from wink.filesystem import Filesystem

        files: object = self._filesystem
        if isinstance(resources, PromptResources):
            files = resources.at_hand(Filesystem)
        elif resources is not None:  # those of a call, which sees files through a handle of its own
            files = resources.get_optional(Filesystem)
        root = "Paths are relative to the root of the workspace, with `/` between names."
        if not isinstance(files, Filesystem):
            # Nobody has needed the files yet. Those of the mounts will be copied; of others nothing is known.
            if files is not self._binding:
                return root
            return f"{root} {_at_the_top(*top_of(self._mounts, self._max_entries))}"
        entries = files.list(".", limit=self._max_entries)
        names = [f"{entry.name}/" if entry.is_directory else entry.name for entry in entries]
        fixed = " Nothing in it can be changed." if files.read_only else ""
        return f"{root}{fixed} {_at_the_top(names, entries.truncated)}"


def _at_the_top(names: Sequence[str], truncated: bool) -> str:
    if not names:
        return "It is empty."
    # Names come from outside: they must break neither their line nor the request that they are sent in.
    lines = [f"- {_UNPRINTABLE.sub(lambda found: ascii(found[0])[1:-1], name)}" for name in names]
    return "\n".join(["At the top are:", "", *lines, *(["- and more"] if truncated else [])])
