"""Attach agents that people already use: each call of their own tools is judged by wink's rules, recorded, and can be undone.

An agent is an offer in the group `wink.agents`: a factory of an `Agent`, which knows where its hooks stand and what its events
mean. Its hooks run a client that hands events to a helper, one for each workspace and user. The helper keeps what was there
before (the baseline), and compares: nothing that an agent does is rewritten.
"""

from typing import TYPE_CHECKING

from wink.spellings import lazily

if TYPE_CHECKING:
    from wink_attach._agent import (
        NOTHING,
        Action,
        Agent,
        Command,
        Edit,
        Event,
        Kind,
        Limited,
        Meaning,
        Resuming,
        Resumption,
        Scope,
        Trusting,
        Verdict,
        mapping,
        text,
    )
    from wink_attach._calls import session_name
    from wink_attach._hooks_file import edited, parsed, read_settings

__all__ = [
    "NOTHING",
    "Action",
    "Agent",
    "Command",
    "Edit",
    "Event",
    "Kind",
    "Limited",
    "Meaning",
    "Resuming",
    "Resumption",
    "Scope",
    "Trusting",
    "Verdict",
    "edited",
    "mapping",
    "parsed",
    "read_settings",
    "session_name",
    "text",
]

if not TYPE_CHECKING:  # each is imported when it is asked for: whoever reads the plugin's settings needs none
    __getattr__ = lazily(
        __name__,
        {
            "NOTHING Action Agent Command Edit Event Kind Limited Meaning Resuming Resumption Scope Trusting Verdict mapping text": "_agent",
            "edited parsed read_settings": "_hooks_file",
            "session_name": "_calls",
        },
    )
