"""The policy that governs the file tools, which another plugin offers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from wink.errors import PluginError, PromptValidationError

if TYPE_CHECKING:
    from wink.plugins import Catalog
    from wink.policies import ToolPolicy

OFFER: Final = "read-before-write.files"


def read_before_write_rule(section_key: str, catalog: Catalog | None) -> ToolPolicy:
    """The policy of the offer `read-before-write.files`; raises `PromptValidationError` when it cannot be had.

    A catalog is asked first: it knows the settings, and has read the entry points already.

    Its plugin is found through the entry points, so that neither plugin imports the other. The tools are not offered
    without the policy: a rule that is silently missing is worse than a template that cannot be built.
    """
    try:
        if catalog is not None:
            return catalog.use("policy", OFFER)
        from wink.prompt import ReadBeforeWritePolicy
    except (ImportError, PluginError) as error:
        raise PromptValidationError(
            f"the file tools need a policy that cannot be had: {error}; or pass read_before_write=False to go without it",
            (section_key,),
        ) from error
    return ReadBeforeWritePolicy()
