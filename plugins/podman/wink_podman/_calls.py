"""Podman's own filter of system calls, without the sockets that no namespace of a container holds."""

from __future__ import annotations

import errno
import json
import subprocess
from functools import cache
from typing import Any, Final

from wink_podman._engine import podman

_ALLOW: Final = "SCMP_ACT_ALLOW"
_SOCKET: Final = "socket"
_SOCKETCALL: Final = "socketcall"
"""The same for programs of 32 bits: its arguments lie in memory, where no filter can look."""

_FAMILIES: Final = (0, 1, 2, 10)
"""AF_UNSPEC, AF_UNIX, AF_INET, AF_INET6; AF_VSOCK, for one, leads out of a virtual machine from everywhere."""
_NETLINK, _PROTOCOLS, _AUDIT = 16, 32, 9


@cache
def without_far_sockets() -> str | None:
    """The filter as Podman reads it, for containers without network; None where Podman has its own in no file, and that one decides."""
    asked = subprocess.run(
        [podman(), "info", "--format", "{{.Host.Security.SECCOMPProfilePath}}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        with open(asked.stdout.strip(), encoding="utf-8") as file:
            return json.dumps(_narrowed(json.load(file)))
    except (OSError, ValueError):
        return None


def _narrowed(profile: dict[str, Any]) -> dict[str, Any]:
    """The same, but for the sockets.

    >>> made = _narrowed({"syscalls": [{"names": ["read", "socket"], "action": "SCMP_ACT_ALLOW"}]})["syscalls"]
    >>> [(rule["names"], [one["value"] for one in rule.get("args", ())]) for rule in made[:6]]
    [(['read'], []), (['socket'], [0]), (['socket'], [1]), (['socket'], [2]), (['socket'], [10]), (['socket'], [16, 0])]
    """
    kept = list[dict[str, Any]]()
    for rule in profile["syscalls"]:
        names = [name for name in rule["names"] if name not in (_SOCKET, _SOCKETCALL)]
        kept += [{**rule, "names": names}] if names else []
    for family in _FAMILIES:
        kept.append(_about(_ALLOW, _is(0, family)))
    # One for each, and what is refused last: libseccomp takes no rules for one call in other orders, nor any that overlap.
    for protocol in range(_PROTOCOLS):
        if protocol != _AUDIT:
            kept.append(_about(_ALLOW, _is(0, _NETLINK), _is(2, protocol)))
    # As Podman's own: so programs see that there is no auditing, and do without.
    kept.append({**_about("SCMP_ACT_ERRNO", _is(0, _NETLINK), _is(2, _AUDIT)), "errnoRet": errno.EINVAL})
    return {**profile, "syscalls": kept}


def _about(action: str, *arguments: dict[str, Any]) -> dict[str, Any]:
    return {"names": [_SOCKET], "action": action, "args": list(arguments)}


def _is(index: int, value: int) -> dict[str, Any]:
    return {"index": index, "value": value, "valueTwo": 0, "op": "SCMP_CMP_EQ"}
