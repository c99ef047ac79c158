"""The section that lets an agent compute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from wink.prompt import MarkdownSection, SectionOptions
from wink.session import replace_latest
from wink.tools import Tool, ToolExample
from wink_asteval._config import MIB, AstevalConfig
from wink_asteval._guidance import guidance
from wink_asteval._handler import EvaluatePython
from wink_asteval._params import EvalFileRead, EvalParams
from wink_asteval._process import START_SECONDS
from wink_asteval._results import EvalResult

if TYPE_CHECKING:
    from wink.session import Session


class AstevalSection(MarkdownSection[Any]):
    """The tool `evaluate_python`: expressions and small scripts over the files that the prompt is bound to.

    Each script runs in a process of its own, which may use a bounded time and memory and is killed when they are used up.
    It reads only the files that the call names, and what it writes is written by the call itself, all of it or nothing.
    asteval, which interprets the scripts, is not a security boundary; on Linux the process also gives up nearly every
    system call before it starts (`AstevalConfig.kernel_filter`).

    Raises `PromptValidationError` where the library asteval is missing or too old.
    """

    def __init__(
        self,
        session: Session | None = None,
        config: AstevalConfig | None = None,
        *,
        accepts_overrides: bool | None = None,
        title: str = "Python",
        key: str | None = None,
        **options: Unpack[SectionOptions],
    ) -> None:
        self.config = config or AstevalConfig()
        overridable = self.config.accepts_overrides if accepts_overrides is None else accepts_overrides
        self._handler = EvaluatePython(self.config)
        super().__init__(
            title,
            guidance(self.config).replace("$", "$$"),
            key,
            tools=[self._tool(overridable)],
            accepts_overrides=overridable,
            **options,
        )
        if session is not None:
            self.install_once(session)

    def install(self, session: Session) -> None:
        """Let the session keep the latest result: their texts would add up call by call."""
        session[EvalResult].register(EvalResult, replace_latest)

    def cleanup(self) -> None:
        """End the process that was started ahead, if there is one."""
        self._handler.workers.close()
        super().cleanup()

    def _tool(self, accepts_overrides: bool) -> Tool[Any, Any]:
        return Tool[EvalParams, EvalResult](
            name="evaluate_python",
            description="Evaluate a Python expression or a short script, over files of the workspace if need be.",
            handler=self._handler.evaluate_python,
            examples=(
                ToolExample(
                    description="Add up a column",
                    input=EvalParams(
                        "rows = csv.DictReader(read_text('sales.csv'))\nsum(int(row['amount']) for row in rows)",
                        reads=(EvalFileRead("sales.csv"),),
                    ),
                    output=EvalResult("1250", reads=(EvalFileRead("sales.csv"),)),
                ),
            ),
            # Only for whoever runs calls on an event loop, which then waits beside it: a script ends long before.
            timeout=self.config.timeout_seconds + START_SECONDS + 30,
            accepts_overrides=accepts_overrides,
        )


def python_section(
    *,
    timeout_seconds: float = 5.0,
    memory_mib: int = 256,
    read_before_write: bool = False,
    prestart: bool = False,
    title: str = "Python",
) -> AstevalSection:
    """Let the agent evaluate Python expressions and small scripts over its files."""
    config = AstevalConfig(
        timeout_seconds=timeout_seconds,
        memory_bytes=int(memory_mib * MIB),
        read_before_write=read_before_write,
        prestart=prestart,
    )
    return AstevalSection(config=config, title=title)
