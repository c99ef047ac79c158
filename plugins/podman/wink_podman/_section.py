"""The section that gives an agent a workspace in a container."""

from __future__ import annotations

import shutil
import tempfile
from typing import TYPE_CHECKING, Any, Final, Unpack

from wink.errors import PluginError, PromptValidationError
from wink.prompt import MarkdownSection, Section, SectionOptions
from wink.resources import Binding, ResourceRegistry
from wink.session import replace_latest
from wink.tools import Tool, ToolExample
from wink_podman._config import PodmanConfig
from wink_podman._guidance import guidance
from wink_podman._handlers import ContainerTools
from wink_podman._params import EvaluatePythonParams, ShellExecuteParams
from wink_podman._results import ShellExecuteResult

if TYPE_CHECKING:
    from wink.filesystem import Filesystem
    from wink.plugins import Catalog
    from wink.policies import ToolPolicy
    from wink.session import Session

FILES: Final = "files.files"
"""The offer that the file tools come from."""


class PodmanSandboxSection(MarkdownSection[Any]):
    """The file tools, `shell_execute` and `evaluate_python`, over one workspace.

    Commands run in containers of the `config`'s image (or `image`), without network, as an unprivileged user, over an overlay
    of the workspace: exit status 0 makes what they changed part of the call, any other end drops it. The workspace is the
    `Filesystem` that the prompt is bound to, which must be on the disk; where it is bound to none, an empty directory
    that is gone with the prompt.

    The file tools come from the plugin `files`, with the rule that a file must be read before it is changed unless
    `read_before_write` is false; raises `PromptValidationError` where it is not installed.
    """

    def __init__(
        self,
        session: Session | None = None,
        config: PodmanConfig | None = None,
        *,
        image: str | None = None,
        read_before_write: bool = True,
        accepts_overrides: bool = True,
        title: str = "Sandbox",
        key: str | None = None,
        catalog: Catalog | None = None,
        **options: Unpack[SectionOptions],
    ) -> None:
        if (config is None) == (image is None):
            raise PromptValidationError("give the image that commands run in, or a config with one, and not both")
        self.config = config or PodmanConfig(image=image or "")
        if not self.config.image.strip():
            raise PromptValidationError(
                "no image is named that commands run in; set image under [tool.wink.plugins.podman] in your wink.toml"
            )
        self._files = _file_tools(catalog, read_before_write=read_before_write)
        super().__init__(
            title,
            f"{self._files.render_body(None)}\n\n{guidance(self.config)}".replace("$", "$$"),
            key,
            tools=[*self._files.tools(), *_tools(ContainerTools(self.config), accepts_overrides)],
            accepts_overrides=accepts_overrides,
            **options,
        )
        if session is not None:
            self.install_once(session)

    def policies(self) -> tuple[ToolPolicy, ...]:
        """Those of the file tools: read before write, unless it was switched off."""
        return (*super().policies(), *self._files.policies())

    def install(self, session: Session) -> None:
        """Let the session keep the latest result of each kind: their texts would add up call by call."""
        self._files.install(session)
        session[ShellExecuteResult].register(ShellExecuteResult, replace_latest)

    def default_resources(self) -> ResourceRegistry:
        """A directory of its own, for prompts that are not bound to files."""
        from wink.filesystem import Filesystem

        return ResourceRegistry.of(Binding(Filesystem, lambda _: _temporary()))


def _tools(handlers: ContainerTools, accepts_overrides: bool) -> tuple[Tool[Any, Any], ...]:
    return (
        Tool[ShellExecuteParams, ShellExecuteResult](
            name="shell_execute",
            description="Run a shell command in the container; its changes are kept only if it succeeds.",
            handler=handlers.shell_execute,
            examples=(
                ToolExample(
                    description="Run the tests",
                    input=ShellExecuteParams("python3 -m unittest", timeout_seconds=300),
                    output=ShellExecuteResult(0, "exited", 1.2, "", "Ran 41 tests in 0.9s\n\nOK\n", True),
                ),
            ),
            effects="process",
            accepts_overrides=accepts_overrides,
        ),
        Tool[EvaluatePythonParams, ShellExecuteResult](
            name="evaluate_python",
            description="Run a Python script in the container; its changes are kept only if it succeeds.",
            handler=handlers.evaluate_python,
            effects="process",
            accepts_overrides=accepts_overrides,
        ),
    )


def _file_tools(catalog: Catalog | None, *, read_before_write: bool) -> Section[Any]:
    """The section of another plugin, found by what it offers: neither plugin imports the other."""
    try:
        if catalog is None:
            from wink.plugins import Catalog

            catalog = Catalog.installed()
        return catalog.use("section", FILES, read_before_write=read_before_write)
    except PluginError as error:
        raise PromptValidationError(f"the file tools cannot be had: {error}; install the plugin `files`") from error


def _temporary() -> Filesystem:
    from wink.filesystem import HostFilesystem

    class TemporaryFilesystem(HostFilesystem):
        """A directory that is removed when the prompt lets go of it."""

        __slots__ = ()

        def close(self) -> None:
            super().close()
            shutil.rmtree(self._where, ignore_errors=True)

        @property
        def _where(self) -> str:
            return place

    place = tempfile.mkdtemp(prefix="wink-sandbox-")
    return TemporaryFilesystem(place)


def podman_section(
    *,
    settings: PodmanConfig,
    catalog: Catalog | None = None,
    read_before_write: bool = True,
    title: str = "Sandbox",
) -> PodmanSandboxSection:
    """Files, shell commands and Python in a container without network; what fails is undone."""
    return PodmanSandboxSection(config=settings, catalog=catalog, read_before_write=read_before_write, title=title)
