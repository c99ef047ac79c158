"""Tries: what programs did to a workspace, kept apart until a person accepts or drops it."""

from wink.tries._home import private_home
from wink.tries._profiles import PROFILES, profile_named
from wink.tries._terminal import run_here
from wink.tries._try import Accepted, Run, Try, tries

__all__ = ["PROFILES", "Accepted", "Run", "Try", "private_home", "profile_named", "run_here", "tries"]
