"""Tools for agents that cannot leave a mess."""

__version__ = "0.1.0"
