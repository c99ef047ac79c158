"""Errors of workspaces and their record."""

__all__: list[str] = []
