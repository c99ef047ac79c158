"""Feedback that a model is given while it works."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from wink.adapters import Conversation, ModelTurn, ScriptedAdapter
from wink.errors import CommitFailed, PromptValidationError
from wink.filesystem import Filesystem, InMemoryFilesystem
from wink.limits import Deadline
from wink.prompt import (
    DeadlineFeedback,
    Feedback,
    FeedbackContext,
    FeedbackProvider,
    FeedbackProviderConfig,
    FeedbackTrigger,
    FileCreatedTrigger,
    MarkdownSection,
    Prompt,
    PromptTemplate,
    StaticFeedbackProvider,
    Tool,
    ToolContext,
    ToolResult,
    collect_feedback,
    watch_feedback,
)
from wink.prompt.guardrails import FeedbackMark, FeedbackWatch
from wink.runtime import ToolCall, ToolExecutor
from wink.session import Session, Snapshot
from wink.workspace import Workspace

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Path:
    """Which file to write."""

    path: str = "out.txt"


def write(params: Path, *, context: ToolContext) -> ToolResult[None]:
    context.filesystem.write(params.path, "x")
    return ToolResult.ok(None, message="written")


def look(params: None, *, context: ToolContext) -> ToolResult[None]:
    return ToolResult.ok(None, message="seen")


def fail(params: None, *, context: ToolContext) -> ToolResult[None]:
    raise ValueError("no")


TOOLS = (
    Tool[Path, None](name="write", description="Write a file.", handler=write),
    Tool[None, None](name="look", description="Look.", handler=look),
    Tool[None, None](name="fail", description="Fail.", handler=fail),
)


def prompt_with(*configs: FeedbackProviderConfig, key: str = "p", files: Filesystem | None = None) -> Prompt[Any]:
    template = PromptTemplate(
        ns="tests",
        key=key,
        sections=[MarkdownSection("Work", "Work.", tools=TOOLS)],
        feedback_providers=configs,
        resources={Filesystem: files or InMemoryFilesystem()},
    )
    return Prompt(template)


def says(text: str, **trigger: Any) -> FeedbackProviderConfig:
    return FeedbackProviderConfig(StaticFeedbackProvider(text), FeedbackTrigger(**trigger))


@dataclass
class Run:
    """A run whose calls and time a test makes pass."""

    prompt: Prompt[Any]
    session: Session = field(default_factory=Session)
    now: datetime = NOON
    deadline: Deadline | None = None

    def __post_init__(self) -> None:
        watch_feedback(prompt=self.prompt, session=self.session, clock=self.clock)

    def clock(self) -> datetime:
        return self.now

    def call(self, name: str = "look", **arguments: Any) -> None:
        rendered = self.prompt.render(session=self.session)
        ToolExecutor(prompt=self.prompt, rendered=rendered, session=self.session).execute(ToolCall(name, arguments))

    def collect(self) -> str:
        return collect_feedback(prompt=self.prompt, session=self.session, deadline=self.deadline, clock=self.clock)

    def turn(self, calls: int = 1, seconds: float = 0) -> str:
        for _ in range(calls):
            self.call()
        self.now += timedelta(seconds=seconds)
        return self.collect()


class Speaker:
    """A provider that a test puts together."""

    name = "Speaker"

    def __init__(
        self,
        provide: Callable[[FeedbackContext], Any] = lambda context: Feedback("spoken"),
        should_run: Callable[[FeedbackContext], bool] = lambda context: True,
    ) -> None:
        self._provide, self._should_run = provide, should_run

    def should_run(self, *, context: FeedbackContext) -> bool:
        return self._should_run(context)

    def provide(self, *, context: FeedbackContext) -> Feedback:
        return self._provide(context)


class AsyncShould(Speaker):
    async def should_run(self, *, context: FeedbackContext) -> bool:  # type: ignore[override]
        return False


class AsyncProvide(Speaker):
    async def provide(self, *, context: FeedbackContext) -> Feedback:  # type: ignore[override]
        return Feedback("never")


class Unreadable(Feedback):
    def render(self) -> str:
        raise ValueError("no words")


# -- what the model reads


def test_feedback_reads_as_a_message() -> None:
    """The model must see who speaks, how much it matters, and what to do."""
    feedback = Feedback(
        summary="Nothing has been written for 12 calls.",
        observations=["12 calls only read."],
        suggestions=["Write what you know.", "Then go on."],
        severity="warning",
        provider_name="Progress",
    )

    assert feedback.render() == (
        "[Feedback from Progress, warning]\nNothing has been written for 12 calls.\n\n"
        "Observations:\n- 12 calls only read.\n\n"
        "Suggestions:\n- Write what you know.\n- Then go on."
    )
    assert Feedback("Only this.").render() == "[Feedback]\nOnly this."


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Feedback("  "), "summary is '  '"),
        (lambda: Feedback("x", suggestions="do"), "suggestions is one text; pass a list"),
        (lambda: Feedback("x", severity="fatal"), "severity is 'fatal'; use 'info'"),
        (lambda: FeedbackTrigger(), "never fire; give it every_n_calls, every_n_seconds or on_file_created"),
        (lambda: FeedbackTrigger(every_n_calls=0), "every_n_calls is 0; use a whole number from 1"),
        (lambda: FeedbackTrigger(every_n_calls=True), "every_n_calls is True"),
        (lambda: FeedbackTrigger(every_n_calls=1.5), "every_n_calls is 1.5"),
        (lambda: FeedbackTrigger(every_n_seconds=0), "every_n_seconds is 0; use a number of seconds above 0"),
        (lambda: FeedbackTrigger(every_n_seconds=float("nan")), "every_n_seconds is nan"),
        (lambda: FeedbackTrigger(every_n_seconds="5"), "every_n_seconds is '5'"),
        (lambda: FeedbackTrigger(on_file_created=""), "filename is ''; name the file"),
        (lambda: FileCreatedTrigger(5), "filename is 5"),
        (lambda: DeadlineFeedback(warning_threshold_seconds=-1), "warning_threshold_seconds is -1"),
        (
            lambda: FeedbackProviderConfig(Speaker, FeedbackTrigger(every_n_calls=1)),
            "is no feedback provider; it needs",
        ),
        (lambda: FeedbackProviderConfig(object(), FeedbackTrigger(every_n_calls=1)), "is no feedback provider"),
        (lambda: FeedbackProviderConfig(Speaker(), 5), r"trigger is 5; pass a FeedbackTrigger"),
        (
            lambda: FeedbackProviderConfig(AsyncShould(), FeedbackTrigger(every_n_calls=1)),
            "should_run of the feedback provider AsyncShould is a coroutine function; make it a plain one",
        ),
        (
            lambda: FeedbackProviderConfig(AsyncProvide(), FeedbackTrigger(every_n_calls=1)),
            "provide of the feedback provider AsyncProvide is a coroutine function",
        ),
        (lambda: prompt_with(Speaker()), "in feedback_providers is no FeedbackProviderConfig"),
    ],
)
def test_mistakes_are_told_when_they_are_made(make: Callable[[], object], says: str) -> None:
    """A guardrail that silently does nothing is worse than none."""
    with pytest.raises((PromptValidationError, ValueError), match=says):
        make()


def test_static_feedback_is_a_text_or_a_feedback() -> None:
    """Anything else is refused at once."""
    assert StaticFeedbackProvider("Hello.").feedback == Feedback("Hello.")
    assert isinstance(StaticFeedbackProvider("Hello."), FeedbackProvider)
    assert StaticFeedbackProvider(Feedback("Hello.", provider_name="Me")).name == "Me"
    with pytest.raises(TypeError, match="feedback is 5; pass a text or a Feedback"):
        StaticFeedbackProvider(5)  # type: ignore[arg-type]


# -- triggers


def test_a_prompt_without_providers_is_told_nothing() -> None:
    """And its session holds nothing of it."""
    run = Run(prompt_with())
    assert run.turn(5) == ""
    assert run.session[FeedbackMark].all() == ()


def test_every_n_calls_counts_from_the_last_feedback() -> None:
    """Of this provider; a turn may make several calls at once."""
    run = Run(prompt_with(says("three", every_n_calls=3)))

    assert [bool(run.turn(calls)) for calls in (1, 1, 1, 1, 4, 2, 1)] == [False, False, True, False, True, False, True]
    assert [feedback.calls for feedback in run.session[Feedback]] == [3, 8, 11]


def test_failed_and_unknown_calls_count() -> None:
    """A model that fails again and again needs the feedback most."""
    run = Run(prompt_with(says("three", every_n_calls=3)))
    run.call("fail")
    run.call("nothing_of_that_name")
    run.call("look", bad="argument")
    assert "three" in run.collect()


def test_calls_before_the_prompt_was_evaluated_do_not_count() -> None:
    """The session may have seen another prompt's."""
    session = Session()
    Run(prompt_with(), session).turn(10)
    run = Run(prompt_with(says("three", every_n_calls=3), key="late"), session)

    assert [bool(run.turn()) for _ in range(4)] == [False, False, True, False]


