"""What authors of plugins need to test them; nothing of it is loaded unless it is asked for."""

from wink.testing._distributions import FakeDistribution, fake_distribution

__all__ = ["FakeDistribution", "fake_distribution"]
