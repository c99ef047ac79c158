"""What a program that is tried finds around the workspace, by a name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final, Literal

from wink.dataclass import dataclass
from wink_sandbox import ENVIRONMENT, Limits, Profile

Home = Literal["private", "empty"]


@dataclass(frozen=True, slots=True)
class TryProfile:
    """How much of the machine a program sees.

    `home` `private` shows it the real home directory, `/tmp` and `/var/tmp`, with what it writes there kept in the try;
    `empty` shows none of it.
    With `machine` it may read the rest of the machine, otherwise only the system. `env` lists the variables that it
    gets, a `*` at the end stands for any ending. `persist` are files of the home that it may make real, beside those that
    the user's settings name; None where it makes none real, whatever they say.
    """

    summary: str
    network: bool
    home: Home
    machine: bool
    env: tuple[str, ...]
    persist: tuple[str, ...] | None = None


def _agent(summary: str, *persist: str) -> TryProfile:
    return TryProfile(summary, True, "private", True, ("*",), persist)


PROFILES: Final = {
    "agent": _agent("network, your home and /tmp with private changes, the machine read-only"),
    "build": TryProfile(
        "no network, your home and /tmp with private changes, the machine read-only", False, "private", True, ("*",)
    ),
    "closed": TryProfile("no network, no home, nothing but the system", False, "empty", False, ENVIRONMENT),
    # Of an agent only what holds no settings, hooks, memory or plugins: those would be used outside later. So nothing of
    # `~/.claude.json`, which names servers to start, or of opencode, whose logins can name settings to fetch.
    "claude": _agent(
        "agent, with Claude Code's login and transcripts kept in your home",
        "~/.claude/.credentials.json",
        "~/.claude/projects/**/*.jsonl",
    ),
    "codex": _agent(
        "the same for Codex",
        "~/.codex/auth.json",
        "~/.codex/sessions/**/rollout-*.jsonl",
    ),
    "gemini": _agent(
        "the same for Gemini CLI",
        "~/.gemini/oauth_creds.json",
        "~/.gemini/gemini-credentials.json",
        "~/.gemini/google_accounts.json",
        "~/.gemini/tmp/*/chats/*.json",
        "~/.gemini/tmp/*/chats/*.jsonl",
    ),
    "qwen": _agent(
        "the same for Qwen Code",
        "~/.qwen/oauth_creds.json",
        "~/.qwen/projects/*/chats/*.jsonl",
    ),
}
"""The profiles of `wink try`, the usual one first."""

_UNLIMITED: Final = Limits(
    wall_seconds=None,
    memory_bytes=None,
    processes=8192,
    file_bytes=None,
    written_bytes=None,
    made_files=None,
    temporary_bytes=1 << 33,
)
_NEVER: Final = frozenset(("proc", "sys", "dev", "tmp", "run", "lost+found"))
_NEVER_IN_VAR: Final = frozenset(("tmp", "run", "lock"))


def profile_named(
    name: str, *, network: bool | tuple[str, ...] | None, home: str | None, readable: tuple[str, ...]
) -> Profile:
    """The sandbox's profile for a name of `PROFILES`; `network` decides where it is not None, `home` is where that is."""
    chosen = PROFILES[name]
    places = (*_machine(), *readable) if chosen.machine else readable
    return Profile(
        network=chosen.network if network is None else network,
        readable=tuple(places),
        home=home,
        limits=_UNLIMITED,
    )


def _machine() -> Iterator[str]:
    """Every directory at the top but those that are private or made up, and what is in /var likewise."""
    for above, never in (("/", _NEVER | {"var"}), ("/var", _NEVER_IN_VAR)):
        with os.scandir(above) as entries:
            for entry in entries:
                if entry.name not in never and entry.is_dir(follow_symlinks=False):
                    yield os.path.join(above, entry.name)
