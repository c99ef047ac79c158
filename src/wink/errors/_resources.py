"""Errors of dependency injection."""

from collections.abc import Sequence

from wink.errors._core import WinkError

__all__ = [
    "CircularDependencyError",
    "DuplicateBindingError",
    "ProviderError",
    "ResourceCloseErrors",
    "ResourceError",
    "ResourceScopeError",
    "UnboundResourceError",
]


class ResourceError(WinkError):
    """A resource cannot be had."""


class UnboundResourceError(ResourceError, LookupError):
    """Nothing is bound to the type; `needed_by` are the types whose construction led here, outermost first."""

    def __init__(self, protocol: str, needed_by: Sequence[str] = ()) -> None:
        self.protocol, self.needed_by = protocol, tuple(needed_by)
        super().__init__(protocol, self.needed_by)

    def __str__(self) -> str:
        chain = f" (needed by {' -> '.join(self.needed_by)})" if self.needed_by else ""
        return f"no resource is bound to {self.protocol}{chain}; bind one with Binding({self.protocol}, ...)"


class CircularDependencyError(ResourceError):
    """Providers need each other; `cycle` begins and ends with the same type."""

    def __init__(self, cycle: Sequence[str]) -> None:
        self.cycle = tuple(cycle)
        super().__init__(self.cycle)

    def __str__(self) -> str:
        return (
            f"resources need each other: {' -> '.join(self.cycle)}; let one of them look the other up when it is used"
        )


class DuplicateBindingError(ResourceError):
    """Several bindings are for the same types."""

    def __init__(self, protocols: Sequence[str]) -> None:
        self.protocols = tuple(protocols)
        super().__init__(self.protocols)

    def __str__(self) -> str:
        return f"bound more than once: {', '.join(self.protocols)}; remove one, or use merge(strict=False) to override"


class ProviderError(ResourceError):
    """A provider raised while it built a resource, or the resource's `post_construct` did; see `__cause__`."""

    says = "the provider of {protocol} failed: {problem}"

    def __init__(self, protocol: str, problem: str) -> None:
        self.protocol, self.problem = protocol, problem
        super().__init__(protocol, problem)


class ResourceScopeError(ResourceError):
    """A resource was asked for where its scope does not reach."""

    says = "{protocol}: {problem}"

    def __init__(self, protocol: str, problem: str) -> None:
        self.protocol, self.problem = protocol, problem
        super().__init__(protocol, problem)


class ResourceCloseErrors(ResourceError, ExceptionGroup[Exception]):
    """Resources that raised while they were closed; all were asked to close."""
