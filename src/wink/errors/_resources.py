"""Errors of dependency injection."""

__all__: list[str] = []
