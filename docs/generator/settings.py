"""What `wink.toml` and `[tool.wink]` may hold, what plugins take, and the variables that are read."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any, Final, get_args, get_type_hints

from docs.generator.source import cell, dataclass_fields, doc, table
from wink.cli.settings import _sources
from wink_rules import Rule

MEANINGS: Final = {
    # each of wink's keys in a file of settings
    "plugins": "tables and lists about plugins: [which may be used](#which-plugins-may-be-used), and [what each is told](#what-plugins-take)",
    "mask": "secrets that are not written down: `patterns`, `names` of arguments, and `environment` variables whose values are secrets",
    "max_file_bytes": "the largest file that one write may make, in bytes, 1 GiB unless given; the smallest of several counts, and a "
    "workspace that is not trusted can only lower it",
    "portable_names": "`true`, in any of several, has `wink accept` refuse new names that Windows cannot hold, `aux.txt` or `a:b`; it takes them "
    "with a note otherwise, as calls of `run_command` always do. File tools never make one",
    "history": "how much of the past is kept: `keep`, with `calls`, `days` and `bytes`; see [what is kept](#what-is-kept)",
    "hide": "what a program in `wink try` does not see of your home, of the machine and of the environment, a list; a `!` in front shows it; only in your own settings; "
    "see [what is hidden](../guide/run-programs.md#what-is-hidden)",
    "persist": "files of your home that a program in `wink try` may change for real, a list; only in your own settings; see "
    "[what an agent keeps](../guide/run-programs.md#what-an-agent-keeps)",
    "network_default": '`"ask"` to be asked about hosts that `network` does not list, `"deny"` otherwise; your own settings alone can have you asked; see '
    "[asking about a host](../guide/run-programs.md#asking-about-a-host)",
    "network": "the hosts that a program in `wink try` reaches where its profile has the network, a list, or `true` or `false`; a workspace that is not trusted "
    "can only take hosts away; see [the network by name](../guide/run-programs.md#the-network-by-name)",
    "tools_files": "Python files whose functions marked with `@tool` are tools in every workspace, as with `--tools`, a list; only in your own settings; see "
    "[a file is enough](../guide/write-a-tool.md#a-file-is-enough)",
    "rules": "an array of tables, each [a rule](#a-rule)",
    "rules_default": 'what becomes of a call that no rule is about: `"allow"` unless given, `"ask"` or `"deny"`',
}
VARIABLES: Final = {
    "WINK_PLUGINS": "the plugins of other packages that may be used, with commas between them; empty: none. "
    "wink's own stay, but for those with a `-` before their name: `mine,-shell`",
    "WINK_DISABLE_PLUGINS": "plugins that are never imported, with commas between them",
    "WINK_PAGER": "the pager of `wink diff`, `log`, `show` and `blame` on a terminal, before `PAGER`",
}
RULE: Final = {
    # what a rule's fields are in a file; `Rule` says the same in sentences
    "action": '`"allow"`, `"deny"` or `"ask"`',
    "tools": "patterns for names of tools",
    "paths": "patterns for the paths that a call names",
    "arguments": "an argument's name, or `outer.inner`, to a pattern, a value, or a list of them",
    "effects": 'what the tool may touch: `"read"`, `"workspace"`, `"process"`, `"external"`',
    "requires": "tools that must have succeeded before in the session",
    "same_path": "whether `requires` means the same files",
    "at_most": "how many of these calls may succeed in a session",
    "path_arguments": "arguments that hold paths, besides those whose names say so",
    "reason": "what the model is told, and whoever is asked",
}


def blocks() -> dict[str, str]:
    """The keys of files, rules, plugins, variables."""
    plugins = [_plugin(name, cls) for name, cls in plugin_settings()]
    return {
        "keys": table(
            ["key", ""], [[cell(key, code=True), text] for key, text in _described(vars(_sources)["_KEYS"], MEANINGS)]
        ),
        "rule": _rule(),
        "plugins": "\n\n".join(plugins),
        "variables": table(
            ["variable", ""], [[cell(name, code=True), text] for name, text in _described(variables(), VARIABLES)]
        ),
    }


def variables() -> tuple[str, ...]:
    """The variables of wink's own that its source names."""
    from docs.generate import ROOT

    found: set[str] = set()
    for path in (ROOT / "src/wink").rglob("*.py"):
        found |= set(re.findall(r"\"(WINK_[A-Z_]+)\"", path.read_text(encoding="utf-8")))
    return tuple(sorted(found, reverse=True))


def plugin_settings() -> Iterator[tuple[str, type]]:
    """The settings of the plugins that ship with wink, by name."""
    from docs.generate import ROOT

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for name, target in sorted(project["entry-points"]["wink.hooks"].items()):
        module, _, attribute = target.partition(":")
        hooks: Any = import_module(module)
        hooks = getattr(hooks, attribute) if attribute else hooks
        if hasattr(hooks, "wink_settings"):
            yield name, hooks.wink_settings()


def _described(names: Any, meanings: dict[str, str]) -> Iterator[tuple[str, str]]:
    for name in names:
        if name not in meanings:
            raise ValueError(f"nothing says what {name} means; add a line to docs/generator/settings.py")
        yield name, meanings[name]


def _rule() -> str:
    fields = [one for one in dataclass_fields(Rule) if one.name != "origin"]
    said = dict(_described([one.name for one in fields], RULE))
    rows = [[cell(one.name, code=True), said[one.name], cell(_toml(one.default), code=True)] for one in fields]
    return table(["key", "meaning", "unless given"], rows)


def _plugin(name: str, cls: type) -> str:
    """What one plugin takes, and beneath it the tables within its table."""
    direction = {one.name: one.metadata.get("tighten", "") for one in fields(cls)}
    rows = [
        [
            cell(one.name, code=True),
            cell(one.type, code=True),
            cell(_toml(one.default), code=True),
            direction[one.name],
            cell(one.text),
        ]
        for one in dataclass_fields(cls)
    ]
    head = ["key", "type", "unless given", "a workspace may say", "meaning"]
    used = [place for place in range(len(head)) if place < 3 or any(row[place] for row in rows)]
    shown = table([head[place] for place in used], [[row[place] for place in used] for row in rows])
    parts = [f"### `[plugins.{name}]`", doc(cls), shown]
    for key, kind in get_type_hints(cls).items():
        parts += [
            _plugin(f"{name}.{key}.NAME", below)
            for below in get_args(kind)[1:]
            if isinstance(below, type) and is_dataclass(below)
        ]
    return "\n\n".join(parts)


def _toml(default: str) -> str:
    """A default as a file of settings would have it."""
    if default in ("None", "", "()", "{}", "''"):
        return {"()": "[]", "{}": "{}", "''": '""'}.get(default, "")
    default = {"True": "true", "False": "false"}.get(default, default)
    if default.startswith("(") and default.endswith(")"):
        default = f"[{default[1:-1].rstrip(',')}]"
    return default.replace("'", '"')
