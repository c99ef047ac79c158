"""Resources are made when needed, live as long as their scope says, and are all closed."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from wink.errors import (
    CircularDependencyError,
    DuplicateBindingError,
    HandleRevoked,
    ProviderError,
    ResourceCloseErrors,
    ResourceScopeError,
    UnboundResourceError,
)
from wink.resources import Binding, Closeable, PostConstruct, Resolver, ResourceContext, ResourceRegistry, Scope


@dataclass
class Config:
    url: str = "db://"


@dataclass
class Database:
    config: Config = field(default_factory=Config)


@dataclass
class Tracer:
    pass


class Door:
    """Notes in a shared list when it is closed."""

    def __init__(self, name: str, closed: list[str], error: BaseException | None = None) -> None:
        self.name, self.closed, self.error = name, closed, error

    def close(self) -> None:
        self.closed.append(self.name)
        if self.error is not None:
            raise self.error


class Front(Door): ...


class Middle(Door): ...


class Back(Door): ...


def doors(closed: list[str], errors: dict[str, BaseException] | None = None) -> ResourceRegistry:
    """Front needs Middle, Middle needs Back: they are made in the order Back, Middle, Front."""
    errors = errors or {}

    def front(r: Resolver) -> Front:
        r.get(Middle)
        return Front("front", closed, errors.get("front"))

    def middle(r: Resolver) -> Middle:
        r.get(Back)
        return Middle("middle", closed, errors.get("middle"))

    return ResourceRegistry.of(
        Binding(Front, front),
        Binding(Middle, middle),
        Binding(Back, lambda _r: Back("back", closed, errors.get("back"))),
    )


def test_nothing_is_made_before_it_is_asked_for() -> None:
    """A prompt may bind what most runs never touch."""
    made: list[str] = []
    registry = ResourceRegistry.of(
        Binding(Config, lambda _r: (made.append("config"), Config())[1]),
        Binding(Database, lambda r: (made.append("database"), Database(r.get(Config)))[1]),
    )
    with registry.open() as resources:
        assert made == []
        assert resources.get(Database).config is resources.get(Config)
    assert made == ["database", "config"]


def test_eager_resources_are_made_when_the_registry_is_opened() -> None:
    """What is broken should say so at the start of a run, not in its middle."""
    made: list[str] = []
    ResourceRegistry.of(Binding(Config, lambda _r: (made.append("config"), Config())[1], eager=True)).open()
    assert made == ["config"]


def test_when_an_eager_resource_fails_those_before_it_are_closed() -> None:
    """`open` that raises gives nothing that its caller could close."""
    closed: list[str] = []
    registry = ResourceRegistry.of(
        Binding(Front, lambda _r: Front("front", closed), eager=True),
        Binding(Config, lambda _r: 1 / 0, eager=True),  # type: ignore[arg-type,return-value]
    )
    with pytest.raises(ProviderError, match="provider of Config failed: ZeroDivisionError"):
        registry.open()
    assert closed == ["front"]


def test_only_singletons_are_eager() -> None:
    """There is no call yet to make a TOOL_CALL resource for."""
    with pytest.raises(ValueError, match="only a SINGLETON can be eager"):
        Binding(Config, lambda _r: Config(), scope=Scope.TOOL_CALL, eager=True)


def test_scopes_decide_who_shares_an_instance() -> None:
    """SINGLETON: all; TOOL_CALL: one call; PROTOTYPE: nobody."""
    resources = ResourceRegistry.of(
        Binding(Config, lambda _r: Config()),
        Binding(Tracer, lambda _r: Tracer(), scope=Scope.TOOL_CALL),
        Binding(Database, lambda r: Database(r.get(Config)), scope=Scope.PROTOTYPE),
    ).open()
    one, two = resources.call_scope(), resources.call_scope()

    assert one.get(Config) is two.get(Config) is resources.get(Config)
    assert one.get(Tracer) is one.get(Tracer)
    assert one.get(Tracer) is not two.get(Tracer)
    assert one.get(Database) is not one.get(Database)


def test_tool_call_resources_are_closed_with_their_call_and_singletons_are_not() -> None:
    """A call's resources end with it, also those that it needed on the way."""
    closed: list[str] = []
    resources = ResourceRegistry.of(
        Binding(Back, lambda _r: Back("back", closed)),
        Binding(Middle, lambda r: (r.get(Back), Middle("middle", closed))[1], scope=Scope.TOOL_CALL),
        Binding(Front, lambda r: (r.get(Middle), Front("front", closed))[1], scope=Scope.TOOL_CALL),
    ).open()
    with resources.call_scope() as scope:
        scope.get(Front)
    assert closed == ["front", "middle"]
    resources.close()
    assert closed == ["front", "middle", "back"]


