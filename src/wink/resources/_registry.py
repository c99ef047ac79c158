"""Which resources there are, before any of them is made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar, cast

from wink.errors import DuplicateBindingError
from wink.resources._binding import AnyBinding, Binding
from wink.resources._context import ResourceContext

T = TypeVar("T")


class ResourceRegistry:
    """An immutable set of bindings, at most one a type.

    >>> registry = ResourceRegistry.of(
    ...     Binding.instance(int, 8080), Binding(str, lambda resources: f"port {resources.get(int)}")
    ... )
    >>> with registry.open() as resources:
    ...     resources.get(str)
    'port 8080'
    """

    __slots__ = ("_bindings",)

    def __init__(self, bindings: Mapping[type, AnyBinding] | None = None) -> None:
        self._bindings: dict[type, AnyBinding] = dict(bindings or {})

    @classmethod
    def of(cls, *bindings: AnyBinding) -> ResourceRegistry:
        """A registry of these bindings; raises `DuplicateBindingError` naming every type that is bound twice."""
        found: dict[type, AnyBinding] = {}
        twice: list[type] = []
        for binding in bindings:
            if binding.protocol in found:
                twice.append(binding.protocol)
            found[binding.protocol] = binding
        _refuse(twice)
        return cls(found)

    @classmethod
    def build(cls, resources: Mapping[type, object]) -> ResourceRegistry:
        """A registry of bindings and of objects that exist already, by type.

        >>> ResourceRegistry.build({int: 8080, str: Binding(str, lambda resources: "x")}).binding_for(int)
        Binding(int, scope=SINGLETON)
        """
        found: dict[type, AnyBinding] = {}
        for protocol, value in resources.items():
            if not isinstance(value, Binding):
                found[protocol] = Binding[Any].instance(protocol, value)
                continue
            binding = cast("AnyBinding", value)
            if binding.protocol is not protocol:
                raise ValueError(
                    f"the binding under {protocol.__qualname__} is for {binding.protocol.__qualname__}; "
                    "put it under its own type"
                )
            found[protocol] = binding
        return cls(found)

    def merge(self, other: ResourceRegistry, strict: bool = True) -> ResourceRegistry:
        """The bindings of both. Where both bind a type: `DuplicateBindingError`, or, not `strict`, `other` wins."""
        if strict:
            _refuse(self.conflicts(other))
        return ResourceRegistry({**self._bindings, **other._bindings})

    def conflicts(self, other: ResourceRegistry) -> tuple[type, ...]:
        """The types that both bind, each to a binding of its own."""
        return tuple(
            protocol
            for protocol, binding in self._bindings.items()
            if other._bindings.get(protocol, binding) is not binding
        )

    def open(self) -> ResourceContext:
        """Make the eager resources, and the way to all others; close what it gives, or use it in `with`."""
        return ResourceContext.opened(self._bindings)

    def binding_for(self, protocol: type[T]) -> Binding[T] | None:
        """The binding of a type."""
        return self._bindings.get(protocol)

    def __contains__(self, protocol: type) -> bool:
        return protocol in self._bindings

    def __iter__(self) -> Iterator[AnyBinding]:
        return iter(self._bindings.values())

    def __len__(self) -> int:
        return len(self._bindings)

    def __repr__(self) -> str:
        return f"ResourceRegistry({', '.join(map(repr, self))})"


def _refuse(protocols: Iterable[type]) -> None:
    names = tuple(protocol.__qualname__ for protocol in protocols)
    if names:
        raise DuplicateBindingError(names)
