"""Errors of the session."""

__all__: list[str] = []
