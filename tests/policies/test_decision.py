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
