"""Read which files of the home a try may make real, and refuse those that other programs run or are told by."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

_WILD: Final = frozenset("*?")
_ANY: Final = "**"
_FIXED: Final = 2
"""So many directories a pattern names in full."""
_DATA: Final = (".json", ".jsonl")
"""What the names end in that a pattern may stand for."""
_DIRECTORIES: Final = frozenset(
    (
        *(".bashrc.d", ".emacs.d", ".git", ".gnupg", ".oh-my-zsh", ".ssh", ".terminfo", ".vim", ".wink", ".zsh"),
        *("agents", "applications", "autostart", "bin", "commands", "cron", "environment.d", "extensions", "fish"),
        *("git", "hooks", "libexec", "node_modules", "nvim", "plasma-workspace", "plugins", "rules", "site-packages"),
        *("skills", "systemd", "wink"),
    )
)
"""Directories of what runs, says what runs, or is wink's own, wherever in the home they are."""
_FILES: Final = frozenset(
    (
        *(".bash_aliases", ".claude.json", ".emacs", ".forward", ".gdbinit", ".gitattributes", ".gitmodules"),
        *(".mailcap", ".mcp.json", ".pam_environment", ".xresources", ".xsession", ".yarnrc.yml", "hooks.json"),
        *("mcp.json", "package.json", "plugin.json", "settings.json", "settings.local.json"),
    )
)
"""Files that sessions, git or agents are told by."""
_ENDINGS: Final = (
    *(".bash", ".cjs", ".conf", ".desktop", ".el", ".fish", ".js", ".lua", ".md", ".mjs", ".pl", ".ps1", ".pth", ".py"),
    *(".rb", ".service", ".sh", ".so", ".timer", ".toml", ".ts", ".vim", ".zsh"),
)
_STARTUP: Final = ("config", "env", "login", "logout", "profile", "rc")
"""What the names end in, behind a dot at the beginning, that shells and other programs look for when they start."""
_WRONG: Final = "must be a path below your home, such as ~/.claude/.credentials.json"


class HomePattern(NamedTuple):
    """The names on the way from the home to a file; `*`, `?` and, once, `**` stand for others, those with a dot first excepted."""

    parts: tuple[str, ...]

    @property
    def fixed(self) -> tuple[str, ...]:
        """The names before the first one that stands for others."""
        wild = (at for at, part in enumerate(self.parts) if _WILD & set(part))
        return self.parts[: next(wild, len(self.parts))]

    def fits(self, names: Sequence[str]) -> bool:
        """Whether a path is meant.

        >>> chats = home_pattern("~/.claude/projects/**/*.jsonl")
        >>> [chats.fits(path.split("/")[1:]) for path in ("~/.claude/projects/a/b.jsonl", "~/.claude/projects/.a/b.jsonl")]
        [True, False]
        """
        parts = self.parts
        if _ANY in parts:
            at = parts.index(_ANY)
            parts = (*parts[:at], *"*" * (len(names) - len(parts) + 1), *parts[at + 1 :])
        return len(parts) == len(names) and all(map(_is_named, names, parts))

    def leads(self, names: Sequence[str]) -> bool:
        """Whether a path that is meant may lie in a directory."""
        at = self.parts.index(_ANY) if _ANY in self.parts else len(self.parts) - 1
        rest = "*" * (len(names) - at) if _ANY in self.parts else ""
        return len(names) <= at + len(rest) and all(map(_is_named, names, (*self.parts[:at], *rest)))


def _is_named(name: str, part: str) -> bool:
    return fnmatchcase(name, part) and not (name.startswith(".") and part[0] in _WILD)


def home_pattern(text: str) -> HomePattern:
    """Read one entry of the setting `persist`; raises `ValueError` with what is wrong.

    >>> home_pattern("~/.ssh/authorized_keys")
    Traceback (most recent call last):
    ...
    ValueError: other programs run what is in .ssh, or are told by it
    """
    parts = tuple(text.removeprefix("~/").split("/"))
    if parts[0].startswith("~") or not text.isprintable() or {"", ".", ".."} & set(parts):
        raise ValueError(_WRONG)
    found = HomePattern(parts)
    if found.fixed != parts or "[" in text:
        is_bound = len(found.fixed) >= _FIXED and parts[-1].endswith(_DATA) and parts.count(_ANY) <= 1
        if not is_bound or any("[" in part or (_ANY in part and part != _ANY) for part in parts):
            raise ValueError(
                "a pattern names two directories first, has *, ? and one /**/, and ends in .json or .jsonl"
            )
    if reason := refusal(parts):
        raise ValueError(reason)
    return found


def refusal(names: Sequence[str]) -> str:
    """Why no try makes a path of the home real, whoever asks for it; empty where nothing is in the way.

    It is no proof: what reads a file as its settings is for the user to know who names that file.
    """
    if not all(name.isprintable() for name in names):
        return "its name cannot be printed"
    plain = [name.casefold() for name in names]
    for name in plain:
        if name in _DIRECTORIES:
            return f"other programs run what is in {name}, or are told by it"
    last = plain[-1]
    is_startup = last.startswith(".") and last.endswith(_STARTUP) and last != ".netrc"
    if is_startup or last in _FILES or last.endswith(_ENDINGS) or last.startswith("config"):
        return f"other programs run {names[-1]}, or are told by it"
    return ""
