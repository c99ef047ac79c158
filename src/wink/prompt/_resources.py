"""The resources of a prompt: opened when they are first needed, closed when the outermost `with` ends."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from threading import RLock
from typing import TYPE_CHECKING, Any, Self, TypeVar

from wink.errors import PromptValidationError

if TYPE_CHECKING:
    from wink.prompt._plan import Node, Plan
    from wink.prompt._section import Section
    from wink.resources import Binding, ResourceContext, ResourceRegistry, Snapshotable

    Resources = ResourceRegistry | Mapping[type, object] | None

__all__ = ["PromptResources"]

T = TypeVar("T")


class PromptResources:
    """What the tools of a prompt find in `context.resources`.

    Bindings of the template give way to those of its sections, and both to those bound to the prompt. Two sections that
    bind one type differently are refused unless the prompt settles it.

    `with prompt.resources:` opens them, and its end closes them in reverse order of their construction; inner `with`
    blocks change nothing. Used without `with`, they open by themselves and stay open until `Prompt.cleanup`. May be
    used from several threads.
    """

    __slots__ = ("_bound", "_depth", "_lock", "_opened", "_plan", "_template")

    def __init__(self, template: "Resources", plan: "Plan") -> None:
        self._template, self._plan = template, plan
        self._bound: Resources = None
        self._opened: ResourceContext | None = None
        self._depth = 0
        self._lock = RLock()

    # What `context.resources` can do, outside of any call.

    def get(self, protocol: type[T]) -> T:
        """The resource bound to `protocol`; raises `UnboundResourceError` when there is none."""
        return self.opened().get(protocol)

    def get_optional(self, protocol: type[T]) -> T | None:
        """The resource bound to `protocol`, or `None`."""
        return self.opened().get_optional(protocol)

    def at_hand(self, protocol: type[T]) -> "T | Binding[T] | None":
        """The resource as far as there is one without opening anything: otherwise its binding, or `None`.

        For sections that describe a resource: a rendering must not keep anybody from binding another one.
        """
        if self._opened is not None:
            return self._opened.get_optional(protocol)
        binding = self.registry().binding_for(protocol)
        if binding is None or not binding.is_instance:
            return binding
        return binding.provider(self)

    def call_scope(
        self,
        overrides: Mapping[type, object] | None = None,
        on_made: Callable[["Snapshotable[Any]"], object] | None = None,
    ) -> "ResourceContext":
        """A scope for one tool call, in which `overrides` win and `TOOL_CALL` resources are fresh; close it after."""
        return self.opened().call_scope(overrides, on_made)

    def standing_in(self, resources: Mapping[type, object]) -> AbstractContextManager[None]:
        """Within the block, and in this context only, give these instead of what is bound."""
        return self.opened().standing_in(resources)

    def snapshotables(self) -> "tuple[tuple[type, Snapshotable[Any]], ...]":
        """The resources that exist already and can be rolled back."""
        return self.opened().snapshotables()

    # Their lifetime.

    def opened(self) -> "ResourceContext":
        """The open resources, opened now if they were not."""
        opened = self._opened
        if opened is not None:
            return opened
        with self._lock:
            if self._opened is None:
                self._opened = self.registry().open()
            return self._opened

    def close(self) -> None:
        """Close what is open, whoever still is inside a `with`; the next use opens anew."""
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    def __enter__(self) -> Self:
        with self._lock:
            self.opened()
            self._depth += 1
        return self

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._depth -= 1
            outermost = self._depth == 0
        if outermost:
            self.close()

    # Where they come from.

    def bind(self, resources: "Resources") -> None:
        """Add bindings that win over all others so far; must come before the resources are opened."""
        with self._lock:
            if self._opened is not None:
                raise PromptValidationError("the prompt's resources are open already; bind before they are used")
            self._bound = _by_type(self._bound) | _by_type(resources)

    def registry(self) -> "ResourceRegistry":
        """All bindings of the prompt: the template's, overlaid by its sections', overlaid by those that were bound."""
        from wink.resources import ResourceRegistry

        bound = _by_type(self._bound)
        template = _by_type(self._template)
        sections = self._collected(lambda section: section.resources(), bound)
        defaults = self._collected(lambda section: section.default_resources(), {**template, **sections, **bound})
        return ResourceRegistry.build({**defaults, **template, **sections, **bound})

    def _collected(
        self, resources_of: "Callable[[Section[Any]], Resources]", settled: Mapping[type, object]
    ) -> dict[type, object]:
        """What all sections bind; raises `PromptValidationError` where two differ about what is not settled anyway."""
        found: dict[type, object] = {}
        owners: dict[type, Node] = {}
        for node in self._plan.nodes:
            for protocol, resource in _by_type(resources_of(node.section)).items():
                if found.get(protocol, resource) is not resource and protocol not in settled:
                    raise PromptValidationError(
                        f"{protocol.__qualname__} is bound by the section {'/'.join(owners[protocol].path)!r} too; "
                        "say which one is meant with prompt.bind(resources=...)",
                        node.path,
                    )
                found[protocol], owners[protocol] = resource, node
        return found


def _by_type(resources: "Resources") -> dict[type, object]:
    """Bindings and objects by the type that they are bound to."""
    if resources is None:
        return {}
    if isinstance(resources, Mapping):
        return dict(resources)
    return {binding.protocol: binding for binding in resources}
