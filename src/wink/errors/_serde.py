"""Errors of serialisation."""

__all__: list[str] = []
