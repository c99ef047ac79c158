"""What rules say, how several of them come to one answer, and how those that make no sense are refused."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plugins.rules.tests import rules_model as model
from plugins.rules.tests.rules_world import TOOLS, World

from wink.errors import PolicyError, RulesError
from wink.policies import ToolPolicy
from wink_rules import Rule, RulesPolicy, read_rules

ACTIONS = st.sampled_from(["allow", "deny", "ask"])


def exceptions(patterns: st.SearchStrategy[str]) -> st.SearchStrategy[list[str]]:
    """Some patterns, and some exceptions from them."""
    negated = st.lists(patterns.map(lambda text: f"!{text}"), max_size=1)
    return st.tuples(st.lists(patterns, min_size=1, max_size=3), negated).map(lambda both: [*both[0], *both[1]])


NAMES = st.sampled_from(["a", "b", "A", "aB"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
PATH_PATTERNS = st.lists(st.sampled_from(["a", "b", "B", "*", "a*", "?", "[ab]", "**"]), min_size=1, max_size=4).map(
    "/".join
)
TOOL_PATTERNS = st.sampled_from([*TOOLS, "*", "write_*", "*_file", "run_[ct]*"])
VALUES = st.sampled_from(["", "a", "ab", "*", "a*", "?", 0, 1, 2, True, False])
RULES = st.builds(
    model.ModelRule,
    action=ACTIONS,
    tools=exceptions(TOOL_PATTERNS),
    paths=st.just([]) | exceptions(PATH_PATTERNS),
    arguments=st.dictionaries(
        st.sampled_from(["name", "count", "force"]), st.lists(VALUES, min_size=1, max_size=2), max_size=2
    ),
)


def built(rules: list[model.ModelRule]) -> list[Rule]:
    return [
        Rule(rule.action, tools=rule.tools, paths=rule.paths, arguments={key: list(of) for key, of in rule.arguments.items()})  # type: ignore[arg-type]
        for rule in rules
    ]  # fmt: skip


@given(st.lists(RULES, max_size=5), ACTIONS, PATHS, PATHS, st.randoms())
def test_paths_are_judged_as_the_model_has_it(
    rules: list[model.ModelRule], default: str, source: str, target: str, random: Any
) -> None:
    """Deny beats ask beats allow; the order of the rules means nothing."""
    shuffled = list(rules)
    random.shuffle(shuffled)
    world = World(built(shuffled), default=default)

    for tool, arguments in (
        ("write_file", {"path": source}),
        ("move_file", {"source_path": source, "target_path": target}),
        ("edit_all", {"paths": [source], "edits": [{"path": target}]}),
    ):
        params = {"path": source, "content": ""} if tool == "write_file" else {}
        paths = [source] if tool == "write_file" else [source, target]
        expected = model.verdict(rules, default, tool, params, paths)
        assert world.answer(tool, **arguments) == expected, (tool, built(rules))


@given(
    st.lists(RULES.filter(lambda rule: not rule.paths), max_size=5),
    ACTIONS,
    st.sampled_from(["deploy", "run_tests"]),
    st.sampled_from(["", "a", "ab", "ba"]),
    st.integers(0, 2),
    st.booleans(),
)
def test_arguments_are_judged_as_the_model_has_it(
    rules: list[model.ModelRule], default: str, tool: str, name: str, count: int, force: bool
) -> None:
    """Parsed values are compared, defaults among them, and a number is not a truth."""
    world, arguments = World(built(rules), default=default), {"name": name, "count": count, "force": force}

    assert world.answer(tool, **arguments) == model.verdict(rules, default, tool, arguments, [])


@given(st.lists(RULES, max_size=4), ACTIONS, PATHS)
def test_what_explains_and_what_decides_agree(rules: list[model.ModelRule], default: str, path: str) -> None:
    """`wink explain` must never tell another story than the calls."""
    world = World(built(rules), default=default)
    tool = world.rendered.tool("write_file")
    assert tool is not None

    from wink.tools import ToolContext

    context = ToolContext(world.prompt, world.rendered, None, world.session)
    judgement = world.policy.explain(tool, tool.parse({"path": path}), context=context)

    decision = world.decide("write_file", path=path)
    assert judgement.action == world.answer("write_file", path=path)
    assert (judgement.reason or None) == decision.reason
    assert judgement.decided is None or judgement.decided in judgement.matches


@given(st.lists(RULES, max_size=4), RULES, PATHS, ACTIONS)
def test_a_rule_that_denies_or_asks_never_opens_anything(
    rules: list[model.ModelRule], more: model.ModelRule, path: str, default: str
) -> None:
    """Whoever adds one need not look at the others."""
    rank = {"allow": 0, "ask": 1, "deny": 2}
    before = World(built(rules), default=default).answer("write_file", path=path)
    after = World(built([*rules, more]), default=default).answer("write_file", path=path)

    if more.action == "deny":
        assert rank[after] >= rank[before]
    elif more.action == "ask":
        assert after != "allow" or before == "allow"


def test_without_rules_everything_is_allowed() -> None:
    """Rules are for what somebody wants otherwise."""
    assert World([]).answer("write_file", path="a") == "allow"
    assert isinstance(RulesPolicy(), ToolPolicy)


@pytest.mark.parametrize("default", ["deny", "ask"])
def test_the_default_is_for_what_no_rule_is_about(default: str) -> None:
    """A list of what is allowed needs the rest to be denied."""
    world = World([Rule("allow", tools="read_file")], default=default)

    assert world.answer("read_file", path="a") == "allow"
    assert world.answer("write_file", path="a") == default
    assert "no rule allows" in (world.decide("write_file", path="a").reason or "")


def test_the_model_is_told_why() -> None:
    """The reason is all that it can act upon."""
    world = World([Rule("deny", tools="write_file", paths="src/**", reason="src is generated; change the schema")])

    reply = world.call("write_file", path="./src/a.py")

    assert reply.text == "write_file on 'src/a.py' is denied: src is generated; change the schema"


def test_all_that_asks_is_asked_together() -> None:
    """A person should see every reason before they answer."""
    rules = [Rule("ask", tools="deploy", reason="it costs"), Rule("ask", effects="external", reason="it is seen")]

    assert World(rules).decide("deploy").reason == "deploy: it costs; deploy: it is seen"


@pytest.mark.parametrize("effects", ["process", ["process", "external"]])
def test_rules_may_be_about_what_tools_touch(effects: Any) -> None:
    """Names of tools come and go; what they can do is what matters."""
    world = World([Rule("deny", effects=effects)])

    assert world.answer("run_command", command="ls") == "deny"
    assert world.answer("write_file", path="a") == "allow"


COMMANDS = [
    ("git log -1", "allow"),
    ("git", "ask"),
    ("git log; rm -r .", "ask"),
    ("git log\nrm -r .", "ask"),
    ("git log `rm -r .`", "ask"),
    ("git log $(rm -r .)", "ask"),
    ("git log > a.txt", "ask"),
    ("git push", "deny"),
    ("git  push  origin", "deny"),
    ("git status && git push", "deny"),
    ("CI=1 LANG=C git push", "deny"),
    ("(cd src; git push)", "deny"),
    ("echo $(git push)", "deny"),
]


@pytest.mark.parametrize(("command", "answer"), COMMANDS)
def test_a_pattern_cannot_be_outrun_by_a_second_command(command: str, answer: str) -> None:
    """A shell's line may hold more than its beginning says: what allows fits one command, what denies any of them."""
    rules = [
        Rule("allow", tools="run_command", arguments={"command": "git *"}),
        Rule("deny", tools="run_command", arguments={"command": ["git push", "git push *"]}),
    ]

    assert World(rules, default="ask").answer("run_command", command=command) == answer


