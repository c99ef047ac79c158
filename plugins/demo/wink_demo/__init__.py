"""A small refactoring tool: the plugin that `wink demo` uses, and an example of one that ships in a package."""

from wink_demo._refactor import RefactorSection, refactor_section

__all__ = ["RefactorSection", "refactor_section"]
