"""What is served: one prompt over one workspace's sessions, whatever the transport."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from wink.prompt import Prompt
from wink.session import Session
from wink_mcp._calls import Calls
from wink_mcp._server import make_server
from wink_mcp._view import Views

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server


class Serving:
    """A prompt whose tools clients may call, in the session `default` or in one that they name.

    `open_session` gives the session of a name, such as `Workspace.session`. Keep the prompt's resources open.
    """

    def __init__(
        self, prompt: Prompt[Any], open_session: Callable[[str], Session], *, default: str = "default"
    ) -> None:
        self.views = Views(prompt, open_session, default)
        self.calls = Calls(self.views)

    def server(self) -> Server[Any]:
        """A new server of the SDK that answers for this; any number may run at once."""
        return make_server(self.views, self.calls)
