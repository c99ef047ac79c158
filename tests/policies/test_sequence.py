"""A tool waits for those that it depends on."""

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wink.errors import DependencyCycle, PolicyError
from wink.policies import PolicyDecision, PolicyState, SequentialDependencyPolicy, ToolPolicy, policy_state
from wink.session import Session
from wink.tools import Tool, ToolContext, ToolResult

DEPENDENCIES = {"deploy": ["test", "build"], "build": ["lint"]}


class Calls:
    """A session, and tools that are called in it as far as one policy allows."""

    def __init__(self, policy: ToolPolicy) -> None:
        self.policy, self.session = policy, Session()

    def check(self, name: str) -> PolicyDecision:
        return self.policy.check(tool(name), None, context=self._context())

    def end(self, name: str, *, success: bool = True) -> None:
        result: ToolResult[Any] = ToolResult.ok(None) if success else ToolResult.error("it failed")
        self.policy.on_result(tool(name), None, result, context=self._context())

    def _context(self) -> ToolContext:
        return ToolContext(prompt=None, rendered_prompt=None, adapter=None, session=self.session)


def tool(name: str) -> Tool[None, None]:
    return Tool[None, None](name=name, description="Do it.", handler=None)


def test_it_is_a_policy() -> None:
    """The protocol is what prompts check a policy against."""
    assert isinstance(SequentialDependencyPolicy(DEPENDENCIES), ToolPolicy)


def test_a_tool_waits_for_all_that_it_depends_on() -> None:
    """The example of the specification, step by step."""
    calls = Calls(SequentialDependencyPolicy(DEPENDENCIES))

    assert not calls.check("deploy")
    assert not calls.check("build")
    calls.end("lint")
    assert calls.check("build")
    calls.end("build")
    assert not calls.check("deploy")
    calls.end("test")
    assert calls.check("deploy")


def test_tools_without_dependencies_are_free() -> None:
    """A policy says something about the tools that it names, and nothing about others."""
    calls = Calls(SequentialDependencyPolicy(DEPENDENCIES))

    assert calls.check("lint")
    assert calls.check("read_file")


@pytest.mark.parametrize(
    ("done", "reason"),
    [
        ([], "deploy needs test and build to have succeeded first; call test, then lint, then build"),
        (["lint"], "deploy needs test and build to have succeeded first; call test, then build"),
        (["lint", "build"], "deploy needs test to have succeeded first; call test"),
        (["test"], "deploy needs build to have succeeded first; call lint, then build"),
    ],
)
def test_a_denial_tells_the_model_which_calls_are_left(done: list[str], reason: str) -> None:
    """The model can follow the text to the end: none of the calls in it is denied in its turn."""
    calls = Calls(SequentialDependencyPolicy(DEPENDENCIES))
    for name in done:
        calls.end(name)

    assert calls.check("deploy").reason == reason


def test_names_are_sorted_where_a_set_gives_no_order() -> None:
    """The same state must give the model the same text in every process."""
    calls = Calls(SequentialDependencyPolicy({"deploy": {"test", "build", "lint"}}))

    assert calls.check("deploy").reason == (
        "deploy needs build, lint and test to have succeeded first; call build, then lint, then test"
    )


def test_a_failed_call_does_not_count() -> None:
    """A test run that failed is what the policy is there to stop."""
    calls = Calls(SequentialDependencyPolicy({"deploy": ["test"]}))

    calls.end("test", success=False)

    assert not calls.check("deploy")


def test_memory_does_not_grow_with_repeated_calls() -> None:
    """What is known already is not written again, so a long session stays as quick as a short one."""
    calls = Calls(SequentialDependencyPolicy(DEPENDENCIES))

    for _ in range(50):
        for name in ("lint", "build", "read_file"):
            calls.end(name)

    assert len(calls.session[PolicyState].all()) == 3
    assert policy_state(calls.session, calls.policy.name).invoked_tools == {"lint", "build", "read_file"}


def test_every_session_starts_afresh() -> None:
    """One policy serves all sessions of its prompt, and keeps nothing in itself."""
    policy = SequentialDependencyPolicy({"deploy": ["test"]})
    first, second = Calls(policy), Calls(policy)

    first.end("test")

    assert first.check("deploy")
    assert not second.check("deploy")


