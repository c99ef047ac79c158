"""What tools work with besides files and state: made when needed, shared or fresh a call, closed at the end."""

from wink.errors import (
    CircularDependencyError,
    DuplicateBindingError,
    ProviderError,
    ResourceCloseErrors,
    ResourceError,
    ResourceScopeError,
    UnboundResourceError,
)
from wink.resources._binding import Binding, Closeable, PostConstruct, Resolver, Scope, Snapshotable
from wink.resources._context import ResourceContext
from wink.resources._registry import ResourceRegistry

__all__ = [
    "Binding",
    "CircularDependencyError",
    "Closeable",
    "DuplicateBindingError",
    "PostConstruct",
    "ProviderError",
    "Resolver",
    "ResourceCloseErrors",
    "ResourceContext",
    "ResourceError",
    "ResourceRegistry",
    "ResourceScopeError",
    "Scope",
    "Snapshotable",
    "UnboundResourceError",
]
