"""A section whose tools are those of an MCP server."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Self, Unpack

from wink.errors import PromptValidationError
from wink.prompt import Section, SectionOptions
from wink.serde import Extra
from wink.tools import Tool
from wink_mcp.mount._checks import checked_choice, checked_name, checked_place, checked_seconds
from wink_mcp.mount._text import section_text

if TYPE_CHECKING:
    from wink.session import Session
    from wink_mcp.mount._choice import McpEffects
    from wink_mcp.mount._listing import Listing
    from wink_mcp.mount._mount import Mount

__all__ = ["INHERITED", "McpSection"]

INHERITED: Final = ("HOME", "LANG", "LC_*", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
"""The variables that a server is given unless other names are listed."""


class McpSection(Section[Any]):
    """The tools of an MCP server, which is a program that is started (`command`), or has a URL (`url`).

    `McpSection("time", command=["mcp-server-time"])` brings `time_get_current_time` and whatever else the server has. The
    server is started, or asked, when a prompt with the section is first rendered, and its tools are those that it has at
    each rendering. Its instructions become the section's text. One that cannot be reached costs its own calls, not the
    prompt. It ends with `cleanup()`, and with the program at the latest, however that ends.

    * `prefix` goes before the tools' names, the section's name unless given; `rename` maps the server's names to others.
    * `tools` are the server's names of those that are wanted, all if left out; `deny` those that are not. Both take
      patterns such as `get_*`.
    * `effects`: a mounted tool counts as `external`, which cannot be undone and runs by itself. Say `read` for those that
      change nothing, for all or in a mapping by the server's names; `trust_hints` takes the server's word for it.
    * `extra`: what becomes of arguments that the server's schema does not know: `forbid`, `ignore` or `allow` (sent along).
    * `timeout` is how many seconds a call may take, `connect_timeout` how many the server has to answer at first.
    * `env` are variables for the program, `inherit` the names of those that it gets from us (they may end in `*`).
      Nothing else reaches it. `cwd` is where it runs: `/` unless given, because many programs obey files in their
      directory, and an agent can write into a workspace.
    * `headers` are sent with each request to a URL.
    * `instructions=False` leaves the server's own guidance out of the text.
    * `message_bytes` bounds what the server sends at once.

    The rest is as in `Section`. Nothing that the server does outside can be rolled back when a call fails.
    """

    def __init__(
        self,
        name: str,
        *,
        command: Sequence[str] | None = None,
        url: str | None = None,
        title: str | None = None,
        key: str | None = None,
        prefix: str | None = None,
        tools: Sequence[str] | None = None,
        deny: Sequence[str] = (),
        rename: Mapping[str, str] | None = None,
        effects: McpEffects | Mapping[str, McpEffects] = "external",
        trust_hints: bool = False,
        extra: Extra = "forbid",
        timeout: float = 60.0,
        connect_timeout: float = 30.0,
        env: Mapping[str, str] | None = None,
        inherit: Sequence[str] = INHERITED,
        cwd: str | os.PathLike[str] = "/",
        headers: Mapping[str, str] | None = None,
        instructions: bool = True,
        message_bytes: int = 16 << 20,
        **options: Unpack[SectionOptions],
    ) -> None:
        self.name = checked_name(name)
        super().__init__(
            title or f"Tools of {name}",
            key or checked_name(name),
            accepts_overrides=False,
            **options,
        )
        self._place = checked_place(
            name, command=command, url=url, env=env, inherit=inherit, cwd=os.fspath(cwd), headers=headers
        )
        self._choice = checked_choice(
            name, prefix=prefix, tools=tools, deny=deny, rename=rename, effects=effects, trust_hints=trust_hints, extra=extra
        )  # fmt: skip
        self._timeout = checked_seconds(name, "timeout", timeout)
        self._connect_timeout = checked_seconds(name, "connect_timeout", connect_timeout)
        if isinstance(message_bytes, bool) or not isinstance(message_bytes, int) or message_bytes < 1024:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise PromptValidationError(f"message_bytes is a number from 1024 up, not {message_bytes!r}", (self.key,))
        self._message_bytes, self._instructions = message_bytes, instructions
        self._mount: Mount | None = None
        self._shown: tuple[Listing | None, str] = (None, "")

    def connect(self) -> tuple[Tool[Any, Any], ...]:
        """Reach the server and give its tools; raises `McpServerFailed` where a rendering would go on without them."""
        listing = self._mounted().connect()
        self._shown = listing, ""
        return listing.tools

    @property
    def problems(self) -> tuple[str, ...]:
        """What of the server's tools cannot be used, and why, as of the last listing."""
        listing, trouble = self._shown
        known = () if listing is None else listing.problems
        return (*known, trouble) if trouble else known

    def tools(self) -> tuple[Tool[Any, Any], ...]:
        """None: which tools there are is known when a prompt is rendered."""
        return ()

    def current_tools(self) -> Sequence[Tool[Any, Any]]:
        """The tools that the server has now, or had last if it cannot be asked."""
        listing, trouble = self._mounted().listing()
        self._shown = listing, trouble
        return listing.tools

    def render_body(self, params: Any, *, session: Session | None = None) -> str:  # noqa: ARG002
        """What the server says about its tools, marked as its own words."""
        listing, trouble = self._shown
        return section_text(self.name, listing, trouble, instructions=self._instructions)

    def cleanup(self) -> None:
        """End the connection, and the server if we started it; the next use starts it again."""
        if self._mount is not None:
            self._mount.close()

    def clone(self, *, title: str | None = None, key: str | None = None) -> Self:
        """A copy with a connection of its own."""
        twin = super().clone(title=title, key=key)
        twin._mount, twin._shown = None, (None, "")
        return twin

    def _mounted(self) -> Mount:
        if self._mount is None:
            from wink_mcp.mount._mount import Mount

            self._mount = Mount(
                self.name,
                self._place.opener(self.name, self._message_bytes),
                self._choice,
                timeout=self._timeout,
                connect_timeout=self._connect_timeout,
            )
        return self._mount
