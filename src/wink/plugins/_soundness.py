"""See whether what a plugin has made can be used, before it takes part in what others have made."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from wink.plugins._guard import guarded

if TYPE_CHECKING:
    from wink.prompt import Section


def check_section(section: "Section[Any]", beside: "Iterable[Section[Any]]" = ()) -> None:
    """Build a template of the section and those that it is to stand beside, and render it; raises `Failed`.

    That compiles the tools' schemas, and asks for all that a section is asked for before the first call. One that needs
    parameters is not rendered.
    """
    from wink.prompt import Prompt, PromptTemplate
    from wink.session import Session

    with guarded(f"section {section.key!r}"):
        template = PromptTemplate(ns="wink", key="check", sections=[*beside, section])
        for node in template.plan.nodes:
            node.section.resources()
            node.section.default_resources()
            for tool in node.tools:
                tool.check()
        if all(node.params_type is None or node.default_params is not None for node in template.plan.nodes):
            Prompt(template).render(session=Session())
