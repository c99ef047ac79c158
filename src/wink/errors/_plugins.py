"""Errors of plugins and settings."""

__all__: list[str] = []
