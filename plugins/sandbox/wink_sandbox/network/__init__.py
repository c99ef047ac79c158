"""The network by name: a program's only way out is a proxy of wink's, which connects to what is listed.

`Listed` says what that is, `proxied` runs the proxy in a thread of this process, and `Traffic` tells what went through. The
proxy listens on a socket that the launcher made in the program's own network namespace, whose loopback is all there is:
nothing of wink runs in there, no path leads to it, and whoever does not use the proxy finds no route.
"""

from typing import TYPE_CHECKING

from wink.spellings import lazily
from wink_sandbox.network._traffic import Contact, Traffic
from wink_sandbox.network._way import PORT, Way, hosts_of, proxied, variables

if TYPE_CHECKING:
    from wink_sandbox.network._asking import People, has_terminal
    from wink_sandbox.network._at_hand import person_of
    from wink_sandbox.network._judged import Judged, judged, target
    from wink_sandbox.network._listed import Listed, entry

__all__ = [
    "PORT",
    "Contact",
    "Judged",
    "Listed",
    "People",
    "Traffic",
    "Way",
    "entry",
    "has_terminal",
    "hosts_of",
    "judged",
    "person_of",
    "proxied",
    "target",
    "variables",
]

if not TYPE_CHECKING:
    __getattr__ = lazily(
        __name__,
        {
            "Listed entry": "_listed",
            "Judged judged target": "_judged",
            "People has_terminal": "_asking",
            "person_of": "_at_hand",
        },
    )