def test_every_n_seconds_goes_by_the_clock_that_it_is_given() -> None:
    """From the beginning of the evaluation, then from the last feedback."""
    run = Run(prompt_with(says("minute", every_n_seconds=60)))

    assert [bool(run.turn(1, seconds)) for seconds in (59, 1, 59.5, 0.5, 120, 30)] == [
        False,
        True,
        False,
        True,
        True,
        False,
    ]


def test_a_deadline_brings_its_clock() -> None:
    """Nobody has to pass the same clock twice."""
    now = [NOON]
    deadline = Deadline(NOON + timedelta(hours=1), clock=lambda: now[0])
    session, prompt = Session(), prompt_with(says("minute", every_n_seconds=60))
    assert collect_feedback(prompt=prompt, session=session, deadline=deadline) == ""
    now[0] += timedelta(minutes=1)
    assert "minute" in collect_feedback(prompt=prompt, session=session, deadline=deadline)


def test_a_file_fires_once_when_it_has_appeared() -> None:
    """Not again when it goes and comes back."""
    run = Run(prompt_with(says("there", on_file_created="out.txt")))

    assert run.turn() == ""
    run.call("write")
    assert run.collect() == "[Feedback from Static]\nthere"
    assert run.turn() == ""
    files = run.prompt.filesystem()
    assert files is not None
    files.delete("out.txt")
    assert run.turn() == ""
    files.write("out.txt", "again")
    assert run.turn() == ""


