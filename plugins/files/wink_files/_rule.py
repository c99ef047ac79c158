"""The policy that governs the file tools, which another plugin offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wink.errors import PromptValidationError

if TYPE_CHECKING:
    from wink.policies import ToolPolicy


def read_before_write_rule(section_key: str) -> ToolPolicy:
    """The policy of the offer `read-before-write.files`; raises `PromptValidationError` when it cannot be had.

    Its plugin is found through the entry points, so that neither plugin imports the other. The tools are not offered
    without the policy: a rule that is silently missing is worse than a template that cannot be built.
    """
    try:
        from wink.prompt import ReadBeforeWritePolicy
    except ImportError as error:
        raise PromptValidationError(
            f"the file tools need a policy that cannot be had: {error}; or pass read_before_write=False to go without it",
            (section_key,),
        ) from error
    return ReadBeforeWritePolicy()
