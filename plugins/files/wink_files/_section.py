"""The section that gives an agent files to work on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from wink.errors import PromptValidationError
from wink.prompt import MarkdownSection, SectionOptions
from wink.resources import Binding, ResourceRegistry
from wink.session import replace_latest
from wink_files._config import HostMount, VfsConfig
from wink_files._guidance import GUIDANCE, IGNORING, READ_FIRST
from wink_files._mounts import copy_in, find_source
from wink_files._results import RESULTS
from wink_files._rule import read_before_write_rule
from wink_files._tools import file_tools

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wink.filesystem import Filesystem
    from wink.plugins import Catalog
    from wink.policies import ToolPolicy
    from wink.session import Session


class VfsToolsSection(MarkdownSection[Any]):
    """The file tools: `ls`, `read_file`, `read_bytes`, `glob`, `grep`, `write_file`, `write_bytes`, `edit_file` and more.

    They work on the `Filesystem` that the prompt is bound to, such as a workspace's. Where it is bound to none, the section
    brings its own: the `filesystem` given here, otherwise a new one in memory for each prompt, which the mounts of
    `config` are copied into.

    Unless `read_before_write` is false, the tools are governed by the policy that the plugin `read-before-write` offers,
    to the `catalog` where there is one; if it is not installed, a template with this section is refused. A `session` is
    prepared at once, others when a prompt with the section is first rendered for them. Raises `PromptValidationError` for a
    mount that does not exist or is not allowed.
    """

    def __init__(
        self,
        filesystem: Filesystem | None = None,
        config: VfsConfig | None = None,
        *,
        mounts: Sequence[HostMount] = (),
        read_before_write: bool = True,
        accepts_overrides: bool = True,
        title: str = "Files",
        key: str | None = None,
        catalog: Catalog | None = None,
        session: Session | None = None,
        **options: Unpack[SectionOptions],
    ) -> None:
        self.config = config or VfsConfig()
        self._sources = tuple(
            find_source(mount, self.config.allowed_host_roots) for mount in (*self.config.mounts, *mounts)
        )
        if filesystem is not None and self._sources:
            raise PromptValidationError(
                "mounts are copied into the section's own files; give mounts or a filesystem, not both"
            )
        self._filesystem = filesystem
        self._catalog = catalog
        self._read_before_write = read_before_write
        super().__init__(
            title,
            self._guidance().replace("$", "$$"),
            key,
            tools=file_tools(self.config, accepts_overrides=accepts_overrides),
            accepts_overrides=accepts_overrides,
            **options,
        )
        if session is not None:
            self.install_once(session)

    def _guidance(self) -> str:
        """How to use the tools, and what holds for all of them here."""
        parts = [GUIDANCE]
        if self.config.respect_ignore_files:
            parts.append(IGNORING)
        if self._read_before_write:
            parts.append(READ_FIRST)
        return "\n\n".join(parts)

    def policies(self) -> tuple[ToolPolicy, ...]:
        """Read before write, unless it was switched off; raises `PromptValidationError` when nobody offers it."""
        return (
            (*super().policies(), read_before_write_rule(self.key, self._catalog))
            if self._read_before_write
            else super().policies()
        )

    def install(self, session: Session) -> None:
        """Let the session keep the latest result of each kind: their content would add up call by call."""
        for kind in RESULTS:
            session[kind].register(kind, replace_latest)

    def resources(self) -> ResourceRegistry | None:
        """The files that the section was given."""
        from wink.filesystem import Filesystem

        if self._filesystem is not None:
            return ResourceRegistry.of(Binding[Filesystem].instance(Filesystem, self._filesystem))
        return self._own_files() if self._sources else None

    def default_resources(self) -> ResourceRegistry | None:
        """Empty files, where nobody else has any."""
        return None if self._filesystem is not None or self._sources else self._own_files()

    def _own_files(self) -> ResourceRegistry:
        from wink.filesystem import Filesystem

        return ResourceRegistry.of(Binding(Filesystem, lambda _: self._fresh_files()))

    def _fresh_files(self) -> Filesystem:
        from wink.filesystem import InMemoryFilesystem

        files = InMemoryFilesystem()
        for source in self._sources:
            copy_in(source, files)
        return files


def files_section(
    *,
    catalog: Catalog | None = None,
    config: VfsConfig | None = None,
    mounts: Sequence[HostMount] = (),
    read_before_write: bool = True,
    title: str = "Files",
) -> VfsToolsSection:
    """Let the agent list, read, search, write, edit, move, link and delete files."""
    return VfsToolsSection(
        config=config, mounts=mounts, read_before_write=read_before_write, title=title, catalog=catalog
    )