def test_a_file_trigger_is_armed_again_by_what_takes_the_file_back() -> None:
    """State goes back with the snapshot that it belongs to."""
    run = Run(prompt_with(says("there", on_file_created=FileCreatedTrigger("out.txt"))))
    before = run.session.snapshot()
    run.call("write")
    assert run.collect()
    run.session.restore(before)
    assert run.collect()


def test_conditions_are_alternatives() -> None:
    """Any of them fires, and the others then count from there."""
    run = Run(prompt_with(says("any", every_n_calls=3, every_n_seconds=60, on_file_created="out.txt")))

    run.call("write")
    assert run.collect()
    assert [bool(run.turn()) for _ in range(3)] == [False, False, True]
    assert [bool(run.turn(1, seconds)) for seconds in (30, 30)] == [False, True]


def test_providers_speak_in_order_each_by_its_own_trigger() -> None:
    """Two of one kind do not count for each other."""
    run = Run(prompt_with(says("every", every_n_calls=1), says("second", every_n_calls=2)))

    assert run.turn() == "[Feedback from Static]\nevery"
    assert run.turn() == "[Feedback from Static]\nevery\n\n[Feedback from Static]\nsecond"
    assert len(run.session[FeedbackMark]) == 2


def test_a_provider_that_has_nothing_to_say_is_asked_again() -> None:
    """Its trigger stays due."""
    answers = iter([False, False, True])
    run = Run(
        prompt_with(
            FeedbackProviderConfig(Speaker(should_run=lambda context: next(answers)), FeedbackTrigger(every_n_calls=2))
        )
    )

    assert [bool(run.turn()) for _ in range(5)] == [False, False, False, True, False]


@dataclass(frozen=True)
class Turn:
    """What happens before the providers are asked, and whether this one has something to say."""

    calls: int
    seconds: int
    file: bool
    talks: bool


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.builds(Turn, st.integers(0, 3), st.integers(0, 40), st.booleans(), st.booleans()), max_size=12),
    st.none() | st.integers(1, 5),
    st.none() | st.integers(1, 90),
    st.booleans(),
)
def test_triggers_against_a_counter(
    turns: list[Turn], every_n_calls: int | None, every_n_seconds: int | None, on_file: bool
) -> None:
    """Whatever the turns look like: it fires as soon as a condition holds, and counts from there."""
    assume(every_n_calls is not None or every_n_seconds is not None or on_file)
    trigger = FeedbackTrigger(every_n_calls, every_n_seconds, "out.txt" if on_file else None)
    talks = [False]
    run = Run(prompt_with(FeedbackProviderConfig(Speaker(should_run=lambda context: talks[0]), trigger)))
    files = run.prompt.filesystem()
    assert files is not None
    calls = seconds = 0
    seen = False
    for turn in turns:
        if turn.file:
            files.write("out.txt", "x")
        elif files.exists("out.txt"):
            files.delete("out.txt")
        talks[0] = turn.talks
        said = run.turn(turn.calls, turn.seconds)

        calls, seconds = calls + turn.calls, seconds + turn.seconds
        appeared = on_file and turn.file and not seen
        due = (
            appeared
            or (every_n_calls is not None and calls >= every_n_calls)
            or (every_n_seconds is not None and seconds >= every_n_seconds)
        )
        assert bool(said) is (due and turn.talks)
        if said:
            calls = seconds = 0
            seen = seen or appeared


