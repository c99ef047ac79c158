"""What of the machine no agent has business reading: other programs' credentials in the home, and in the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from wink_sandbox.hiding._names import other_names
from wink_sandbox.programs import is_in

USUALLY_HIDDEN: Final = (
    # keys, and what logs in to other machines
    *(
        "~/.ssh",
        "~/.gnupg",
        "~/.netrc",
        "~/.authinfo",
        "~/.authinfo.gpg",
        "~/.password-store",
        "~/.pgpass",
        "~/.my.cnf",
    ),
    *(
        "~/.local/share/keyrings",
        "~/.local/share/kwalletd",
        "~/.vault-token",
        "~/.config/op",
        "~/.config/sops",
        "~/.config/age",
    ),
    # clouds
    *("~/.aws", "~/.azure", "~/.config/gcloud", "~/.kube", "~/.oci", "~/.config/doctl", "~/.config/hcloud", "~/.fly"),
    *(
        "~/.terraform.d/credentials.tfrc.json",
        "~/.docker/config.json",
        "~/.config/containers/auth.json",
        "~/.databrickscfg",
    ),
    # where code is kept and published
    *("~/.config/gh", "~/.config/hub", "~/.config/glab-cli", "~/.git-credentials", "~/.config/git/credentials"),
    *("~/.pypirc", "~/.cargo/credentials", "~/.cargo/credentials.toml", "~/.gem/credentials"),
    *(
        "~/.npmrc",
        "~/.yarnrc",
        "~/.yarnrc.yml",
        "~/.m2/settings.xml",
        "~/.gradle/gradle.properties",
        "~/.composer/auth.json",
    ),
    *(
        "~/.nuget/NuGet/NuGet.Config",
        "~/.config/pip/pip.conf",
        "~/.pip/pip.conf",
        "~/.condarc",
        "~/.wgetrc",
        "~/.curlrc",
    ),
    *("~/.cache/huggingface/token", "~/.huggingface/token", "~/.kaggle/kaggle.json"),
    # what a person did elsewhere
    *("~/.mozilla", "~/.thunderbird", "~/.config/google-chrome", "~/.config/chromium", "~/.config/BraveSoftware"),
    *("~/.bash_history", "~/.zsh_history", "~/.python_history", "~/.psql_history", "~/.mysql_history"),
    *("$*SECRET*", "$*PASSWORD*", "$*PASSWD*", "$*PASSPHRASE*", "$*_TOKEN", "$*API_KEY", "$*APIKEY", "$*ACCESS_KEY"),
    *("$*ACCESS_KEY_ID", "$*PRIVATE_KEY", "$*_CREDENTIALS", "$*_PAT", "$DATABASE_URL"),
    # what agents log in with themselves
    *("!$ANTHROPIC_*", "!$CLAUDE_*", "!$OPENAI_*", "!$AZURE_OPENAI_*", "!$CODEX_*", "!$GEMINI_*", "!$GOOGLE_API_KEY"),
    *("!$GOOGLE_GENAI_*", "!$DASHSCOPE_*", "!$QWEN_*", "!$OPENROUTER_*", "!$MISTRAL_*", "!$DEEPSEEK_*", "!$GROQ_*"),
    *("!$XAI_*", "!$CURSOR_*", "!$MOONSHOT_*", "!$KIMI_*", "!$ZAI_*", "!$CEREBRAS_*", "!$AWS_BEARER_TOKEN_BEDROCK"),
)
"""Paths of the home, and names of variables behind a `$`, each of which may have wildcards there; a `!` makes an exception."""

_SETTINGS: Final = frozenset(
    (
        *(".npmrc", ".yarnrc", ".yarnrc.yml", "settings.xml", "gradle.properties", "NuGet.Config", "pip.conf"),
        *(".condarc", ".wgetrc", ".curlrc"),
    )
)
"""Settings that programs need, and that hold credentials only in some homes: they are hidden in those."""
_CREDENTIAL: Final = re.compile(
    rb"auth|passw|token|secret|api.?key|://[^/\s]+:[^/\s]+@|^\s*-?-?u(?:ser)?\b", re.IGNORECASE | re.MULTILINE
)
_MOST_BYTES: Final = 1 << 20
_SHOWN: Final = 8


class Kept(NamedTuple):
    """What is kept from a program: real paths that look empty, variables that it does not get, and both as they are told.

    `entries` say of each of the `places` which entry keeps it, "" for another name of one.
    """

    places: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()

    def entry(self, place: str) -> str | None:
        """Which entry keeps a real path; None for one that is not kept."""
        return next((entry for at, entry in zip(self.places, self.entries, strict=True) if is_in(place, at)), None)

    def __str__(self) -> str:
        """Some of it, and how much more there is; empty for nothing."""
        more = f" and {len(self.told) - _SHOWN} more" if len(self.told) > _SHOWN else ""
        return ", ".join(self.told[:_SHOWN]) + more


def problem_with(entry: str) -> str | None:
    """Why this says nothing that could be hidden."""
    text = entry.removeprefix("!")
    if text.startswith("$"):
        return None if len(text) > 1 else "names no variable"
    if not text.startswith(("~/", "/")) or ".." in text.split("/") or "\0" in text or not text.strip("~/"):
        return "must be a path such as ~/.config/acme or /srv/keys, or a variable such as $ACME_TOKEN, with ! in front of what is not to be hidden"
    return None


def kept_from(
    root: str, homes: Sequence[str], environ: Mapping[str, str], entries: Iterable[str], shown: Sequence[str] = ()
) -> Kept:
    """What of the machine is kept from a program in the workspace `root`, of what is there.

    `homes` are real paths of home directories, `entries` as those of `USUALLY_HIDDEN`; `shown` are paths, and variables behind a
    `$`, that the program is to see all the same.
    """
    entries = tuple(entries)
    wanted = [one for one in entries if not one.startswith("!")]
    excepted = [*(one[1:] for one in entries if one.startswith("!")), *shown]
    variables = tuple(name for name in environ if _is_meant(name, wanted) and not _is_meant(name, excepted))
    open_places = [
        real for one in excepted if not one.startswith("$") for place in _at(one, homes) for real in _real(place)
    ]
    places, told = dict[str, str](), dict[str, None]()
    for entry in (one for one in wanted if not one.startswith("$")):
        for place in _at(entry, homes):
            for real in _real(place):
                if is_in(root, real) or not _may_hold(entry, real):
                    continue  # a workspace in there would be hidden with it
                found = dict.fromkeys(_without(real, open_places), entry)
                places.update(found)
                if found:
                    told[entry if place.startswith(f"{homes[0] if homes else ''}/") else place] = None
    names = tuple(f"/{name}" for name in other_names("/", [place[1:] for place in places]))
    said = (*told, *(f"${name}" for name in variables))
    return Kept((*places, *names), variables, said, (*places.values(), *("" for _ in names)))


def would_keep(place: str, homes: Sequence[str], entries: Sequence[str]) -> str | None:
    """Which entry would keep a path that is not there yet; None where none would."""
    if any(one.startswith(("!~", "!/")) and is_in(place, at) for one in entries for at in _at(one[1:], homes)):
        return None
    wanted = (one for one in entries if not one.startswith(("!", "$")))
    return next((one for one in wanted if any(is_in(place, at) for at in _at(one, homes))), None)


def _is_meant(name: str, entries: Iterable[str]) -> bool:
    return any(one.startswith("$") and fnmatchcase(name.upper(), one[1:].upper()) for one in entries)


def _at(entry: str, homes: Sequence[str]) -> Iterator[str]:
    """Where an entry is: in each home, and what programs keep in `~/.config` where they are told to."""
    if not entry.startswith("~/"):
        yield os.path.abspath(entry)
        return
    for home in homes:
        yield f"{home}/{entry[2:].strip('/')}"
    config = os.environ.get("XDG_CONFIG_HOME", "")
    if entry.startswith("~/.config/") and os.path.isabs(config):
        yield f"{config.rstrip('/')}/{entry.removeprefix('~/.config/').strip('/')}"


def _real(place: str) -> Iterator[str]:
    """The path without links on its way, and of a link what that leads to; nothing where nothing is."""
    directory, name = os.path.split(place)
    named = f"{os.path.realpath(directory).rstrip('/')}/{name}"
    if os.path.lexists(named):
        yield named
        real = os.path.realpath(named)
        if real not in (named, "/") and os.path.exists(real):
            yield real


def _may_hold(entry: str, place: str) -> bool:
    """Whether there may be something in it to be hidden."""
    if os.path.basename(entry) not in _SETTINGS or not os.path.isfile(place):
        return True
    try:
        with open(place, "rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError:
        return True
    return len(data) > _MOST_BYTES or _CREDENTIAL.search(data) is not None


def _without(place: str, open_places: Sequence[str]) -> Iterator[str]:
    """A place, or what is in it besides what is to be seen."""
    if any(is_in(place, one) for one in open_places):
        return
    if not any(is_in(one, place) for one in open_places):
        yield place
        return
    with os.scandir(place) as entries:
        for entry in sorted(entries, key=lambda one: one.name):
            yield from _without(entry.path, open_places)