def test_tool_call_resource_outside_a_call_is_refused() -> None:
    """Nobody would close it."""
    resources = ResourceRegistry.of(Binding(Tracer, lambda _r: Tracer(), scope=Scope.TOOL_CALL)).open()
    with pytest.raises(ResourceScopeError, match=r"no call is running; ask context\.resources"):
        resources.get(Tracer)


@pytest.mark.parametrize("between", [Scope.SINGLETON, Scope.PROTOTYPE])
def test_singleton_cannot_hold_what_ends_with_a_call(between: Scope) -> None:
    """It would go on using a closed resource in the next call."""
    resources = ResourceRegistry.of(
        Binding(Tracer, lambda _r: Tracer(), scope=Scope.TOOL_CALL),
        Binding(Config, lambda r: (r.get(Tracer), Config())[1], scope=between),
        Binding(Database, lambda r: Database(r.get(Config))),
    ).open()
    with pytest.raises(ResourceScopeError, match="Config outlives the call"):
        resources.call_scope().get(Database)


def test_overrides_win_for_the_call_and_are_not_closed() -> None:
    """The call's own filesystem handle takes the place of the bound filesystem."""
    closed: list[str] = []
    mine = Front("mine", closed)
    resources = ResourceRegistry.of(Binding(Front, lambda _r: Front("bound", closed))).open()
    with resources.call_scope({Front: mine, Config: Config("other")}) as scope:
        assert scope.get(Front) is mine
        assert scope.get_optional(Config) == Config("other")
        assert Config in scope
        assert Config not in resources
    assert closed == []
    assert resources.get(Front).name == "bound"


def test_singletons_made_in_a_call_do_not_see_its_overrides() -> None:
    """They outlive the handle that the call got."""
    resources = ResourceRegistry.of(
        Binding(Config, lambda _r: Config("bound")), Binding(Database, lambda r: Database(r.get(Config)))
    ).open()
    with resources.call_scope({Config: Config("override")}) as scope:
        assert scope.get(Database).config.url == "bound"


def test_an_override_that_is_false_still_wins() -> None:
    """An empty container is a resource like any other."""
    resources = ResourceRegistry.build({list: [1]}).open()
    empty: list[int] = []
    assert resources.get(list) == [1]
    assert resources.call_scope({list: empty}).get(list) is empty


def test_resources_are_closed_in_the_reverse_order_of_their_construction() -> None:
    """What was made last may still need what was made first."""
    closed: list[str] = []
    with doors(closed).open() as resources:
        resources.get(Front)
    assert closed == ["front", "middle", "back"]


def test_all_are_closed_when_one_raises_and_the_errors_come_together() -> None:
    """One broken resource must not leak the others."""
    closed: list[str] = []
    resources = doors(closed, {"front": OSError("f"), "back": ValueError("b")}).open()
    resources.get(Front)

    with pytest.raises(ResourceCloseErrors, match="2 of 3 resources") as caught:
        resources.close()

    assert closed == ["front", "middle", "back"]
    assert [type(error) for error in caught.value.exceptions] == [OSError, ValueError]
    assert caught.value.exceptions[0].__notes__ == ["while closing Front"]
    resources.close()
    assert closed == ["front", "middle", "back"]


def test_an_interrupt_while_closing_comes_through_after_everything_is_closed() -> None:
    """Ctrl-C is not an error of a resource."""
    closed: list[str] = []
    resources = doors(closed, {"front": KeyboardInterrupt()}).open()
    resources.get(Front)
    with pytest.raises(KeyboardInterrupt):
        resources.close()
    assert closed == ["front", "middle", "back"]


