"""What keeps a model on its way: feedback while it works, and a check before it may stop.

A template takes both: `PromptTemplate(..., feedback_providers=[...], task_completion_checker=...)`.
"""

from wink.prompt.guardrails._checkers import CompositeChecker, FileOutputChecker
from wink.prompt.guardrails._collecting import collect_feedback
from wink.prompt.guardrails._completion import (
    TaskCompletionChecker,
    TaskCompletionContext,
    TaskCompletionResult,
    check_completion,
    checked_checker,
)
from wink.prompt.guardrails._feedback import Feedback, FeedbackContext, FeedbackProvider, Severity
from wink.prompt.guardrails._memory import FeedbackBegan, FeedbackMark, FeedbackWatch, watch_feedback
from wink.prompt.guardrails._providers import DeadlineFeedback, StaticFeedbackProvider
from wink.prompt.guardrails._triggers import FeedbackProviderConfig, FeedbackTrigger, FileCreatedTrigger

__all__ = [
    "CompositeChecker",
    "DeadlineFeedback",
    "Feedback",
    "FeedbackBegan",
    "FeedbackContext",
    "FeedbackMark",
    "FeedbackProvider",
    "FeedbackProviderConfig",
    "FeedbackTrigger",
    "FeedbackWatch",
    "FileCreatedTrigger",
    "FileOutputChecker",
    "Severity",
    "StaticFeedbackProvider",
    "TaskCompletionChecker",
    "TaskCompletionContext",
    "TaskCompletionResult",
    "check_completion",
    "checked_checker",
    "collect_feedback",
    "watch_feedback",
]