# -- what providers are given, and what becomes of what they say


def test_a_provider_sees_the_run() -> None:
    """Session, files, deadline and what happened since it last spoke."""
    seen: list[FeedbackContext] = []

    def provide(context: FeedbackContext) -> Feedback:
        seen.append(context)
        return Feedback("noted", provider_name="Other name")

    run = Run(prompt_with(FeedbackProviderConfig(Speaker(provide), FeedbackTrigger(every_n_calls=2))))
    run.deadline = Deadline(NOON, clock=run.clock)
    run.turn(2, 5)
    run.turn(3, 7)

    first, second = seen
    assert (first.session, first.prompt, first.deadline) == (run.session, run.prompt, run.deadline)
    assert first.filesystem is run.prompt.filesystem()
    assert (first.calls, first.calls_since, first.seconds_since) == (2, 2, 5.0)
    assert (second.calls, second.calls_since, second.seconds_since) == (5, 3, 7.0)
    assert second.now == NOON + timedelta(seconds=12)
    assert second.last_feedback == run.session[Feedback].latest()


def test_what_was_said_is_kept_and_told_to_subscribers() -> None:
    """With who said it, where, when, and after how many calls."""
    run, heard = Run(prompt_with(says("hello", every_n_calls=1))), list[Feedback]()
    run.session.dispatcher.subscribe(Feedback, heard.append)
    run.turn(1, 3)

    expected = Feedback("hello", provider_name="Static", prompt_name="p", calls=1, at=NOON + timedelta(seconds=3))
    assert run.session[Feedback].all() == (expected,)
    assert heard == [expected]