def test_arguments_are_found_at_any_depth() -> None:
    """Tools take lists of objects as readily as texts."""
    world = World([Rule("deny", arguments={"edits.text": "*TODO*"})])

    assert world.answer("edit_all", edits=[{"path": "a", "text": "x"}, {"path": "b", "text": "a TODO"}]) == "deny"
    assert world.answer("edit_all", edits=[{"path": "a", "text": "x"}]) == "allow"
    assert world.answer("write_file", path="a") == "allow"


def test_dotted_keys_of_toml_name_inner_arguments() -> None:
    """TOML makes tables of them."""
    (rule,) = read_rules([{"action": "deny", "arguments": {"edits": {"text": "x*"}, "name": 3}}])

    assert dict(rule.arguments) == {"edits.text": ("x*",), "name": (3,)}


def test_what_allows_needs_every_value_to_fit() -> None:
    """One good value must not carry a bad one along."""
    world = World([Rule("allow", arguments={"edits.text": "ok*"})], default="deny")

    assert world.answer("edit_all", edits=[{"path": "a", "text": "ok1"}, {"path": "b", "text": "ok2"}]) == "allow"
    assert world.answer("edit_all", edits=[{"path": "a", "text": "ok1"}, {"path": "b", "text": "bad"}]) == "deny"
    assert world.answer("edit_all", edits=[]) == "deny"


