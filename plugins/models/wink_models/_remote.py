"""What all models behind a network have in common: attempts, waiting between them, and errors in plain words."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import re
from abc import abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, ClassVar, Final
from weakref import WeakKeyDictionary, finalize

from wink.adapters import Conversation, ModelDelta, ModelTurn, ProviderAdapter, RequestFailed, RequestSent
from wink.dataclass import dataclass, field, replace
from wink.errors import ModelUnusable, PromptEvaluationError
from wink.limits import utc_now
from wink_models._background import BackgroundLoop
from wink_models._wire import encodable

TIMEOUT_SECONDS: Final = 600.0
RETRIES: Final = 5
"""How often a request that failed is sent again."""

_Clients = WeakKeyDictionary[asyncio.AbstractEventLoop, "tuple[Any, AsyncGenerator[None]]"]

_log: Final = logging.getLogger("wink.adapters")
_INDEX: Final = re.compile(r"\btools?[.\[](\d+)")
_LONGEST_WAIT: Final = 600.0
_LONGEST_TEXT: Final = 600
_EMPTY_ANSWERS: Final = 2
_REST_SECONDS: Final = 1.0
_SHORTEST_SECRET: Final = 6


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How a model is reached. Times are in seconds; `retries` is how often a failed request is sent again.

    `headers` are sent with each request, and `options` are further fields of its body, such as `temperature`.
    `max_output_tokens` limits one answer; None leaves it to the provider, or, where the protocol demands a limit, to the
    adapter. Without `stream` the answer comes in one piece.
    """

    base_url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    timeout: float = TIMEOUT_SECONDS
    retries: int = RETRIES
    stream: bool = True
    max_output_tokens: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        if not self.timeout > 0:
            raise ValueError(f"timeout is {self.timeout}; it is a number of seconds above zero")
        if self.retries < 0:
            raise ValueError(f"retries is {self.retries}; it cannot be negative")
        if self.max_output_tokens is not None and self.max_output_tokens < 1:
            raise ValueError(f"max_output_tokens is {self.max_output_tokens}; it is a positive number")
        try:
            json.dumps(dict(self.options), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"options cannot be written as JSON: {error}") from error

    def changed(self, **changes: Any) -> ModelSettings:
        """The same with some fields changed; one that is None stays as it is. Raises `TypeError` for a field that there is not."""
        return replace(self, **{name: value for name, value in changes.items() if value is not None})


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a request failed, in words that hold no key; `after` is how long the server wants to be left alone, in seconds."""

    text: str
    is_passing: bool
    after: float | None = None
    is_refused: bool = False
    """Whether the provider found the request itself wrong."""


class AnswerCut(Exception):
    """The answer ended before it was complete."""


class RemoteAdapter(ProviderAdapter):
    """A model of a provider; subclasses know one protocol each.

    A request that failed in passing (429, 5xx, a broken or silent connection, an answer cut in the middle) is sent again,
    after as long as the server asks for, up to the settings' `retries` and the run's deadline. Nothing of a failed answer is
    executed. An adapter may be used from several threads, and on several event loops.
    """

    provider: ClassVar[str]
    optional: ClassVar[Mapping[str, str]] = {}
    """Fields of a request that it can do without, and kinds of content (`images`, `audio`) that it can put into words.

    Each comes with a word by which servers that do not take it refuse it.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        settings: ModelSettings | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        if not model.strip():
            raise ModelUnusable(self.provider, "no model was named; say which, as in openai:gpt-5")
        self.model = model
        self.settings = ModelSettings() if settings is None else settings
        self.api_key = api_key
        """The key that was given; None leaves it to the SDK, which looks for one in the environment."""
        self._sleep = sleep
        self._background = BackgroundLoop()
        self._secrets: frozenset[str] = frozenset()
        self.refused: tuple[str, ...] = ()
        """The tools that the provider would not take; they are left out of every request."""
        self.left_out: frozenset[str] = frozenset()
        """The fields among `optional` that the server would not take."""
        self._clients: _Clients = WeakKeyDictionary()
        self._end = finalize(self, _let_go, self._background, self._clients)

    @property
    def more(self) -> dict[str, Any] | None:
        """Further fields of the request's body; also such as the SDK does not know."""
        return dict(self.settings.options) or None

    def check(self) -> None:
        """Raise `ExtraMissing` or `ModelUnusable` now if the model cannot be asked for want of its SDK or a key."""
        self._made()

    def close(self) -> None:
        """Close the connections that blocking calls have opened; the adapter can be used again."""
        _let_go(self._background, self._clients)

    async def aclose(self) -> None:
        """Close the connections that were opened on the running event loop; its end closes them too."""
        kept = self._clients.pop(asyncio.get_running_loop(), None)
        if kept is not None:
            await kept[1].aclose()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r})"

    # What subclasses know.

    @abstractmethod
    def client(self) -> Any:
        """A client of the provider's SDK; raises `ExtraMissing` and `ModelUnusable`."""

    @abstractmethod
    def request(self, conversation: Conversation) -> dict[str, Any]:
        """The body of the request that continues a conversation."""

    @abstractmethod
    async def answer(self, client: Any, request: dict[str, Any], tell: Callable[[str, str], object]) -> ModelTurn:
        """Send a request and put the answer together; `tell` takes kind and text of each piece that arrives."""

    @abstractmethod
    def problem(self, error: Exception) -> Problem | None:
        """What an exception of the SDK comes to; None for one that is not of the network's or the provider's making."""

    # The attempts.

    def respond(self, conversation: Conversation) -> ModelTurn:
        """Ask the model; raises `PromptEvaluationError`, phase `request` or `deadline`."""
        try:
            return self._background.run(self.arespond(conversation))
        except ConnectionAbortedError:
            raise self._failed(conversation.prompt.prompt_name, "the adapter was closed meanwhile", 1) from None

    async def arespond(self, conversation: Conversation) -> ModelTurn:
        """Ask the model, on the running event loop; raises like `respond`."""
        request, empty = encodable(self.request(conversation)), 0
        name = conversation.prompt.prompt_name
        attempt = 0
        while True:
            attempt += 1
            conversation.tell(RequestSent(name, self.model, attempt, utc_now()))
            try:
                turn = await self._once(conversation, request, attempt)
            except Exception as error:
                found = self._problem(error)
                if found is None:
                    raise
                problem = found
            else:
                if turn.text.strip() or turn.calls or turn.cut_off or empty >= _EMPTY_ANSWERS:
                    return turn
                empty += 1
                problem = Problem("the answer was empty", is_passing=True, after=0.0)
            wait = self._wait(problem, attempt)
            if problem.is_refused and (unwanted := self._unwanted(problem.text)):
                self.left_out |= unwanted
                request, wait = encodable(self.request(conversation)), 0.0
            elif problem.is_refused and (blamed := _blamed(problem.text, request)) is not None:
                # One bad tool must not fail every request.
                _log.warning("%s does not take the tool %r, which is left out: %s", self.provider, blamed, problem.text)
                self.refused = (*self.refused, blamed)
                request, wait = encodable(self.request(conversation)), 0.0
            conversation.tell(RequestFailed(name, self.model, attempt, problem.text, wait, utc_now()))
            # What the SDK raised is no cause to show: it holds the request with its key, and what the server made of it.
            if wait is None:
                raise self._failed(name, problem.text, attempt)
            deadline = conversation.prompt.deadline
            if deadline is not None and deadline.remaining().total_seconds() <= wait:
                text = f"{problem.text}; the deadline is too near to try again"
                raise PromptEvaluationError(text, phase="deadline", prompt_name=name)
            await self._sleep(wait)

    async def _once(self, conversation: Conversation, request: dict[str, Any], attempt: int) -> ModelTurn:
        name, deadline = conversation.prompt.prompt_name, conversation.prompt.deadline

        def tell(kind: Any, text: str) -> None:
            if text:
                conversation.tell(ModelDelta(name, kind, text, attempt))

        limit = asyncio.timeout(None if deadline is None else max(0.0, deadline.remaining().total_seconds()))
        try:
            async with limit:
                client = await self._client()
                try:
                    return await self.answer(client, request, tell)
                except (
                    AttributeError,
                    LookupError,
                    TypeError,
                    RecursionError,
                ) as error:  # an answer that is none of the protocol's
                    raise AnswerCut(f"it makes no sense ({type(error).__name__}: {error})") from error
        except TimeoutError:
            if not limit.expired():
                raise
        text = "the deadline passed while the model was answering"
        raise PromptEvaluationError(text, phase="deadline", prompt_name=name)

    async def _client(self) -> Any:
        """The client of the running loop: connections belong to the loop that opened them."""
        loop = asyncio.get_running_loop()
        kept = self._clients.get(loop)
        if kept is None:
            for other in [other for other in self._clients if other.is_closed()]:
                self._clients.pop(other, None)
            client = self._made()
            # A loop that ends closes the generators that were begun on it, and so the connections.
            self._clients[loop] = kept = client, _open(client, loop, self._clients)
            await anext(kept[1])
        return kept[0]

    def _made(self) -> Any:
        """A client whose key can be sent, and is known from now on."""
        client = self.client()
        # The SDK may have found a key by itself; some servers repeat what they were sent in their complaints.
        keys = [getattr(client, name, None) for name in ("api_key", "auth_token")]
        sent = [value for value in (*keys, *self.settings.headers.values()) if isinstance(value, str)]
        if any(not value.isascii() or not value.isprintable() or value != value.strip() for value in sent):
            # Said here: the error of whoever would send it shows it.
            problem = "its key or a header has a character that cannot be sent; look for spaces, line ends and quotes"
            raise ModelUnusable(self.provider, problem)
        words = {word for value in sent for word in (value, *value.split())}
        self._secrets |= {word for word in words if len(word) >= _SHORTEST_SECRET}
        return client

    def _problem(self, error: Exception) -> Problem | None:
        if isinstance(error, PromptEvaluationError | ModelUnusable):
            return None
        if isinstance(error, AnswerCut):
            found = Problem(f"the answer broke off: {error}", is_passing=True)
        elif isinstance(error, TimeoutError | ConnectionError):
            found = Problem(f"the connection failed: {type(error).__name__}", is_passing=True)
        else:
            found = self.problem(error)
        if found is None:
            return None
        text = found.text
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, "***")
        if found.is_passing and (found.after or 0) > _LONGEST_WAIT:
            found = replace(found, is_passing=False)
            text = f"{text[:_LONGEST_TEXT]} (not to be asked again for {found.after:.0f} s)"
        return replace(found, text=text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…")

    def _unwanted(self, text: str) -> set[str]:
        found = {name for name, word in self.optional.items() if word in text.lower()}
        return found - self.left_out

    def _wait(self, problem: Problem, attempt: int) -> float | None:
        """How long to wait before the next attempt; None when there is none."""
        if not problem.is_passing or attempt > self.settings.retries:
            return None
        if problem.after is not None:
            return problem.after
        return min(0.5 * 2 ** (attempt - 1), 8.0) * random.uniform(0.75, 1.0)  # noqa: S311  no secret

    def _failed(self, name: str, text: str, attempts: int) -> PromptEvaluationError:
        often = f" ({attempts} attempts)" if attempts > 1 else ""
        return PromptEvaluationError(f"{self.provider}: {text}{often}", phase="request", prompt_name=name)


async def _open(client: Any, loop: asyncio.AbstractEventLoop, clients: _Clients) -> AsyncGenerator[None]:
    """Closes a client when the generator is closed."""
    try:
        yield
    finally:
        clients.pop(loop, None)
        await client.close()


@asynccontextmanager
async def reading(stream: Any) -> AsyncGenerator[None]:
    """Read what is left of a stream when whoever reads it has enough, or cannot go on.

    Left half-read it would be closed by the collector of garbage, on any thread. A server that does not end it is not waited
    for; neither is one when the run is cancelled.
    """
    try:
        yield
    except Exception:
        await _to_its_end(stream)
        raise
    else:
        await _to_its_end(stream)


async def _to_its_end(stream: Any) -> None:
    with suppress(Exception):  # foreign code: the connection, of which nothing is wanted any more
        async with asyncio.timeout(_REST_SECONDS):
            async for _ in stream:
                pass


def _let_go(background: BackgroundLoop, clients: _Clients) -> None:
    kept = None if background.loop is None else clients.pop(background.loop, None)
    background.close(*(() if kept is None else (kept[1].aclose,)))


def _blamed(text: str, request: Mapping[str, Any]) -> str | None:
    """The tool that a provider's complaint about a request is about, if it is about one."""
    tools: list[dict[str, Any]] = request.get("tools") or []
    names = [str(tool.get("name") or tool.get("function", {}).get("name")) for tool in tools]
    found = _INDEX.search(text)
    if found is not None and int(found[1]) < len(names):
        return names[int(found[1])]
    if "schema" not in text and "function" not in text and "tool" not in text:
        return None
    named = [name for name in names if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)]
    return named[0] if len(named) == 1 else None
