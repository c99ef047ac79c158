"""A prompt's resources: where they come from, and how long they live."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from wink.errors import PromptValidationError, UnboundResourceError
from wink.filesystem import Filesystem, InMemoryFilesystem
from wink.prompt import Prompt, PromptTemplate, Section
from wink.resources import Binding, ResourceRegistry, Scope


class Client:
    """A resource that says where it comes from, and whether it was closed."""

    def __init__(self, origin: str = "") -> None:
        self.origin, self.closed = origin, False

    def close(self) -> None:
        self.closed = True


class Other(Client):
    pass


class Bringing(Section[Any]):
    """A section with resources."""

    def __init__(self, title: str, resources: ResourceRegistry | Mapping[type, object], children: Any = ()) -> None:
        super().__init__(title, children=children)
        self._resources = resources

    def resources(self) -> ResourceRegistry | Mapping[type, object]:
        return self._resources


def client(origin: str) -> Binding[Client]:
    return Binding(Client, lambda resources: Client(origin))


def prompt_of(*sections: Section[Any], resources: Any = None) -> Prompt:
    return Prompt(PromptTemplate("ns", "key", sections=sections, resources=resources))


def test_the_nearer_to_the_use_the_stronger() -> None:
    """Template, then sections, then what is bound: each overlays the one before."""
    of_template = ResourceRegistry.of(client("template"), Binding.instance(str, "template"))
    section = Bringing("One", {Client: client("section")})

    assert prompt_of(resources=of_template).resources.get(Client).origin == "template"
    prompt = prompt_of(section, resources=of_template)
    assert prompt.resources.get(Client).origin == "section"
    assert prompt.resources.get(str) == "template"
    assert prompt_of(section).bind(resources={Client: client("bound")}).resources.get(Client).origin == "bound"


def test_resources_may_be_objects_bindings_or_a_registry() -> None:
    """The short form for what exists, the long one for what has to be made."""
    made = Client("made")

    prompt = prompt_of().bind(resources={Client: made}).bind(resources=ResourceRegistry.of(Binding.instance(int, 5)))

    assert prompt.resources.get(Client) is made
    assert prompt.resources.get(int) == 5
    assert prompt.resources.get_optional(str) is None
    with pytest.raises(UnboundResourceError):
        prompt.resources.get(str)


def test_a_section_below_brings_resources_too() -> None:
    """All sections are asked, enabled or not: enablement can change while resources live."""
    prompt = prompt_of(Section("Outer", enabled=lambda: False, children=[Bringing("Inner", {Client: Client("inner")})]))

    assert prompt.resources.get(Client).origin == "inner"


def test_two_sections_that_disagree_are_refused() -> None:
    """Which of two file systems a tool writes to is nothing to be guessed."""
    prompt = prompt_of(
        Bringing("One", {Client: Client("1")}), Section("Outer", children=[Bringing("Two", {Client: Client("2")})])
    )

    with pytest.raises(PromptValidationError, match="Client is bound by the section 'one' too") as caught:
        prompt.resources.get(Client)

    assert caught.value.section_path == ("outer", "two")


class Offering(Section[Any]):
    """A section with resources for want of better ones."""

    def default_resources(self) -> Mapping[type, object]:
        return {Client: Client(f"default of {self.key}")}


def test_what_a_section_has_for_want_of_better_gives_way() -> None:
    """To the template, to other sections wherever they stand, and to what is bound; two of them still have to agree."""
    one = Offering("One")

    assert prompt_of(one).resources.get(Client).origin == "default of one"
    assert prompt_of(one, resources={Client: Client("template")}).resources.get(Client).origin == "template"
    assert prompt_of(one, Bringing("Two", {Client: Client("two")})).resources.get(Client).origin == "two"
    assert prompt_of(one).bind(resources={Client: Client("bound")}).resources.get(Client).origin == "bound"
    with pytest.raises(PromptValidationError, match="Client is bound by the section 'one' too"):
        prompt_of(one, Offering("Two")).resources.get(Client)
    settled = prompt_of(one, Offering("Two"), resources={Client: Client("template")})
    assert settled.resources.get(Client).origin == "template"


def test_what_is_at_hand_can_be_looked_at_without_opening_anything() -> None:
    """A section that describes a resource must not keep anybody from binding another one."""
    binding = client("made later")
    prompt = prompt_of(resources={Client: binding, str: "there"})

    assert prompt.resources.at_hand(str) == "there"
    assert prompt.resources.at_hand(int) is None
    assert prompt.resources.at_hand(Client) is binding
    prompt.bind(resources={int: 5})
    with prompt.resources as resources:
        assert isinstance(resources.at_hand(Client), Client)
        assert resources.at_hand(int) == 5
        assert resources.at_hand(float) is None


def test_the_prompt_settles_a_disagreement() -> None:
    """That is the remedy which the error names."""
    prompt = prompt_of(Bringing("One", {Client: Client("1")}), Bringing("Two", {Client: Client("2")}))

    assert prompt.bind(resources={Client: Client("3")}).resources.get(Client).origin == "3"


def test_two_sections_may_bring_the_same_object() -> None:
    """They agree."""
    shared = Client("shared")
    binding = Binding.instance(Other, Other())
    prompt = prompt_of(
        Bringing("One", {Client: shared}),
        Bringing("Two", {Client: shared}),
        Bringing("Three", ResourceRegistry.of(binding)),
        Bringing("Four", {Other: binding}),
    )

    assert prompt.resources.get(Client) is shared


def test_the_end_of_the_with_closes_them() -> None:
    """Also when it ends with an exception."""
    prompt = prompt_of().bind(resources={Client: client("x")})

    def fail_inside() -> None:
        with prompt.resources as resources:
            made.append(resources.get(Client))
            raise RuntimeError("stop")

    made: list[Client] = []
    with pytest.raises(RuntimeError, match="stop"):
        fail_inside()

    assert made[0].closed


def test_an_inner_with_changes_nothing() -> None:
    """An adapter that opens the resources for itself must not close those of its caller."""
    prompt = prompt_of().bind(resources={Client: client("x")})

    with prompt.resources:
        made = prompt.resources.get(Client)
        with prompt.resources:
            assert prompt.resources.get(Client) is made
        assert not made.closed
        assert prompt.resources.get(Client) is made

    assert made.closed


def test_without_with_they_open_when_they_are_needed_and_live_until_cleanup() -> None:
    """At a prompt or in a test nobody writes `with`."""
    prompt = prompt_of().bind(resources={Client: client("x")})

    made = prompt.resources.get(Client)
    assert prompt.resources.get(Client) is made
    prompt.cleanup()

    assert made.closed
    assert prompt.resources.get(Client) is not made


def test_a_with_takes_over_what_is_open_already() -> None:
    """Otherwise one prompt would have two clients at once."""
    prompt = prompt_of().bind(resources={Client: client("x")})
    made = prompt.resources.get(Client)

    with prompt.resources:
        assert prompt.resources.get(Client) is made

    assert made.closed


def test_each_with_has_resources_of_its_own() -> None:
    """A prompt can be evaluated again after its resources were closed."""
    prompt = prompt_of().bind(resources={Client: client("x")})

    with prompt.resources:
        first = prompt.resources.get(Client)
    with prompt.resources:
        second = prompt.resources.get(Client)

    assert first is not second
    assert first.closed
    assert second.closed


def test_nothing_can_be_bound_while_they_are_open() -> None:
    """Some tools would have got the old resource already."""
    prompt = prompt_of()

    with prompt.resources, pytest.raises(PromptValidationError, match="open already; bind before they are used"):
        prompt.bind(resources={Client: Client()})

    assert prompt.bind(resources={Client: Client("later")}).resources.get(Client).origin == "later"


def test_a_call_has_a_scope_of_its_own() -> None:
    """`TOOL_CALL` resources are fresh in each call, and what the call overrides is seen in it alone."""
    fresh = Binding(Other, lambda resources: Other(), scope=Scope.TOOL_CALL)
    prompt = prompt_of().bind(resources={Client: client("shared"), Other: fresh})
    mine = Client("mine")

    first, second = prompt.resources.call_scope(), prompt.resources.call_scope({Client: mine})

    assert first.get(Other) is not second.get(Other)
    assert first.get(Client) is prompt.resources.get(Client)
    assert second.get(Client) is mine


def test_threads_that_come_first_together_share_one() -> None:
    """Calls that run in parallel may be the first to need a resource."""
    ready = Barrier(8)
    prompt = prompt_of().bind(resources={Client: client("x")})

    def first_use(_: int) -> Client:
        ready.wait()
        return prompt.resources.get(Client)

    with ThreadPoolExecutor(8) as pool:
        found = set(map(id, pool.map(first_use, range(8))))

    assert len(found) == 1


def test_the_filesystem_is_a_resource_like_any_other() -> None:
    """Most workspaces have one; a prompt without one has none."""
    files = InMemoryFilesystem()

    assert prompt_of().filesystem() is None
    assert prompt_of().bind(resources={Filesystem: files}).filesystem() is files
