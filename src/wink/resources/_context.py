"""Resources in use: made when first asked for, closed in the reverse order.

Rules:

* One lock for a registry's context and its calls, held while a resource is made, so that a singleton is made once.
* A resource is added to the list of things to close when its `post_construct` has run; one whose `post_construct`
  failed is closed at once.
* A singleton outlives calls, so what it is made of must too: its provider cannot ask for a TOOL_CALL resource, and does
  not see what a call overrides.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar, cast

from wink.errors import (
    CircularDependencyError,
    HandleRevoked,
    ProviderError,
    ResourceCloseErrors,
    ResourceError,
    ResourceScopeError,
    UnboundResourceError,
)
from wink.resources._binding import AnyBinding, Binding, Closeable, PostConstruct, Resolver, Scope, Snapshotable

T = TypeVar("T")
Path = tuple[AnyBinding, ...]
"""What is being made, outermost first."""


class _Layer:
    """The instances of one lifetime."""

    __slots__ = ("built", "closed", "closing")

    def __init__(self, built: dict[type, object]) -> None:
        self.built = built
        self.closing: list[tuple[type, Closeable]] = []
        self.closed = False


class _Shared:
    """What a context and the calls in it have in common."""

    __slots__ = ("bindings", "lock", "singletons", "snapshotables")

    def __init__(self, bindings: Mapping[type, AnyBinding]) -> None:
        self.bindings = bindings
        self.lock = threading.RLock()
        self.singletons = _Layer({})
        self.snapshotables: tuple[tuple[type, Snapshotable[Any]], ...] = ()


class _StandingIn(NamedTuple):
    """What takes the place of singletons for a while."""

    shared: _Shared
    resources: Mapping[type, object]


_standing_in: ContextVar[_StandingIn | None] = ContextVar("wink.resources.standing_in", default=None)


class ResourceContext:
    """An opened registry, or the resources of one tool call in it; made by `ResourceRegistry.open` and `call_scope`."""

    __slots__ = ("_layer", "_on_made", "_shared")

    def __init__(
        self, shared: _Shared, layer: _Layer, on_made: Callable[[Snapshotable[Any]], object] | None = None
    ) -> None:
        self._shared = shared
        self._layer = layer
        self._on_made = on_made

    @classmethod
    def opened(cls, bindings: Mapping[type, AnyBinding]) -> ResourceContext:
        """A context over these bindings, the eager ones made; if one cannot be, those before it are closed.

        What exists already is taken in at once, so that its state is known to whoever takes a snapshot.
        """
        shared = _Shared(bindings)
        context = cls(shared, shared.singletons)
        try:
            for binding in bindings.values():
                if binding.eager or binding.is_instance:
                    context.get(binding.protocol)
        except BaseException as error:
            _close_after(context, error)
            raise
        return context

    def get(self, protocol: type[T], /) -> T:
        """The resource bound to this type; raises `UnboundResourceError` when none is."""
        layer, singletons = self._layer, self._shared.singletons
        if layer is singletons:
            standing_in = _standing_in.get()
            if standing_in is not None and standing_in.shared is self._shared and protocol in standing_in.resources:
                return cast("T", standing_in.resources[protocol])
        # No lock on the way that every call takes: what has been made stays where it is.
        if not (layer.closed or singletons.closed):
            found = layer.built.get(protocol)
            if found is None:
                found = singletons.built.get(protocol)
            if found is not None:
                return cast("T", found)
        return self._resolve(protocol, ())

    def get_optional(self, protocol: type[T], /) -> T | None:
        """The resource bound to this type; None when none is."""
        return self.get(protocol) if protocol in self else None

    def __contains__(self, protocol: type) -> bool:
        return protocol in self._layer.built or protocol in self._shared.bindings

    def call_scope(
        self,
        overrides: Mapping[type, object] | None = None,
        on_made: Callable[[Snapshotable[Any]], object] | None = None,
    ) -> ResourceContext:
        """The resources of one tool call: fresh TOOL_CALL ones, the same singletons, and `overrides` before either.

        Close it when the call has ended. Overrides are not closed: they belong to whoever made them. A call within a
        call starts from the bindings too, and needs its own overrides. `on_made` is given each singleton that the call is
        the first to ask for and that can be rolled back.
        """
        return ResourceContext(self._shared, _Layer({} if overrides is None else dict(overrides)), on_made)

    @contextmanager
    def standing_in(self, resources: Mapping[type, object]) -> Generator[None]:
        """Within the block, and in this context only (`contextvars`), give these instead of what is bound.

        What providers ask for is not affected: it would outlive the block.
        """
        outer = _standing_in.get()
        known = outer.resources if outer is not None and outer.shared is self._shared else dict[type, object]()
        token = _standing_in.set(_StandingIn(self._shared, {**known, **resources}))
        try:
            yield
        finally:
            _standing_in.reset(token)

    def snapshotables(self) -> tuple[tuple[type, Snapshotable[Any]], ...]:
        """The singletons that have been made and can be rolled back."""
        return self._shared.snapshotables

    def close(self) -> None:
        """Close what this context made, last first; all of it, whatever some raise. Harmless when repeated.

        Raises `ResourceCloseErrors`, an exception group. Objects that were bound as instances are not closed.
        """
        with self._shared.lock:
            self._layer.closed = True
            closing, self._layer.closing = self._layer.closing, []
        if not closing:
            return
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

    def __enter__(self) -> ResourceContext:  # noqa: PYI034 - `Self` would be a promise about subclasses
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            self.close()
        else:
            _close_after(self, error)

    def _resolve(self, protocol: type[T], path: Path) -> T:
        shared, layer = self._shared, self._layer
        with shared.lock:
            if layer.closed and layer is not shared.singletons:
                raise HandleRevoked("the call that these resources belong to has ended; nothing was changed")
            if shared.singletons.closed:
                raise ResourceScopeError(
                    protocol.__qualname__, "the resources are closed; ask inside `with prompt.resources`"
                )
            # What outlives the call does not see what belongs to the call.
            if any(binding.scope is Scope.SINGLETON for binding in path):
                layer = shared.singletons
            for built in (layer.built, shared.singletons.built):
                if protocol in built:
                    return cast("T", built[protocol])
            names = tuple(binding.protocol.__qualname__ for binding in path)
            binding: Binding[T] | None = shared.bindings.get(protocol)
            if binding is None:
                raise UnboundResourceError(protocol.__qualname__, names)
            if binding in path:
                raise CircularDependencyError((*names[path.index(binding) :], protocol.__qualname__))
            if binding.scope is Scope.SINGLETON:
                layer = shared.singletons
            elif binding.scope is Scope.TOOL_CALL and layer is shared.singletons:
                by = f"and {names[-1]} outlives the call" if names else "and no call is running"
                remedy = "ask context.resources for it inside a tool"
                raise ResourceScopeError(protocol.__qualname__, f"its scope is TOOL_CALL, {by}; {remedy}")
            resource = _make(binding, _Resolver(self._resolve, (*path, binding)))
            if binding.scope is not Scope.PROTOTYPE:
                self._keep(layer, binding, resource)
            return resource

    def _keep(self, layer: _Layer, binding: AnyBinding, resource: object) -> None:
        shared = self._shared
        layer.built[binding.protocol] = resource
        if layer is shared.singletons and isinstance(resource, Snapshotable):
            snapshotable = cast("Snapshotable[Any]", resource)
            shared.snapshotables = (*shared.snapshotables, (binding.protocol, snapshotable))
        if isinstance(resource, Closeable) and not binding.is_instance:
            layer.closing.append((binding.protocol, resource))
        if self._on_made is not None and layer is shared.singletons and isinstance(resource, Snapshotable):
            self._on_made(cast("Snapshotable[Any]", resource))


class _Resolver:
    """What a provider gets: the way to resources, and on whose behalf it is gone."""

    __slots__ = ("_path", "_resolve")

    def __init__(self, resolve: Callable[[type[Any], Path], Any], path: Path) -> None:
        self._resolve, self._path = resolve, path

    def get(self, protocol: type[T], /) -> T:
        return self._resolve(protocol, self._path)

    def get_optional(self, protocol: type[T], /) -> T | None:
        try:
            return self.get(protocol)
        except UnboundResourceError as error:
            if len(error.needed_by) == len(self._path):
                return None
            raise


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
