"""Who runs attempts, this process or a cluster of Ray, and the driver that hands them out until all tasks are over."""

from wink_batch.engines._driver import Driver, Ending, Sink, Watcher
from wink_batch.engines._engine import Engine, LocalEngine
from wink_batch.engines._ray import RayEngine

__all__ = ["Driver", "Ending", "Engine", "LocalEngine", "RayEngine", "Sink", "Watcher"]
