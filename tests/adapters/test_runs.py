"""Runs that are kept while they go on, suspended, resumed, and told that their answer is not one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from wink.adapters import (
    RETRIES,
    AgentLoop,
    Conversation,
    Exchange,
    ModelTold,
    ModelTurn,
    PromptEvaluationError,
    PromptResponse,
    ProviderAdapter,
    RunState,
    RunStateError,
    RunSuspended,
    ScriptedAdapter,
)
from wink.filesystem import Filesystem, InMemoryFilesystem
from wink.limits import TokenUsage
from wink.policies import PolicyDecision
from wink.prompt import (
    FeedbackProviderConfig,
    FeedbackTrigger,
    FileOutputChecker,
    MarkdownSection,
    Prompt,
    PromptTemplate,
    SectionVisibility,
    StaticFeedbackProvider,
)
from wink.runtime import PromptRendered, ToolCall, ToolInvoked, ToolReply
from wink.session import Session
from wink.tools import Tool, ToolContext, ToolResult


@dataclass(frozen=True, slots=True)
class Line:
    """A line to append."""

    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a run is to find out."""

    total: int


def append(params: Line, *, context: ToolContext) -> ToolResult[None]:
    """Append a line to a file."""
    context.filesystem.append("log.txt", f"{params.text}\n")
    return ToolResult(f"appended {params.text}", None)


APPEND = Tool[Line, None](name="append", description="Append a line.", handler=append)


class Asks:
    """Wants a person to look at one line."""

    name = "asks"

    def check(self, tool: Any, params: Any, *, context: ToolContext) -> PolicyDecision:
        return PolicyDecision.ask("it is b") if params.text == "b" else PolicyDecision.allow()

    def on_result(self, tool: Any, params: Any, result: Any, *, context: ToolContext) -> None:
        """Learns nothing."""


@dataclass
class Journal:
    """Keeps what it is told, as text, so that nothing but what is said survives."""

    session: Session
    steps: list[str] = field(default_factory=list[str])
    state: RunState = field(default_factory=lambda: RunState("t"))

    def turned(self, number: int, turn: ModelTurn) -> None:
        self.steps.append(f"turned {number}")
        self.state = RunState(self.state.prompt_name, self.state.exchanges, turn, (), self.state.usage + turn.usage)

    def replied(self, number: int, replies: Sequence[ToolReply], note: str) -> None:
        self.steps.append(f"replied {number} {note}".strip())
        assert self.state.turn is not None
        exchange = Exchange(self.state.turn, tuple(replies), note)
        self.state = RunState(self.state.prompt_name, (*self.state.exchanges, exchange), None, (), self.state.usage)

    def suspended(self, state: RunState) -> None:
        self.steps.append("suspended")
        self.state = state

    def stopped(self, problem: str) -> None:
        self.steps.append(f"stopped: {problem}")

    def ended(self, text: str) -> None:
        self.steps.append(f"ended: {text}")

    def executed(self, call_id: str) -> str | None:
        done = [event for event in self.session[ToolInvoked].all() if event.call_id == call_id and event.success]
        return done[-1].rendered_output if done else None


def prompt_of(files: Filesystem, **options: Any) -> Prompt:
    section = MarkdownSection(title="T", key="t", template="x", tools=[APPEND])
    return Prompt(PromptTemplate(ns="t", key="t", sections=[section], **options)).bind(resources={Filesystem: files})


def call(text: str) -> ToolCall:
    return ToolCall("append", {"text": text})


def test_a_run_that_is_asked_about_goes_on_where_it_was() -> None:
    """Its siblings ran once, before; what it waited for is asked about again, and then runs in its place."""
    files, session = InMemoryFilesystem(), Session()
    prompt = prompt_of(files, policies=[Asks()])
    adapter = ScriptedAdapter([[call("a"), call("b"), call("c")], "Done."])
    with pytest.raises(RunSuspended) as suspended:
        adapter.evaluate(prompt, session=session, approvals=Suspending())
    assert suspended.value.phase == "approval"
    assert [request.tool for request in suspended.value.requests] == ["append"]
    assert files.read("log.txt").content == "a\nc\n"

    state = RunState.from_json(suspended.value.state.to_json())
    response = adapter.evaluate(prompt_of(files), session=session, resume=state)
    assert response.text == "Done."
    assert files.read("log.txt").content == "a\nc\nb\n"


class Suspending:
    """Nobody is there to answer."""

    suspends = True

    async def answer(self, request: Any) -> None:
        return None


class Dies(ProviderAdapter):
    """A model that is gone after some answers."""

    def __init__(self, turns: Sequence[ModelTurn]) -> None:
        self.turns = list(turns)

    def respond(self, conversation: Conversation) -> ModelTurn:
        if len(conversation.exchanges) >= len(self.turns):
            raise PromptEvaluationError("the line is dead", phase="request", prompt_name="t")
        return self.turns[len(conversation.exchanges)]