def test_a_pattern_costs_what_the_text_is_long() -> None:
    """A model chooses the text: it must not be able to stop the program by it."""
    world = World([Rule("deny", arguments={"content": "*a*a*a*a*a*a*a*a*a*a*a*b"})])

    assert world.answer("write_file", path="x", content="a" * 200_000) == "allow"


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"action": "forbid"}, "action must be 'allow', 'deny' or 'ask', not 'forbid'"),
    ({"tools": []}, "tools is empty"),
    ({"tools": "Write_File"}, "no tool can be called 'Write_File'"),
    ({"tools": "Bash(git:*)"}, "no tool can be called 'Bash(git:*)'"),
    ({"tools": "!rm"}, "only exceptions"),
    ({"tools": "a["}, "has a '[' without ']'"),
    ({"tools": 3}, "tools must be a text or a list of texts, not 3"),
    ({"paths": "/etc/passwd"}, "begins with '/'"),
    ({"paths": "~/.ssh"}, "leads out of the workspace"),
    ({"paths": "../x"}, "without '..'"),
    ({"paths": "a\\b"}, "with '/' between names"),
    ({"paths": "src/**.py"}, "has a '**' in a name"),
    ({"paths": "{a,b"}, "has a '{' without '}'"),
    ({"paths": ""}, "write '**' for all that is in it"),
    ({"paths": ["!src/**"]}, "only exceptions"),
    ({"effects": "proces"}, "did you mean 'process'?"),
    ({"requires": "run *"}, "none can be called 'run *'"),
    ({"same_path": True}, "there is no requires"),
    ({"same_path": "yes", "requires": "a"}, "same_path must be true or false"),
    ({"at_most": 0}, "at_most must be a whole number from 1 on, not 0; to have none, deny"),
    ({"at_most": True}, "at_most must be a whole number"),
    ({"arguments": "git *"}, "arguments must map names"),
    ({"arguments": {"command": []}}, "which nothing fits"),
    ({"arguments": {"command": [b"x"]}}, "must be a pattern, a number, true or false"),
    ({"arguments": {"a..b": "x"}}, "names no argument"),
    ({"path_arguments": ""}, "none has an empty name"),
    ({"reason": 3}, "reason must be a text"),
]


@pytest.mark.parametrize(("wrong", "problem"), WRONG, ids=[problem for _, problem in WRONG])
def test_a_rule_that_cannot_be_meant_is_refused(wrong: dict[str, Any], problem: str) -> None:
    """It would be a rule that never fits, and nobody would notice."""
    with pytest.raises(RulesError) as raised:
        Rule(**{"action": "deny", **wrong})

    assert problem in str(raised.value)


def test_everything_wrong_is_said_at_once_with_its_place() -> None:
    """Nobody wants to fix rules one error at a time."""
    tables = [
        {"action": "dny", "tool": "rm"},
        {"tools": "RM"},
        {"action": "deny"},
        "deny rm",
    ]

    with pytest.raises(RulesError) as raised:
        read_rules(tables, ["wink.toml:1", "wink.toml:5", "wink.toml:8", "wink.toml:9"])

    assert [problem.partition(": ")[0] for problem in raised.value.problems] == [
        *["wink.toml:1"] * 2, *["wink.toml:5"] * 2, "wink.toml:9",
    ]  # fmt: skip
    assert "did you mean 'tools'?" in str(raised.value)
    assert "action is missing; say 'allow', 'deny' or 'ask'" in str(raised.value)
    assert isinstance(raised.value, PolicyError)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_what_is_no_list_of_tables_is_refused() -> None:
    """`[rules]` in place of `[[rules]]` is easily typed."""
    with pytest.raises(RulesError, match=r"wink.toml:2: rules must be tables, each beginning with \[\[rules\]\]"):
        read_rules({"action": "deny"}, ["wink.toml:2"])


@pytest.mark.parametrize("wrong", [{"default": "no"}, {"name": " "}, {"rules": ["deny"]}])
def test_a_policy_that_cannot_be_meant_is_refused(wrong: dict[str, Any]) -> None:
    """Better when the prompt is written than when it is used."""
    with pytest.raises(RulesError):
        RulesPolicy(**wrong)


@given(RULES)
def test_rules_read_back_what_they_say(rule: model.ModelRule) -> None:
    """`explain` shows rules in the words of the settings: what is shown can be written there."""
    (one,) = built([rule])

    assert read_rules([{"action": one.action, **one.said()}], ["x"]) == (one,)