def test_failing_close_does_not_hide_the_error_that_ended_the_use() -> None:
    """The reader needs the first cause; the rest is a note."""

    def use() -> None:
        with doors([], {"front": OSError("second")}).open() as resources:
            resources.get(Front)
            raise LookupError("first")

    with pytest.raises(LookupError, match="first") as caught:
        use()
    assert "second" in caught.value.__notes__[0]


def test_instances_are_not_closed() -> None:
    """Whoever made them goes on using them."""
    closed: list[str] = []
    with ResourceRegistry.of(Binding.instance(Front, Front("given", closed))).open() as resources:
        resources.get(Front)
    assert closed == []


def test_closed_context_gives_nothing() -> None:
    """A thread that a call left behind does not get at resources."""
    resources = ResourceRegistry.build({Config: Config()}).open()
    scope = resources.call_scope()
    assert scope.get(Config) == Config()
    scope.close()
    with pytest.raises(HandleRevoked, match="the call that these resources belong to has ended"):
        scope.get(Config)
    resources.close()
    with pytest.raises(ResourceScopeError, match="closed"):
        resources.get(Config)


def test_cycles_are_named() -> None:
    """Reading the names in order shows where to cut."""
    resources = ResourceRegistry.of(
        Binding(Config, lambda r: r.get(Database).config),
        Binding(Database, lambda r: Database((r.get(Tracer), Config())[1])),
        Binding(Tracer, lambda r: (r.get(Config), Tracer())[1]),
    ).open()
    with pytest.raises(CircularDependencyError) as caught:
        resources.get(Config)
    assert caught.value.cycle == ("Config", "Database", "Tracer", "Config")
    assert "Config -> Database -> Tracer -> Config" in str(caught.value)


def test_unbound_resource_names_who_needed_it() -> None:
    """The type alone does not say where to look."""
    resources = ResourceRegistry.of(Binding(Database, lambda r: Database(r.get(Config)))).open()
    with pytest.raises(UnboundResourceError, match="bound to Config \\(needed by Database\\); bind one"):
        resources.get(Database)
    assert resources.get_optional(Config) is None
    with pytest.raises(LookupError, match="bound to Config; bind one"):
        resources.get(Config)


def test_provider_may_ask_for_what_may_be_missing() -> None:
    """An optional dependency that is there but broken is still an error."""
    registry = ResourceRegistry.of(Binding(Database, lambda r: Database(r.get_optional(Config) or Config("default"))))
    assert registry.open().get(Database).config.url == "default"

    broken = registry.merge(ResourceRegistry.of(Binding(Config, lambda r: (r.get(Tracer), Config())[1])))
    with pytest.raises(UnboundResourceError, match="Tracer"):
        broken.open().get(Database)


def test_provider_errors_are_wrapped_and_keep_their_cause() -> None:
    """The resource's name is what the reader needs first."""
    resources = ResourceRegistry.of(Binding(Config, lambda _r: {}["url"])).open()
    with pytest.raises(ProviderError, match="provider of Config failed: KeyError: 'url'") as caught:
        resources.get(Config)
    assert isinstance(caught.value.__cause__, KeyError)


def test_provider_that_gives_nothing_is_refused() -> None:
    """None would surface far away, in a handler."""
    with pytest.raises(ProviderError, match="it returned None"):
        ResourceRegistry.of(Binding(Config, lambda _r: None)).open().get(Config)  # type: ignore[arg-type,return-value]


class Started(Door):
    """Has something to do before it is used."""

    started = False

    def post_construct(self) -> None:
        if self.error is not None:
            raise self.error
        self.started = True


def test_post_construct_runs_before_anybody_gets_the_resource() -> None:
    """Construction that needs the finished object has a place."""
    resources = ResourceRegistry.of(Binding(Started, lambda _r: Started("s", []))).open()
    assert resources.get(Started).started
    assert isinstance(resources.get(Started), PostConstruct)
    assert isinstance(resources.get(Started), Closeable)


