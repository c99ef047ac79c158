"""Errors of model adapters and scripts."""

__all__: list[str] = []