def test_policies_with_names_of_their_own_keep_apart() -> None:
    """Two rules about the same tool can be told apart in decisions and in memory."""
    staging = SequentialDependencyPolicy({"deploy": ["test"]}, name="staging")
    calls = Calls(staging)
    calls.end("test")

    assert staging.name == "staging"
    assert policy_state(calls.session, "staging").invoked_tools == {"test"}
    assert not SequentialDependencyPolicy({"deploy": ["test"]}).check(tool("deploy"), None, context=calls._context())


@pytest.mark.parametrize("container", [set, frozenset, list, tuple, dict.fromkeys])
def test_any_collection_of_names_will_do(container: Any) -> None:
    """The specification writes frozensets; nobody else does."""
    policy = SequentialDependencyPolicy({"deploy": container(["test"])})

    assert policy.dependencies == {"deploy": frozenset({"test"})}


def test_dependencies_cannot_be_changed_afterwards() -> None:
    """Neither through the attribute nor through the mapping that was handed over."""
    given_: dict[str, list[str]] = {"deploy": ["test"]}
    policy = SequentialDependencyPolicy(given_)
    given_["deploy"].clear()

    with pytest.raises(TypeError):
        policy.dependencies["deploy"] = frozenset()  # type: ignore[index]
    assert not Calls(policy).check("deploy")


@pytest.mark.parametrize(
    ("dependencies", "message"),
    [
        ({"deploy": ["deploy"]}, "'deploy' depends on itself; take it out of its own dependencies"),
        ({"a": ["b"], "b": ["a"]}, "'a' needs 'b' needs 'a'; take one of these dependencies out"),
        (
            {"start": ["a"], "a": ["b"], "b": ["c"], "c": ["a"]},
            "'a' needs 'b' needs 'c' needs 'a'; take one of these dependencies out",
        ),
    ],
)
def test_tools_that_wait_for_each_other_are_refused(dependencies: dict[str, list[str]], message: str) -> None:
    """None of them could ever run, and the model would be sent in circles."""
    with pytest.raises(DependencyCycle) as caught:
        SequentialDependencyPolicy(dependencies)

    assert str(caught.value) == message
    assert str(pickle.loads(pickle.dumps(caught.value))) == message


@pytest.mark.parametrize(
    ("dependencies", "message"),
    [
        ({"deploy": "test"}, "'deploy' depends on the text 'test'; give its dependencies as a set: {'test'}"),
        ({"Deploy": ["test"]}, "'Deploy' cannot be the name of a tool"),
        ({"deploy": ["run tests"]}, "'run tests' cannot be the name of a tool"),
        ({"deploy": [""]}, "'' cannot be the name of a tool"),
        ({"deploy": [..., "test"]}, "Ellipsis cannot be the name of a tool"),
    ],
)
def test_what_cannot_be_meant_is_refused(dependencies: Any, message: str) -> None:
    """A rule with a name that no tool can have would deny for ever, or never."""
    with pytest.raises(PolicyError) as caught:
        SequentialDependencyPolicy(dependencies)

    assert message in str(caught.value)


def test_dependencies_are_a_mapping() -> None:
    """A list of tools does not say which of them waits."""
    with pytest.raises(PolicyError, match="is no mapping"):
        SequentialDependencyPolicy(["test", "deploy"])  # type: ignore[arg-type]


def test_a_policy_has_a_name() -> None:
    """Its memory is kept under it."""
    with pytest.raises(PolicyError, match="a policy needs a name"):
        SequentialDependencyPolicy({}, name=" ")


acyclic = st.lists(st.frozensets(st.integers(0, 7)), min_size=8, max_size=8).map(
    lambda rows: {f"t{row}": [f"t{one}" for one in sorted(needs) if one < row] for row, needs in enumerate(rows)}
)


@given(acyclic, st.sampled_from([f"t{number}" for number in range(8)]))
def test_following_a_denial_always_leads_to_the_tool(dependencies: dict[str, list[str]], wanted: str) -> None:
    """The advice is a promise: making the calls in its order, each is allowed, and so is the tool in the end."""
    calls = Calls(SequentialDependencyPolicy(dependencies))
    decision = calls.check(wanted)

    if not decision:
        assert decision.reason is not None
        for step in decision.reason.partition("; call ")[2].split(", then "):
            assert calls.check(step)
            calls.end(step)

    assert calls.check(wanted)
