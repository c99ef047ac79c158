"""Put the prompt and the model of one task of a batch together, as `wink run` does for one run."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from wink.adapters import ProviderAdapter
from wink.cli import compose, installed_catalog, model_adapter, participants, rule_policies, wrong
from wink.filesystem import Filesystem
from wink.prompt import MarkdownSection, Prompt, PromptTemplate
from wink.resources import ResourceRegistry
from wink_batch import Assembling, Task, named

ASSEMBLY: Final = "wink_batch:assemble"
TASK: Final = "task"
"""The key of the section that says what is to be done."""


def assemble(about: Assembling) -> tuple[Prompt[Any], ProviderAdapter]:
    """The prompt and the model of a task; options are `template`, `sections`, `policies`, `model` and `base_url`."""
    options, task, workspace = about.options, about.task, about.workspace
    catalog = installed_catalog(workspace.root)
    model = task.model or options.get("model") or ""
    if not model:
        raise wrong(f"task {task.id!r} has no model; name one with --model, or in the column 'model'")
    adapter = model_adapter(model, catalog, base_url=options.get("base_url"))
    named_sections, named_policies = options.get("sections", ()), options.get("policies", ())
    plugins = participants(catalog, named_sections, named_policies)
    plugins.watch(workspace.session("default"))
    if not options.get("template"):
        if task.params:
            raise wrong(f"task {task.id!r} has params, but there is no --template to take them")
        return compose(workspace, catalog, task=task.prompt, sections=named_sections, policies=named_policies), adapter
    rules = rule_policies(workspace.root)
    sections = catalog.sections(named_sections)
    policies = [*(catalog.use("policy", name) for name in named_policies), *rules]
    prompt = prompt_for(named(options["template"]), task, sections, policies)
    resources = ResourceRegistry.build({Filesystem: workspace.filesystem})
    if (theirs := plugins.resources()) is not None:
        resources = theirs.merge(resources, strict=False)
    return prompt.bind(resources=resources), adapter


def prompt_for(found: object, task: Task, sections: Sequence[Any] = (), policies: Sequence[Any] = ()) -> Prompt[Any]:
    """The prompt that a template, or a function of the task that gives one or a whole prompt, makes of a task.

    Sections and policies are added to templates; a prompt that a function gives can have none besides its own.
    """
    has_seen = False
    if callable(found) and not isinstance(found, PromptTemplate | Prompt):
        has_seen = bool(inspect.signature(found).parameters)
        found = found(task) if has_seen else found()
    if isinstance(found, Prompt):
        if sections or policies:
            raise wrong(
                "--template gives a whole prompt, to which no sections, policies and rules can be added; "
                "let it give a PromptTemplate"
            )
        return cast("Prompt[Any]", found)
    if not isinstance(found, PromptTemplate):
        raise wrong(
            f"--template must name a PromptTemplate, or a function of a task that gives one, not {found!r:.100}"
        )
    template = cast("PromptTemplate[Any]", found)
    if sections or policies:
        template = _more(template, sections, policies)
    return _bound(template, task, has_seen=has_seen)


def _bound(template: PromptTemplate[Any], task: Task, *, has_seen: bool = False) -> Prompt[Any]:
    """The template with the task's params, and its prompt where there is a place for it, or in a section of its own."""
    from wink.serde import parse

    kinds = [kind for kind in template.plan.params_types if dataclasses.is_dataclass(kind)]
    given, used, bound = dict(task.params), set[str](), list[object]()
    takes_prompt = has_seen or not task.prompt
    for kind in kinds:
        names = {one.name for one in dataclasses.fields(kind) if one.init}
        values: Mapping[str, Any] = given[kind.__name__] if isinstance(given.get(kind.__name__), Mapping) else given
        used |= {kind.__name__} & given.keys()
        mine = {name: value for name, value in values.items() if name in names}
        used |= mine.keys()
        for name in ("prompt", "task"):
            if task.prompt and name in names and name not in mine and not takes_prompt:
                mine[name] = task.prompt
                takes_prompt = True
        bound.append(parse(kind, mine, coerce=True))
    unknown = sorted(given.keys() - used)
    if unknown and not has_seen:
        known = sorted({one.name for kind in kinds for one in dataclasses.fields(kind)})
        raise wrong(
            f"task {task.id!r} has params that the template does not take: {', '.join(unknown)}; "
            f"it takes {', '.join(known) or 'none'}"
        )
    if not takes_prompt:
        text = task.prompt.replace("$", "$$")
        section = MarkdownSection[Any](title="Task", key=TASK, template=text, accepts_overrides=False)
        template = _more(template, [section], [])
    return Prompt(template).bind(*bound)


def _more(template: PromptTemplate[Any], sections: Sequence[Any], policies: Sequence[Any]) -> PromptTemplate[Any]:
    """The same template with more in it."""
    make: Any = PromptTemplate if template.answer.annotation is None else PromptTemplate[template.answer.annotation]
    return make(
        ns=template.ns,
        key=template.key,
        name=template.name,
        sections=[*template.sections, *sections],
        policies=[*template.policies, *policies],
        feedback_providers=template.feedback_providers,
        task_completion_checker=template.task_completion_checker,
        allow_extra_keys=template.allow_extra_keys,
        resources=template.resources,
    )
