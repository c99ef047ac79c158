"""What a section promises to the prompts that it is put into."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final, cast

import pytest

from wink.adapters import PROVIDERS, compile_tools
from wink.policies import ToolPolicy
from wink.prompt import Section, SectionVisibility
from wink.runtime import ToolCall, ToolInvoked
from wink.serde import dumps, parse
from wink.session import Extend, Snapshot
from wink.testing._contracts._arguments import NO_OBJECTS, UNKNOWN, odd_arguments, problem_with
from wink.testing._contracts._base import Contract, Fresh
from wink.testing._harness import Harness
from wink.testing._moment import Moment
from wink.tools import Tool, render_value

_JSON: Final = frozenset(("array", "boolean", "integer", "null", "number", "object", "string"))


class SectionContract(Contract):
    """All that a section promises, as tests for pytest: point the fixture `section` at yours.

    ```python
    class TestNotebook(SectionContract):
        @pytest.fixture
        def section(self) -> Section:
            return notebook_section(settings=NotesSettings())
    ```

    A section with parameters gets them from the fixture `params`, one that needs resources from the fixture `resources`.
    """

    takes_any_arguments: ClassVar[tuple[str, ...]] = ()
    """The names of tools that take arguments which they do not declare, on purpose."""

    @pytest.fixture
    def section(self) -> Section[Any]:
        """The section that is tried; a fixture of this name has to be defined."""
        raise NotImplementedError(f"{type(self).__name__} must define a fixture `section` that returns a Section")

    @pytest.fixture
    def params(self) -> tuple[object, ...]:
        """Instances of the dataclasses that the section's text is filled in from."""
        return ()

    @pytest.fixture
    def resources(self) -> Mapping[type, object]:
        """What its tools need beside the files, by type."""
        return {}

    @pytest.fixture
    def harness(
        self, fresh: Fresh, section: Section[Any], params: tuple[object, ...], resources: Mapping[type, object]
    ) -> Harness:
        """The section in a prompt."""
        return _with(fresh(), section, params, resources)

    # -- in a prompt

    def test_it_fits_into_a_prompt(self, harness: Harness) -> None:
        """Fix what the error names: a key of 1-64 lower-case letters, placeholders that the parameters have, tools that
        differ in name, resources that can be made."""
        with harness.prompt.resources:
            assert isinstance(harness.text, str)

    def test_its_text_is_always_the_same(
        self,
        harness: Harness,
        fresh: Fresh,
        section: Section[Any],
        params: tuple[object, ...],
        resources: Mapping[type, object],
    ) -> None:
        """Let `render_body` return a string made of its arguments alone: no time, no chance, no order of a set, and nothing
        that it counts; a text that changes makes the provider's cache useless and a run impossible to repeat."""
        text = harness.text
        assert harness.text == text, "the second rendering in a session differs from the first"
        again = _with(fresh(), section, params, resources)
        assert again.text == text, "the rendering in another session differs"

    def test_rendering_changes_nothing(self, harness: Harness) -> None:
        """Do what has to be done once in `install`, and the rest in tools: a prompt may be rendered at any time, by `wink
        tools` too, and outside of every transaction."""
        _ = harness.text
        before = Moment.of(harness)
        _ = harness.text
        assert before.differences(Moment.of(harness)) == ()

    def test_a_session_goes_on_in_another_process(
        self,
        harness: Harness,
        fresh: Fresh,
        section: Section[Any],
        params: tuple[object, ...],
        resources: Mapping[type, object],
    ) -> None:
        """Let `install` register reducers, and put a first value only into a slice that is empty: it is called again when a
        stored session goes on, whose state it must not replace or double."""
        _ = harness.text
        for cls, items in harness.facts().items():
            harness.session.stage(cls, [Extend(items)])  # so that it is not what `install` puts there
        stored = Snapshot.from_json(harness.session.snapshot().to_json())
        later = _with(fresh(), section, params, resources)
        later.session.restore(stored)
        for cls in harness.facts():
            assert len(later.session[cls]) == len(harness.session[cls])
        _ = later.text
        assert later.facts() == harness.facts()

    def test_it_can_be_put_elsewhere(
        self, fresh: Fresh, section: Section[Any], params: tuple[object, ...], resources: Mapping[type, object]
    ) -> None:
        """Let `clone` make a whole copy (that of `Section` does): templates are put together from copies, under other keys."""
        twin = section.clone(title="Another place", key="another-place")
        assert (twin.title, twin.key) == ("Another place", "another-place")
        assert section.key != "another-place", "the section itself was changed"
        text = _with(fresh(), twin, params, resources).text
        assert "Another place" in text
        assert [tool.name for tool in _tools(twin)] == [tool.name for tool in _tools(section)]

    def test_its_summary_stands_for_it(
        self, harness: Harness, section: Section[Any], params: tuple[object, ...]
    ) -> None:
        """Let the summary be a line or two of text; it is all that the model reads before it opens the section."""
        if section.summary is None:
            return
        assert section.render_summary(_params_of(section, params)).strip()
        hidden = {(section.key,): SectionVisibility.SUMMARY}
        assert harness.prompt.render(session=harness.session, visibility_overrides=hidden).text

    def test_it_can_be_let_go_of_more_than_once(self, harness: Harness) -> None:
        """Let `cleanup` close what is open and forget it; it is called at the end of each use, and the section may be used
        again after it."""
        text = harness.text
        harness.prompt.cleanup()
        harness.prompt.cleanup()
        assert harness.text == text

    # -- its tools

    def test_its_tools_have_names_and_descriptions(self, section: Section[Any]) -> None:
        """Give each tool a name of its own, of 1-64 of `a-z`, `0-9`, `_` and `-`, and say in up to 200 ASCII characters what
        it does; providers refuse a whole request for less. `tools()` must say the same each time."""
        tools = list(_tools(section))
        names = [tool.name for tool in tools]
        assert len(set(names)) == len(names), f"two tools have one name: {names}"
        assert [tool.name for tool in _tools(section)] == names
        for tool in tools:
            tool.replace()  # which checks all that the constructor does
            assert tool.handler is not None, f"{tool.name} has no handler"

    def test_its_schemas_are_taken_by_providers(self, harness: Harness) -> None:
        """Use types that have a JSON Schema, with an object at the root, and no field that must be of a kind that JSON cannot
        say; `wink lint` shows what each provider takes."""
        rendered = harness.prompt.render(session=harness.session)
        for tool in rendered.tools:
            schema = tool.schema()
            assert schema.get("type") == "object", f"{tool.name}: its schema is no object"
            assert json.loads(json.dumps(schema, allow_nan=False)) == schema, (
                f"{tool.name}: its schema is no plain JSON"
            )
            broken = [name for name in _references(schema) if not _resolves(schema, name)]
            assert not broken, f"{tool.name}: its schema refers to {broken}, which it does not have"
            odd = _kinds(schema) - _JSON
            assert not odd, f"{tool.name}: its schema speaks of {odd}, which JSON does not have"
            unknown = set(schema.get("required", ())) - set(schema.get("properties", {}))
            assert not unknown, f"{tool.name}: its schema requires {unknown}, which it does not describe"
        for provider in PROVIDERS:
            _, misfits = compile_tools(rendered, provider)
            assert not misfits, "; ".join(map(str, misfits))

    def test_its_examples_survive_json(self, section: Section[Any]) -> None:
        """Write examples that a model could send and a session could keep: what is dumped and read again has to be equal, so
        give the dataclasses `__eq__` and fields that JSON can hold."""
        for tool in _tools(section):
            tool.check()
            for number, example in enumerate(tool.examples, 1):
                what = f"{tool.name}, example {number}"
                if example.input is not None:
                    assert tool.parse(dumps(example.input)) == example.input, f"{what}: the input comes back changed"
                for one in _items(example.output):
                    if one is not None:
                        again: Any = parse(cast("type[Any]", type(one)), dumps(one))
                        assert again == one, f"{what}: the output comes back changed"

    def test_its_results_are_text_for_the_model(self, section: Section[Any]) -> None:
        """Let `render()` of a result return a string made of the result alone, and never raise: it is called inside the
        transaction, and a failure there takes the call back."""
        for tool in _tools(section):
            for example in tool.examples:
                text: object = render_value(example.output)
                assert isinstance(text, str), f"{tool.name}: render() returned {type(text).__name__}"
                assert render_value(example.output) == text, f"{tool.name}: render() says something else each time"

    def test_unknown_arguments_are_refused(self, harness: Harness) -> None:
        """Leave `extra="forbid"` as it is: an argument that is passed over is one that the model believes in. For a tool that
        takes any on purpose, name it in `takes_any_arguments`."""
        for tool in harness.prompt.render(session=harness.session).tools:
            if tool.name in self.takes_any_arguments:
                continue
            reply = harness.send(ToolCall(tool.name, json.dumps({UNKNOWN: 1})))
            assert not reply.success, f"{tool.name} takes arguments that it does not have"
            takes_none = tool.params_type is None
            assert takes_none or UNKNOWN in reply.text, f"{tool.name} does not say which argument is unknown"

    def test_wrong_arguments_are_refused_with_words(self, harness: Harness) -> None:
        """Raise `ValueError`, with what to do instead, where `__post_init__` finds something wrong: of any other exception the
        model is told nothing but its name. And let everything that parses be something the handler can work with."""
        for tool in harness.prompt.render(session=harness.session).tools:
            problems = [problem_with(tool, arguments) for arguments in odd_arguments(tool)]
            assert not any(problems), f"{tool.name}: " + "; ".join(filter(None, problems))
            before = Moment.of(harness)
            for arguments in NO_OBJECTS:
                told = len(harness.events.of(ToolInvoked))
                reply = harness.send(ToolCall(tool.name, arguments))
                assert not reply.success, f"{tool.name} takes {arguments!r} for arguments"
                assert len(harness.events.of(ToolInvoked)) == told + 1
            assert before.differences(Moment.of(harness)) == ()

    # -- its policies

    def test_its_policies_have_names_of_their_own(self, section: Section[Any]) -> None:
        """Give each policy a `name` that stays, a `check` and an `on_result`: verdicts, events and state go by the name."""
        names: list[str] = []
        for one in _nodes(section):
            for policy in one.policies():
                assert isinstance(policy, ToolPolicy), f"{policy!r} is no policy"
                assert policy.name == policy.name
                assert isinstance(policy.name, str), f"{policy!r} has no name"
                assert policy.name.strip(), f"{policy!r} has no name"
                names.append(policy.name)
        assert len(set(names)) == len(names), f"two policies have one name: {names}"