def test_a_run_that_stopped_is_resumed_from_its_journal() -> None:
    """Nothing that was executed is executed again, and what was spent stays spent."""
    files, session = InMemoryFilesystem(), Session()
    journal = Journal(session)
    turns = [ModelTurn(calls=(call("a"),), usage=TokenUsage(10, 1)), ModelTurn(calls=(call("b"),))]
    with pytest.raises(PromptEvaluationError, match="the line is dead"):
        Dies(turns).evaluate(prompt_of(files), session=session, journal=journal)
    assert journal.steps == ["turned 1", "replied 1", "turned 2", "replied 2", "stopped: t: the line is dead"]

    again = RunState.from_json(journal.state.to_json())
    assert again.usage == TokenUsage(10, 1)
    Dies([*turns, ModelTurn("Done.")]).evaluate(prompt_of(files), session=session, journal=journal, resume=again)
    assert files.read("log.txt").content == "a\nb\n"
    assert journal.steps[-2:] == ["turned 3", "ended: Done."]


def test_a_run_that_died_between_its_calls_executes_the_others_only() -> None:
    """The record, not the conversation, knows what has been committed."""
    files, session = InMemoryFilesystem(), Session()
    journal = Journal(session)
    turn = ModelTurn(calls=(ToolCall("append", {"text": "a"}, "id-1"), ToolCall("append", {"text": "b"}, "id-2")))
    first = ModelTurn(calls=turn.calls[:1])
    Dies([first, ModelTurn("x")]).evaluate(prompt_of(files), session=session)

    journal.state = died = RunState("t", (), turn)
    Dies([turn, ModelTurn("Done.")]).evaluate(prompt_of(files), session=session, journal=journal, resume=died)
    assert files.read("log.txt").content == "a\nb\n"


def test_ids_are_unique_in_a_run() -> None:
    """A provider that counts from zero in each turn must not make one call look like another."""
    session = Session()
    turns = [ModelTurn(calls=(ToolCall("append", {"text": str(n)}, "call_0"),)) for n in range(3)]
    Dies([*turns, ModelTurn("Done.")]).evaluate(prompt_of(InMemoryFilesystem()), session=session)
    ids = [event.call_id for event in session[ToolInvoked].all()]
    assert ids[0] == "call_0"
    assert len(set(ids)) == 3


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": 99}', "null", '{"format":1,"prompt_name":5}'])
def test_what_is_not_a_run_is_refused(text: str) -> None:
    """With one error, whatever it is."""
    with pytest.raises(RunStateError, match="not the state of a run"):
        RunState.from_json(text)


def test_a_state_of_another_version_says_so() -> None:
    """So that nobody looks for damage."""
    text = RunState("t").to_json().replace('"format":1', '"format":2')
    with pytest.raises(RunStateError, match="format 2"):
        RunState.from_json(text)


def test_the_model_is_told_why_its_answer_cannot_be_read() -> None:
    """And the next one is the output."""
    session = Session()
    template = PromptTemplate[Answer](ns="t", key="t", sections=[MarkdownSection("T", "Count.", "t")])
    told: list[str] = []
    session.dispatcher.subscribe(ModelTold, lambda event: told.append(event.note))
    response = ScriptedAdapter(["Forty-two.", '{"total": "many"}', 'It is {"total": 42}.']).evaluate(
        Prompt(template), session=session
    )
    assert response.output == Answer(42)
    assert len(told) == 2
    assert "total" in told[1]


def test_a_model_that_never_answers_properly_ends_the_run() -> None:
    """With the last text kept in the cause."""
    template = PromptTemplate[list[Answer]](ns="t", key="t", sections=[MarkdownSection("T", "Count.", "t")])
    adapter = ScriptedAdapter(["no"] * 20)
    with pytest.raises(PromptEvaluationError) as raised:
        adapter.evaluate(Prompt(template), session=Session())
    assert raised.value.phase == "response"
    assert raised.value.__cause__ is not None
    assert getattr(raised.value.__cause__, "text", None) == "no"


def test_a_task_that_is_not_complete_goes_on() -> None:
    """Until the file is there; the checker's words are a note."""
    files = InMemoryFilesystem()
    checker = FileOutputChecker(["log.txt"])
    response = ScriptedAdapter(["Done.", call("x"), "Done now."]).evaluate(
        prompt_of(files, task_completion_checker=checker), session=Session()
    )
    assert response.text == "Done now."
    with pytest.raises(PromptEvaluationError) as raised:
        ScriptedAdapter(["Done."] * (RETRIES + 1)).evaluate(
            prompt_of(InMemoryFilesystem(), task_completion_checker=checker), session=Session()
        )
    assert raised.value.phase == "completion"
    assert "log.txt" in str(raised.value)


