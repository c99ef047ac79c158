"""Which run a call belongs to."""

from wink.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class RunContext:
    """Names a run for logs and events; `attempt` counts from 1."""

    run_id: str
    attempt: int = 1
    worker_id: str = ""
    trace_id: str | None = None

    def __post_init__(self) -> None:
        if not self.run_id:
            raise ValueError("run_id is empty; give the run a name")
        if self.attempt < 1:
            raise ValueError(f"attempt is {self.attempt}; attempts count from 1")
