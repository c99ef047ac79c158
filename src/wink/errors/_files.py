"""Errors of the file layer."""

__all__: list[str] = []
