"""What type checkers know of guardrails and sessions; checked by pyright, never run."""

from dataclasses import dataclass, replace
from typing import assert_type

from wink.prompt import (
    CompositeChecker,
    DeadlineFeedback,
    Feedback,
    FeedbackContext,
    FeedbackProvider,
    FeedbackProviderConfig,
    FeedbackTrigger,
    FileCreatedTrigger,
    FileOutputChecker,
    PromptTemplate,
    StaticFeedbackProvider,
    TaskCompletionContext,
    TaskCompletionResult,
)
from wink.session import Append, Session, SliceView, Snapshot, reducer, upsert_by


class Own:
    """A provider with a plain attribute for its name."""

    name = "Own"

    def should_run(self, *, context: FeedbackContext) -> bool:
        return context.calls_since > 3

    def provide(self, *, context: FeedbackContext) -> Feedback:
        return Feedback(f"{context.calls} calls", suggestions=["Stop."], severity="caution")


class Done:
    """A checker."""

    def check(self, context: TaskCompletionContext) -> TaskCompletionResult:
        return TaskCompletionResult.ok() if context.tentative_output else TaskCompletionResult.incomplete("Answer.")


provider: FeedbackProvider = Own()
template = PromptTemplate(
    ns="t",
    key="t",
    feedback_providers=[
        FeedbackProviderConfig(provider=Own(), trigger=FeedbackTrigger(every_n_calls=3)),
        FeedbackProviderConfig(DeadlineFeedback(), FeedbackTrigger(every_n_seconds=0.5)),
        FeedbackProviderConfig(StaticFeedbackProvider("x"), FeedbackTrigger(on_file_created="a.txt")),
        FeedbackProviderConfig(
            StaticFeedbackProvider(feedback=Feedback("x")), FeedbackTrigger(on_file_created=FileCreatedTrigger("a"))
        ),
    ],
    task_completion_checker=CompositeChecker([Done(), FileOutputChecker(files=["a.txt"])], all_must_pass=False),
)


@dataclass(frozen=True)
class Note:
    text: str


@dataclass(frozen=True)
class Count:
    value: int = 0

    @reducer(on=Note)
    def add(self, event: Note) -> "Count":
        return replace(self, value=self.value + 1)


def keep(view: SliceView[Note], event: Note) -> Append[Note]:
    assert_type(view.latest(), Note | None)
    return Append(event)


session = Session()
session[Note].register(Note, keep)
session[Note].register(Note, upsert_by(lambda note: note.text))
session.install(Count, initial=Count)
assert_type(session[Note].latest(), Note | None)
assert_type(session[Note].all(), tuple[Note, ...])
assert_type(session[Note].where(lambda note: note.text == "x"), tuple[Note, ...])
assert_type(session[Note].get("x"), Note | None)
assert_type(Snapshot.from_json("", renamed={"old:Note": Note}), Snapshot)
assert_type(session.clone(), Session)
