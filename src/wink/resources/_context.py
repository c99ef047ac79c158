"""Resources in use: made when first asked for, closed in the reverse order.

Rules:

* One lock a tree of contexts, held while a resource is made, so that a singleton is made once.
* A resource is added to the list of things to close when its `post_construct` has run; one whose construction failed
  is closed at once.
* A singleton outlives calls, so what it is made of must too: its provider cannot ask for a TOOL_CALL resource.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any, TypeVar, cast

from wink.errors import (
    CircularDependencyError,
    ProviderError,
    ResourceCloseErrors,
    ResourceError,
    ResourceScopeError,
    UnboundResourceError,
)
from wink.resources._binding import AnyBinding, Binding, Closeable, PostConstruct, Resolver, Scope, Snapshotable

T = TypeVar("T")


class ResourceContext:
    """An opened registry, or the resources of one tool call in it; made by `ResourceRegistry.open` and `call_scope`."""

    __slots__ = ("_bindings", "_built", "_closed", "_closing", "_eager", "_lock", "_root", "_snapshotable")

    def __init__(self, bindings: Mapping[type, AnyBinding]) -> None:
        self._bindings = bindings
        self._root = self
        self._lock = threading.RLock()
        self._built: dict[type, object] = {}
        self._closing: list[tuple[type, Closeable]] = []
        self._snapshotable: tuple[tuple[type, Snapshotable[Any]], ...] = ()
        self._closed = False
        try:
            for binding in bindings.values():
                if binding.eager:
                    self.get(binding.protocol)
        except BaseException as error:
            _close_after(self, error)
            raise

    def get(self, protocol: type[T], /) -> T:
        """The resource bound to this type; raises `UnboundResourceError` when none is."""
        # No lock on the way that every call takes: what is built stays where it is.
        built = self._built.get(protocol)
        if built is None:
            built = self._root._built.get(protocol)
        if built is None or self._closed or self._root._closed:
            return _Resolution(self, ()).get(protocol)
        return cast("T", built)

    def get_optional(self, protocol: type[T], /) -> T | None:
        """The resource bound to this type; None when none is."""
        return self.get(protocol) if protocol in self else None

    def __contains__(self, protocol: type) -> bool:
        return protocol in self._built or protocol in self._root._bindings

    def call_scope(self, overrides: Mapping[type, object] | None = None) -> ResourceContext:
        """The resources of one tool call: fresh TOOL_CALL ones, the same singletons, and `overrides` before either.

        Close it when the call has ended. Overrides are not closed: they belong to whoever made them. Singletons that are
        made meanwhile do not see them. A call within a call sees the overrides of the outer one, not its resources.
        """
        scope = object.__new__(ResourceContext)
        root = self._root
        scope._bindings, scope._root, scope._lock = root._bindings, root, root._lock
        scope._built = {} if overrides is None else dict(overrides)
        scope._closing = []
        scope._closed = False
        return scope

    def snapshotables(self) -> tuple[tuple[type, Snapshotable[Any]], ...]:
        """The singletons that have been made and can be rolled back."""
        return self._root._snapshotable

    def close(self) -> None:
        """Close what this context made, last first; all of it, whatever some raise. Harmless when repeated.

        Raises `ResourceCloseErrors`, an exception group. Objects that were bound as instances are not closed.
        """
        with self._lock:
            self._closed = True
            closing, self._closing = self._closing, []
        errors: list[Exception] = []
        interrupt: BaseException | None = None
        for protocol, resource in reversed(closing):
            try:
                resource.close()
            except Exception as error:  # foreign code
                error.add_note(f"while closing {protocol.__qualname__}")
                errors.append(error)
            except BaseException as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt
        if errors:
            raise ResourceCloseErrors(f"{len(errors)} of {len(closing)} resources could not be closed", errors)

    def __enter__(self) -> ResourceContext:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            _close_after(self, error)

    # -- making, the lock held

    def _keep(self, binding: AnyBinding, resource: object) -> None:
        self._built[binding.protocol] = resource
        if self is self._root and isinstance(resource, Snapshotable):
            self._snapshotable = (*self._snapshotable, (binding.protocol, cast("Snapshotable[Any]", resource)))
        if isinstance(resource, Closeable) and not binding.is_instance:
            self._closing.append((binding.protocol, resource))


class _Resolution:
    """One construction under way: knows what is being made, outermost first."""

    __slots__ = ("_context", "_path")

    def __init__(self, context: ResourceContext, path: tuple[AnyBinding, ...]) -> None:
        self._context, self._path = context, path

    def get(self, protocol: type[T], /) -> T:
        context = self._context
        root = context._root
        with context._lock:
            if context._closed or root._closed:
                raise ResourceScopeError(protocol.__qualname__, "the resources are closed; ask while the call runs")
            if protocol in context._built:
                return cast("T", context._built[protocol])
            if protocol in root._built:
                return cast("T", root._built[protocol])
            binding: Binding[T] | None = root._bindings.get(protocol)
            names = tuple(needed.protocol.__qualname__ for needed in self._path)
            if binding is None:
                raise UnboundResourceError(protocol.__qualname__, names)
            if binding in self._path:
                raise CircularDependencyError((*names[self._path.index(binding) :], protocol.__qualname__))
            if binding.scope is Scope.SINGLETON:
                context = root
            elif binding.scope is Scope.TOOL_CALL and context is root:
                by = f"and {names[-1]} outlives the call" if names else "and no call is running"
                raise ResourceScopeError(
                    protocol.__qualname__, f"its scope is TOOL_CALL, {by}; ask context.resources for it inside a tool"
                )
            resource = _make(binding, _Resolution(context, (*self._path, binding)))
            if binding.scope is not Scope.PROTOTYPE:
                context._keep(binding, resource)
            return resource

    def get_optional(self, protocol: type[T], /) -> T | None:
        return self.get(protocol) if protocol in self._context else None


def _make(binding: Binding[T], resolver: Resolver) -> T:
    name = binding.protocol.__qualname__
    try:
        resource = binding.provider(resolver)
    except ResourceError:
        raise
    except Exception as error:  # foreign code
        raise ProviderError(name, f"{type(error).__name__}: {error}") from error
    if resource is None:
        raise ProviderError(name, "it returned None; return the resource")
    if isinstance(resource, PostConstruct) and not binding.is_instance:
        try:
            resource.post_construct()
        except BaseException as error:
            if isinstance(resource, Closeable):
                try:
                    resource.close()
                except Exception as closing:  # foreign code
                    error.add_note(f"closing it then failed too: {closing!r}")
            if not isinstance(error, Exception) or isinstance(error, ResourceError):
                raise
            raise ProviderError(name, f"post_construct raised {type(error).__name__}: {error}") from error
    return resource


def _close_after(context: ResourceContext, error: BaseException) -> None:
    """Close without hiding the error that ended the use."""
    try:
        context.close()
    except ResourceCloseErrors as failures:
        error.add_note(f"{failures}: {', '.join(map(repr, failures.exceptions))}")
