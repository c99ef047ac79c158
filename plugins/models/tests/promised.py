"""What every adapter promises, asked of one over its own SDK and a server on loopback."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import pytest
from plugins.models.tests.conftest import Agent
from plugins.models.tests.server import Server, serving
from plugins.models.tests.speaking import Say

from wink.adapters import ModelTurn, ProviderAdapter
from wink.testing import AdapterContract


def said(turn: ModelTurn) -> Say:
    """A turn as a provider would say it."""
    calls = tuple((call.name, str(call.arguments), call.call_id) for call in turn.calls)
    usage = (turn.usage.input_tokens, turn.usage.output_tokens, turn.usage.cached_tokens)
    return Say(turn.text, calls, stop="length" if turn.cut_off else "", usage=usage)


class Remote(AdapterContract):
    """An adapter whose provider is a server of ours."""

    can_be_unreachable = shows_requests = True
    provider = ""

    @pytest.fixture(autouse=True)
    def _servers(self) -> Iterator[None]:
        with ExitStack() as stack:
            self.stack, self.servers = stack, dict[ProviderAdapter, Server]()
            yield

    def make_adapter(self, turns: Sequence[ModelTurn]) -> ProviderAdapter:
        server = self.stack.enter_context(serving([said(turn) for turn in turns]))
        adapter = Agent(self.provider, streams=False).adapter(server)
        self.servers[adapter] = server
        return adapter

    def make_unreachable(self) -> ProviderAdapter:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{taken.getsockname()[1]}"  # where nobody listens
        nobody: Any = type("Nobody", (), {"url": url})()
        return Agent(self.provider, streams=False).adapter(nobody)

    def answers_sent(self, adapter: ProviderAdapter) -> Sequence[Sequence[tuple[str, str]]]:
        server = self.servers[adapter]
        assert server.problems == []
        return [self.answers(body) for body in server.bodies]

    def answers(self, body: Any) -> list[tuple[str, str]]:
        raise NotImplementedError