def test_resource_whose_post_construct_fails_is_closed_and_not_kept() -> None:
    """A half-made resource must not leak; and the next one may succeed."""
    closed: list[str] = []
    errors: list[BaseException | None] = [OSError("down"), None]

    def make(_r: Resolver) -> Started:
        started = Started("s", closed)
        error = errors.pop(0)
        if error is not None:

            def fail() -> None:
                raise error

            started.post_construct = fail  # type: ignore[method-assign]
        return started

    resources = ResourceRegistry.of(Binding(Started, make)).open()
    with pytest.raises(ProviderError, match="post_construct raised OSError: down"):
        resources.get(Started)
    assert closed == ["s"]
    assert resources.get(Started).started


class Counter:
    """A resource whose state rolls back."""

    def __init__(self) -> None:
        self.count = 0

    def snapshot(self) -> int:
        return self.count

    def restore(self, snapshot: int) -> None:
        self.count = snapshot


def test_snapshotables_are_the_singletons_that_were_made() -> None:
    """A call must not pay for resources that nobody used."""
    resources = ResourceRegistry.of(
        Binding(Counter, lambda _r: Counter()),
        Binding(Config, lambda _r: Config()),
    ).open()
    assert resources.snapshotables() == ()
    counter = resources.call_scope().get(Counter)
    resources.get(Config)
    assert resources.snapshotables() == ((Counter, counter),)
    assert resources.call_scope().snapshotables() == ((Counter, counter),)


def test_two_bindings_of_one_type_are_refused() -> None:
    """Which one wins must not depend on their order."""
    with pytest.raises(DuplicateBindingError, match="bound more than once: Config; remove one") as caught:
        ResourceRegistry.of(Binding.instance(Config, Config()), Binding.instance(Config, Config()))
    assert caught.value.protocols == ("Config",)


def test_merge_is_strict_unless_told() -> None:
    """Sections merge strictly; what a user binds overrides them on purpose."""
    ours = ResourceRegistry.build({Config: Config("ours"), Tracer: Tracer()})
    theirs = ResourceRegistry.build({Config: Config("theirs")})

    assert ours.conflicts(theirs) == (Config,)
    with pytest.raises(DuplicateBindingError):
        ours.merge(theirs)
    merged = ours.merge(theirs, strict=False)
    assert merged.open().get(Config).url == "theirs"
    assert Tracer in merged
    assert len(merged) == 2
    assert ours.open().get(Config).url == "ours"


def test_the_same_binding_twice_is_no_conflict() -> None:
    """Two sections may share one."""
    shared = Binding.instance(Config, Config())
    one, two = ResourceRegistry.of(shared), ResourceRegistry.of(shared)
    assert one.conflicts(two) == ()
    assert one.merge(two).binding_for(Config) is shared


def test_build_takes_bindings_and_objects() -> None:
    """`Prompt.bind(resources={...})` accepts either."""
    registry = ResourceRegistry.build(
        {Config: Config("x"), Database: Binding(Database, lambda r: Database(r.get(Config)))}
    )
    assert registry.open().get(Database).config.url == "x"
    assert [binding.protocol for binding in registry] == [Config, Database]
    with pytest.raises(ValueError, match="binding under Config is for Database"):
        ResourceRegistry.build({Config: Binding(Database, lambda _r: Database())})


def test_threads_get_one_singleton() -> None:
    """Tools of one batch run side by side."""
    ready, made, got = threading.Barrier(8), [], []

    def make(_r: Resolver) -> Config:
        made.append(1)
        return Config()

    resources = ResourceRegistry.of(Binding(Config, make)).open()

    def work() -> None:
        ready.wait()
        got.append(resources.call_scope().get(Config))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert all(config is got[0] for config in got)
    assert len(got) == 8


@pytest.mark.parametrize(
    "make",
    [
        lambda: UnboundResourceError("A", ("B",)),
        lambda: CircularDependencyError(("A", "B", "A")),
        lambda: DuplicateBindingError(("A",)),
        lambda: ProviderError("A", "no"),
        lambda: ResourceScopeError("A", "no"),
        lambda: ResourceCloseErrors("no", [OSError("x")]),
    ],
)
def test_errors_survive_pickling(make: Callable[[], Exception]) -> None:
    """They cross process boundaries with their facts."""
    error = make()
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert repr(vars(copy)) == repr(vars(error))


def test_context_is_what_open_gives() -> None:
    """Annotations of users name this type."""
    assert isinstance(ResourceRegistry().open(), ResourceContext)
