"""What sections, tools, policies and adapters promise, as classes of tests for their authors to inherit."""

from wink.testing._contracts._adapters import AdapterContract
from wink.testing._contracts._policies import PolicyContract
from wink.testing._contracts._sections import SectionContract
from wink.testing._contracts._tools import ToolContract

__all__ = ["AdapterContract", "PolicyContract", "SectionContract", "ToolContract"]
