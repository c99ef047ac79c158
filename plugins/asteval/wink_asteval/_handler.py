"""One call of `evaluate_python`, step by step."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from wink.errors import DeadlineExceededError, ToolValidationError
from wink.tools import ToolContext, ToolResult
from wink_asteval._answer import Answer, Unreadable, read_answer
from wink_asteval._config import AstevalConfig
from wink_asteval._files import check_paths, read_all, write_all
from wink_asteval._params import EvalParams
from wink_asteval._process import Ended, TimedOut, TooLong
from wink_asteval._results import EvalResult
from wink_asteval._workers import Workers

if TYPE_CHECKING:
    from wink.filesystem import Filesystem

logger: Final = logging.getLogger("wink.asteval")

RESERVED: Final = ("reads",)
BEFORE_DEADLINE: Final = 0.05
"""Seconds before the run's deadline at which a script is stopped."""


class EvaluatePython:
    """The handler, bounded by one configuration."""

    __slots__ = ("_config", "workers")

    def __init__(self, config: AstevalConfig) -> None:
        self._config = config
        self.workers = Workers(prestart=config.prestart)

    def evaluate_python(self, params: EvalParams, *, context: ToolContext) -> ToolResult[EvalResult]:
        """Read, evaluate, write: each step only if the one before it succeeded."""
        config, result = self._config, EvalResult(reads=params.reads)
        self._check(params)
        texts: dict[str, str] = {}
        if params.reads or params.writes:
            check_paths(_files(context), params.reads, params.writes)
            texts = read_all(_files(context), params.reads, config.max_read_bytes)
        try:
            answer = self._evaluate(params, texts, context)
        except TimedOut:
            if context.deadline is not None and context.deadline.remaining().total_seconds() <= 2 * BEFORE_DEADLINE:
                raise DeadlineExceededError("the deadline passed while a script was evaluated") from None
            story = f"stopped after {config.timeout_seconds:g} s, before it had ended"
            return _failed(replace(result, stderr=story), f"The code was {story}; make it do less.")
        except (TooLong, Unreadable) as error:
            logger.warning("an evaluation gave an answer that cannot be used: %r", error)
            return _failed(replace(result, stderr="no usable answer"), "The code ended without a usable answer.")
        except Ended as error:
            return _failed(replace(result, stderr=error.reason), f"The code ended its own process: {error.reason}.")
        if answer.error is not None and not answer.kind:
            return _failed(
                replace(result, stderr=answer.error),
                f"The code was not run: its process could not be confined ({answer.error}); whoever runs this agent can "
                "allow it the system call, or set kernel_filter=False to go without.",
            )
        if answer.error is not None:
            failed = replace(result, stdout=answer.stdout, stderr=answer.error)
            return _failed(failed, f"The code failed with {answer.kind}.")
        if answer.writes:
            write_all(_files(context), answer.writes, config.max_write_bytes, read_first=config.read_before_write)
        done = replace(
            result, value_repr=answer.value, stdout=answer.stdout, globals=answer.globals, writes=answer.writes
        )
        return ToolResult.ok(done, "Evaluated.")

    def _check(self, params: EvalParams) -> None:
        if not params.code.strip():
            raise ToolValidationError("code is empty; give an expression or a script")
        if len(params.code) > self._config.max_code_chars:
            raise ToolValidationError(
                f"code has {len(params.code):,} characters; {self._config.max_code_chars:,} are allowed, split it up"
            )
        for name in params.globals:
            if not name.isidentifier() or name.startswith("__") or name in RESERVED:
                raise ToolValidationError(f"globals: {name!r} cannot be used as a name; choose another one")

    def _evaluate(self, params: EvalParams, texts: dict[str, str], context: ToolContext) -> Answer:
        config, seconds = self._config, self._config.timeout_seconds
        if context.deadline is not None:
            context.deadline.check()
            # A little less than there is: whoever waits for the run should not find the process still going.
            seconds = min(seconds, max(context.deadline.remaining().total_seconds() - BEFORE_DEADLINE, BEFORE_DEADLINE))
        job: dict[str, Any] = {
            "code": params.code,
            "globals": params.globals,
            "reads": texts,
            "writes": [(one.path, one.content, one.mode) for one in params.writes],
            "seconds": config.timeout_seconds,
            "memory_bytes": config.memory_bytes,
            "output_chars": config.max_output_chars,
            "write_chars": config.max_write_bytes,
            "filter": config.kernel_filter,
        }
        try:
            text = json.dumps(job).encode("ascii")
        except (ValueError, RecursionError):
            raise ToolValidationError("globals: a value is too large or too deep to be given to a script") from None
        # JSON escapes a character to twelve bytes at most.
        most = 12 * (config.max_write_bytes + 6 * config.max_output_chars) + 65_536
        try:
            said = self.workers.take().evaluate(text, seconds=seconds, most=most, beat=context.beat)
        finally:
            self.workers.prepare()
        return read_answer(said, config.max_output_chars)


def _files(context: ToolContext) -> Filesystem:
    from wink.filesystem import Filesystem

    if context.resources.get_optional(Filesystem) is None:
        raise ToolValidationError("there are no files here; leave out reads, writes and write_text")
    return context.filesystem


def _failed(result: EvalResult, message: str) -> ToolResult[EvalResult]:
    return ToolResult(message=f"{message} Nothing was written.", value=result, success=False)
