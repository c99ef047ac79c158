"""Errors of tools, sections, prompts and their evaluation."""

__all__: list[str] = []
