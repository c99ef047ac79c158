"""A decision cannot be mistaken for its opposite."""

import pytest

from wink.policies import PolicyDecision


def test_a_denial_is_false_and_keeps_its_reason() -> None:
    """`if policy.check(...)` is what people write; a dataclass is always true unless it says otherwise."""
    denied = PolicyDecision.deny("read it first; call read_file")

    assert not denied
    assert denied == PolicyDecision(allowed=False, reason="read it first; call read_file")


def test_an_allowed_call_has_no_reason() -> None:
    """There is nothing to explain."""
    assert PolicyDecision.allow()
    assert PolicyDecision.allow() == PolicyDecision(allowed=True, reason=None)


@pytest.mark.parametrize("reason", ["", "  \n"])
def test_a_denial_without_a_reason_is_refused(reason: str) -> None:
    """A model that is not told why can only guess."""
    with pytest.raises(ValueError, match="a denial needs a reason"):
        PolicyDecision.deny(reason)


@pytest.mark.parametrize("answer", ["no", 1, None, 0])
def test_only_true_and_false_are_answers(answer: object) -> None:
    """`PolicyDecision("no")` would be truthy: a gate that a typing mistake opens is no gate."""
    with pytest.raises(TypeError, match="must be True or False"):
        PolicyDecision(allowed=answer)  # type: ignore[arg-type]


def test_asking_is_no_permission() -> None:
    """Whoever does not know of asking sees a denial."""
    asked = PolicyDecision.ask("it sends a message")

    assert not asked
    assert asked == PolicyDecision(allowed=False, reason="it sends a message", asks=True)
    assert not PolicyDecision.deny("no").asks


@pytest.mark.parametrize("reason", ["", "  \n"])
def test_asking_without_a_reason_is_refused(reason: str) -> None:
    """A person who is not told why can only guess."""
    with pytest.raises(ValueError, match="asking needs a reason"):
        PolicyDecision.ask(reason)


def test_what_both_allows_and_asks_is_refused() -> None:
    """One of the two would be overlooked."""
    with pytest.raises(ValueError, match="both allow and ask"):
        PolicyDecision(allowed=True, asks=True)
    with pytest.raises(TypeError, match="asks must be True or False"):
        PolicyDecision(allowed=False, reason="no", asks="yes")  # type: ignore[arg-type]