def test_feedback_follows_the_replies() -> None:
    """As a note of the exchange, which an adapter sends after them."""
    seen: list[Conversation] = []

    def last(conversation: Conversation) -> ModelTurn:
        seen.append(conversation)
        return ModelTurn("Done.")

    providers = [FeedbackProviderConfig(StaticFeedbackProvider("Be brief."), FeedbackTrigger(every_n_calls=2))]
    ScriptedAdapter([call("a"), call("b"), last]).evaluate(
        prompt_of(InMemoryFilesystem(), feedback_providers=providers), session=Session()
    )
    notes = [exchange.note for exchange in seen[0].exchanges]
    assert notes[0] == ""
    assert "Be brief." in notes[1]


def test_opening_a_section_goes_on_in_the_same_run() -> None:
    """The next request has its text and its tools, beside the siblings' replies."""
    hidden = MarkdownSection(
        "More",
        "The word is xyzzy.",
        "more",
        tools=[APPEND],
        summary="There is more.",
        visibility=SectionVisibility.SUMMARY,
    )
    files, session = InMemoryFilesystem(), Session()
    prompt = Prompt(PromptTemplate(ns="t", key="t", sections=[hidden])).bind(resources={Filesystem: files})
    texts: list[str] = []

    def look(conversation: Conversation) -> ModelTurn:
        texts.append(conversation.prompt.text)
        return ModelTurn(calls=(call("seen"),))

    opening = [
        ToolCall("open_sections", {"section_keys": ["more"], "reason": "to read"}),
        ToolCall("read_section", {"section_key": "more"}),
    ]
    response = ScriptedAdapter([opening, look, "Done."]).evaluate(prompt, session=session)
    assert response.text == "Done."
    assert "xyzzy" in texts[0]
    assert files.read("log.txt").content == "seen\n"
    assert [("xyzzy" in event.text) for event in session[PromptRendered].all()] == [False, True]
    assert [event.name for event in session[ToolInvoked].all()] == ["open_sections", "read_section", "append"]


def test_an_evaluation_runs_on_a_loop_beside_others() -> None:
    """Two models answer while each other's is waited for."""
    both = asyncio.Event()
    waiting = 0

    class Slow(ProviderAdapter):
        async def arespond(self, conversation: Conversation) -> ModelTurn:
            nonlocal waiting
            if not conversation.exchanges:
                waiting += 1
                if waiting == 2:
                    both.set()
                await both.wait()
                return ModelTurn(calls=(call("x"),))
            return ModelTurn("Done.")

    async def main() -> tuple[PromptResponse, ...]:
        prompts = [prompt_of(InMemoryFilesystem()) for _ in range(2)]
        return tuple(await asyncio.gather(*(Slow().aevaluate(one, session=Session()) for one in prompts)))

    assert [response.text for response in asyncio.run(main())] == ["Done.", "Done."]
    both.clear()
    waiting = 1  # an adapter with a coroutine serves callers that block, too
    assert Slow().evaluate(prompt_of(InMemoryFilesystem()), session=Session()).text == "Done."


def test_cancelling_takes_back_the_call_under_way() -> None:
    """Also one whose handler waits."""
    files = InMemoryFilesystem()
    began = threading.Event()

    async def slow(params: Line, *, context: ToolContext) -> ToolResult[None]:
        context.filesystem.write("half.txt", params.text)
        began.set()
        await asyncio.Event().wait()
        return ToolResult("never", None)

    tool = Tool[Line, None](name="slow", description="Slow.", handler=slow)
    section = MarkdownSection(title="T", key="t", template="x", tools=[tool])
    prompt = Prompt(PromptTemplate(ns="t", key="t", sections=[section])).bind(resources={Filesystem: files})

    async def main() -> None:
        adapter = ScriptedAdapter([ToolCall("slow", {"text": "x"}), "Done."])
        run = asyncio.ensure_future(adapter.aevaluate(prompt, session=Session()))
        await asyncio.to_thread(began.wait, 30)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    asyncio.run(main())
    assert not files.exists("half.txt")


def test_a_loop_serves_requests() -> None:
    """Each with a prompt and a session of its own, and cleans up after both kinds of end."""
    finished: list[str] = []

    class Greeting(AgentLoop):
        def prepare(self, request: Any) -> tuple[Prompt, Session]:
            return Prompt(PromptTemplate(ns="t", key=request, sections=[MarkdownSection("T", "Hi.", "t")])), Session()

        def finish(self, prompt: Prompt, session: Session) -> None:
            finished.append(prompt.key)

    loop = Greeting(adapter=ScriptedAdapter(["Hello."]))
    response, session = loop.execute("one")
    assert (response.text, len(session[PromptRendered])) == ("Hello.", 1)
    with pytest.raises(PromptEvaluationError):
        Greeting(adapter=Dies([])).execute("two")
    assert finished == ["one", "two"]
    with pytest.raises(NotImplementedError, match="does not override `prepare`"):
        AgentLoop(adapter=ScriptedAdapter([])).execute("three")
