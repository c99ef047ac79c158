"""Import plugins in processes of their own, to see which can be used and what they leave behind."""

from wink.plugins.trial._trial import tried

__all__ = ["tried"]