def _with(
    harness: Harness, section: Section[Any], params: tuple[object, ...], resources: Mapping[type, object]
) -> Harness:
    harness.use(section)
    harness.bind(*params, resources=resources)
    return harness


def _nodes(section: Section[Any]) -> Iterator[Section[Any]]:
    yield section
    for child in section.children:
        yield from _nodes(child)


def _tools(section: Section[Any]) -> Iterator[Tool[Any, Any]]:
    for one in _nodes(section):
        yield from one.tools()


def _params_of(section: Section[Any], params: tuple[object, ...]) -> Any:
    """What a section's text is filled in from, as a prompt would choose it."""
    wanted = section.params_type
    found = next((value for value in params if wanted is not None and type(value) is wanted), None)
    return section.default_params if found is None else found


def _items(output: Any) -> Iterator[Any]:
    """The dataclasses of a result, which may be several."""
    if isinstance(output, (list, tuple)):
        yield from output
    else:
        yield output


def _parts(schema: Any) -> Iterator[Mapping[str, Any]]:
    """A schema and all schemas in it."""
    if not isinstance(schema, Mapping):
        return
    node = cast("Mapping[str, Any]", schema)
    yield node
    for word in ("properties", "$defs", "patternProperties"):
        for one in dict(node.get(word, {})).values():
            yield from _parts(one)
    for word in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for one in node.get(word, ()):
            yield from _parts(one)
    for word in ("items", "additionalProperties", "propertyNames", "not"):
        yield from _parts(node.get(word))


def _kinds(schema: Mapping[str, Any]) -> set[str]:
    """Every type that a schema speaks of."""
    said = [part.get("type", ()) for part in _parts(schema)]
    return {kind for one in said for kind in ([one] if isinstance(one, str) else one)}


def _references(schema: Mapping[str, Any]) -> list[str]:
    """Everything that a schema refers to."""
    return [str(part["$ref"]) for part in _parts(schema) if "$ref" in part]


def _resolves(schema: Mapping[str, Any], reference: str) -> bool:
    found: Any = schema
    for part in reference.removeprefix("#/").split("/"):
        if not isinstance(found, Mapping) or part not in found:
            return False
        found = found[part]  # pyright: ignore[reportUnknownVariableType]
    return reference.startswith("#/")
