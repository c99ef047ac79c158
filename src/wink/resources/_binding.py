"""How a resource is made, and how long it lives."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, runtime_checkable

T = TypeVar("T")
S = TypeVar("S")


class Scope(Enum):
    """How long an instance lives."""

    SINGLETON = "singleton"
    """One for the opened registry, closed with it."""
    TOOL_CALL = "tool_call"
    """A fresh one for each tool call that asks for it, closed after the call."""
    PROTOTYPE = "prototype"
    """A fresh one each time it is asked for; whoever asked closes it."""


@runtime_checkable
class Closeable(Protocol):
    """A resource that wants to be told when it is needed no more."""

    def close(self) -> None:
        """Give up what the resource holds."""
        ...


@runtime_checkable
class PostConstruct(Protocol):
    """A resource that has something to do once it is made, before anybody gets it."""

    def post_construct(self) -> None:
        """Finish the construction; raising means that it failed."""
        ...


@runtime_checkable
class Snapshotable(Protocol[S]):
    """A resource whose state rolls back with a failing call."""

    def snapshot(self) -> S:
        """The state now."""
        ...

    def restore(self, snapshot: S, /) -> object:
        """Go back to a state that `snapshot` gave; what it returns is not looked at."""
        ...


class Resolver(Protocol):
    """What a provider gets: the way to the resources that it needs."""

    def get(self, protocol: type[T], /) -> T:
        """The resource bound to this type."""
        ...

    def get_optional(self, protocol: type[T], /) -> T | None:
        """The resource bound to this type; None when none is."""
        ...


class Binding(Generic[T]):
    """Says that resources of type `protocol` are made by `provider`.

    The provider is called with the resolver when the resource is first needed, and with `eager` when the registry is
    opened. It may ask the resolver for other resources.

    >>> Binding(str, lambda resources: f"port {resources.get(int)}")
    Binding(str, scope=SINGLETON)
    """

    __slots__ = ("eager", "is_instance", "protocol", "provider", "scope")

    protocol: type[T]
    provider: Callable[[Resolver], T]
    scope: Scope
    eager: bool
    is_instance: bool

    def __init__(
        self, protocol: type[T], provider: Callable[[Resolver], T], scope: Scope = Scope.SINGLETON, eager: bool = False
    ) -> None:
        if eager and scope is not Scope.SINGLETON:
            raise ValueError(f"binding of {protocol.__qualname__}: only a SINGLETON can be eager, not {scope.name}")
        values = (protocol, provider, scope, eager, False)
        for name, value in zip(("protocol", "provider", "scope", "eager", "is_instance"), values, strict=True):
            object.__setattr__(self, name, value)

    if not TYPE_CHECKING:

        def __setattr__(self, name, value):
            """A registry has sorted its bindings by what they say; they never change."""
            raise AttributeError(f"a binding cannot be changed; make another Binding with {name}={value!r}")

        def __delattr__(self, name):
            """Bindings never change."""
            raise AttributeError(f"a binding cannot be changed; {name!r} stays")

    @classmethod
    def instance(cls, protocol: type[T], value: T) -> Binding[T]:
        """A binding of an object that exists already; whoever made it closes it.

        >>> Binding.instance(int, 8080).provider(None)
        8080
        """
        binding = cls(protocol, lambda _resolver: value)
        object.__setattr__(binding, "is_instance", True)
        return binding

    def __repr__(self) -> str:
        return f"Binding({self.protocol.__qualname__}, scope={self.scope.name}{', eager=True' if self.eager else ''})"


AnyBinding = Binding[Any]