@pytest.mark.parametrize(
    "speaker",
    [
        Speaker(should_run=lambda context: 1 // 0),
        Speaker(provide=lambda context: 1 // 0),
        Speaker(provide=lambda context: "a text"),
        Speaker(provide=lambda context: None),
        Speaker(provide=lambda context: Unreadable("x")),
    ],
    ids=["should_run", "provide", "text", "nothing", "unreadable"],
)
def test_a_provider_that_fails_is_logged_and_passed_over(speaker: Speaker, caplog: pytest.LogCaptureFixture) -> None:
    """The others speak, the run goes on, and it is tried again only when its trigger fires again."""
    run = Run(
        prompt_with(
            FeedbackProviderConfig(speaker, FeedbackTrigger(every_n_calls=2)), says("still here", every_n_calls=1)
        )
    )
    with caplog.at_level(logging.ERROR, "wink.prompt"):
        assert [run.turn() for _ in range(4)] == ["[Feedback from Static]\nstill here"] * 4
    assert len(caplog.records) == 2
    assert "feedback of 'Speaker'" in caplog.text


def test_a_filesystem_that_fails_is_no_reason_to_stop(caplog: pytest.LogCaptureFixture) -> None:
    """It is looked at again after the next turn."""

    class Broken(type(InMemoryFilesystem())):  # type: ignore[misc]
        def exists(self, path: str) -> bool:
            raise OSError("gone")

    run = Run(prompt_with(says("there", on_file_created="out.txt"), says("still here", every_n_calls=1)))
    broken = Broken.__new__(Broken)
    text = collect_feedback(prompt=run.prompt, session=run.session, filesystem=broken, clock=run.clock)
    assert text == ""
    assert "looking for the file failed" in caplog.text


def test_threads_that_evaluate_side_by_side_are_not_told_twice() -> None:
    """Whose trigger fired speaks once."""
    run = Run(prompt_with(says("once", every_n_calls=8)))
    run.turn(7)
    run.call()
    ready, said = threading.Barrier(8), list[str]()

    def work() -> None:
        ready.wait(30)
        said.append(run.collect())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert sorted(said) == [""] * 7 + ["[Feedback from Static]\nonce"]


def test_the_time_left_is_told_and_becomes_a_warning() -> None:
    """Only a run with a deadline is told of it."""
    config = FeedbackProviderConfig(DeadlineFeedback(warning_threshold_seconds=60), FeedbackTrigger(every_n_calls=1))
    run = Run(prompt_with(config))
    assert run.turn() == ""

    run.deadline = Deadline(NOON + timedelta(seconds=3700), clock=run.clock)
    assert run.turn() == "[Feedback from Deadline]\nYou have 1 hour 1 minute left."
    assert run.turn(1, 3640).startswith(
        "[Feedback from Deadline, warning]\nYou have 1 minute left.\n\nSuggestions:\n- "
    )
    assert run.turn(1, 60).startswith("[Feedback from Deadline, warning]\nThe deadline has passed.")
    assert (
        DeadlineFeedback().provide(context=FeedbackContext(run.session, run.prompt)).summary == "There is no deadline."
    )


# -- what lasts


def test_what_was_remembered_survives_json() -> None:
    """A snapshot of a session with feedback can be stored and read."""
    run = Run(prompt_with(says("x", every_n_calls=1), says("there", on_file_created="out.txt")))
    run.call("write")
    run.collect()
    other = Session()
    other.restore(Snapshot.from_json(run.session.snapshot().to_json()), preserve_logs=False)

    for cls in (Feedback, FeedbackMark, FeedbackWatch):
        assert other[cls].all() == run.session[cls].all()
    going_on = Run(run.prompt, other, run.now)
    assert [going_on.turn().count("there") for _ in range(2)] == [0, 0]
    assert [feedback.calls for feedback in other[Feedback]] == [1, 1, 2, 3]


def test_a_clone_counts_on(tmp_path: Any) -> None:
    """It has the calls of its original, and what was said after them."""
    run = Run(prompt_with(says("three", every_n_calls=3)))
    run.turn(3)
    run.call()
    twin = Run(run.prompt, run.session.clone())

    assert [bool(twin.turn()) for _ in range(3)] == [False, True, False]


def test_a_session_that_was_read_from_json_counts_on() -> None:
    """With its calls, and what was said after them; the prompt finds it as it was."""
    run = Run(prompt_with(says("three", every_n_calls=3)))
    run.turn(3)
    run.call()
    other = Session()
    other.restore(Snapshot.from_json(run.session.snapshot().to_json()), preserve_logs=False)
    going_on = Run(run.prompt, other)

    assert [bool(going_on.turn()) for _ in range(6)] == [False, True, False, False, True, False]
    assert len(other[FeedbackMark]) == 1


def test_a_reset_begins_again() -> None:
    """Nothing of the old counts is left."""
    run = Run(prompt_with(says("three", every_n_calls=3)))
    run.turn(5)
    run.session.reset()
    watch_feedback(prompt=run.prompt, session=run.session, clock=run.clock)
    assert [bool(run.turn()) for _ in range(3)] == [False, False, True]


def test_another_process_counts_afresh_and_remembers_files(tmp_path: Any) -> None:
    """Calls of a run that is over say nothing about this one; a file that was there is not new."""

    def run(calls: int) -> list[bool]:
        with Workspace.open(tmp_path) as workspace:
            prompt = prompt_with(
                says("three", every_n_calls=3), says("there", on_file_created="out.txt"), files=workspace.filesystem
            )
            one = Run(prompt, workspace.session("s"))
            said = []
            for _ in range(calls):
                one.call("write")
                said.append(one.collect())
            prompt.cleanup()
            return [("three" in text, "there" in text) for text in said]  # type: ignore[misc]

    no, three = (False, False), (True, False)
    assert run(4) == [(False, True), no, three, no]
    assert run(3) == [no, no, three]


def test_what_is_remembered_does_not_grow() -> None:
    """One mark a provider, and one note of when the prompt began, however long the run is."""
    run = Run(prompt_with(says("x", every_n_calls=1), says("y", every_n_seconds=5)))
    for _ in range(20):
        run.prompt.render(session=run.session)
        run.turn(1, 10)
    assert len(run.session[FeedbackMark]) == 2
    assert len(run.session[FeedbackWatch]) == 1


def test_a_turn_costs_the_same_at_any_length() -> None:
    """No slice is walked: the log of calls is only measured."""
    run = Run(prompt_with(says("x", every_n_calls=10**9)))
    run.turn()

    class Watched(list[Any]):
        def __iter__(self) -> Any:
            raise AssertionError("the log was walked")

    view = run.session._state.views[type(run.session[_calls()].latest())]
    view._buffer = Watched(view._buffer)
    assert run.collect() == ""


def _calls() -> type:
    from wink.runtime import ToolInvoked

    return ToolInvoked


# -- in an evaluation


def test_a_model_is_told_after_its_turn() -> None:
    """The text goes with the replies, and the model reads it in its next request."""
    notes: list[str] = []

    def note(conversation: Conversation) -> ModelTurn:
        notes.extend(exchange.note for exchange in conversation.exchanges)
        return ModelTurn("Done.")

    prompt = prompt_with(says("Two calls.", every_n_calls=2))
    ScriptedAdapter([ToolCall("look"), ToolCall("look"), note]).evaluate(prompt, session=Session())
    assert notes == ["", "[Feedback from Static]\nTwo calls."]


def test_a_prompt_inside_a_call_sees_the_files_of_the_call() -> None:
    """They are not real yet, and the files themselves refuse to be used beside the call's handle."""
    files, told = InMemoryFilesystem(), list[str]()
    inner = prompt_with(says("there", on_file_created="new.txt"), key="inner", files=files)

    def ask(params: None, *, context: ToolContext) -> ToolResult[None]:
        context.filesystem.write("new.txt", "x")

        def note(conversation: Conversation) -> ModelTurn:
            told.extend(exchange.note for exchange in conversation.exchanges)
            return ModelTurn("Inner.")

        ScriptedAdapter([ToolCall("look"), note]).evaluate(inner, session=context.session)
        return ToolResult.ok(None, message="asked")

    tool = Tool[None, None](name="ask", description="Ask.", handler=ask)
    outer = Prompt(
        PromptTemplate(
            ns="tests",
            key="outer",
            sections=[MarkdownSection("T", "x", tools=[tool])],
            resources={Filesystem: files},
        )
    )
    ScriptedAdapter([ToolCall("ask"), "Done."]).evaluate(outer, session=Session())
    assert told == ["[Feedback from Static]\nthere"]


def test_the_first_turn_counts(tmp_path: Any) -> None:
    """Whoever executes calls without the loop has rendered the prompt for the session before."""
    session, prompt = Session(), prompt_with(says("two", every_n_calls=2))
    rendered = prompt.render(session=session)
    executor = ToolExecutor(prompt=prompt, rendered=rendered, session=session)
    executor.execute(ToolCall("look"))
    executor.execute(ToolCall("look"))
    assert "two" in collect_feedback(prompt=prompt, session=session)


def test_a_run_with_a_clock_of_its_own_is_as_old_as_it_is_by_ours() -> None:
    """Rendering knows no clock; a stopped one must not make years of the seconds since then."""
    session, prompt = Session(), prompt_with(says("minute", every_n_seconds=60))
    prompt.render(session=session)
    now = [NOON]
    deadline = Deadline(NOON + timedelta(hours=1), clock=lambda: now[0])
    assert collect_feedback(prompt=prompt, session=session, deadline=deadline) == ""
    now[0] += timedelta(seconds=60)
    assert "minute" in collect_feedback(prompt=prompt, session=session, deadline=deadline)


def test_what_is_said_is_never_huge_and_can_always_be_sent() -> None:
    """A provider may put a whole file, or a name that is no UTF-8, into its text without noticing."""
    run = Run(prompt_with(says("\udcff" + "x" * 1_000_000, every_n_calls=1)))
    text = run.turn()
    assert text.encode()
    assert len(text) < 17_000
    assert text.endswith("characters more]")


def test_what_cannot_be_stored_does_not_end_the_run(caplog: pytest.LogCaptureFixture) -> None:
    """The provider is asked again after the next turn."""
    run = Run(prompt_with(says("x", every_n_calls=1)))

    def full(deltas: Any) -> None:
        raise CommitFailed("the disk is full")

    run.session.direct_recorder = full
    assert run.turn() == ""
    assert "remembering when it spoke failed" in caplog.text
    run.session.direct_recorder = None
    assert run.turn()
