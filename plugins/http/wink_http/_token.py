"""Keep the token that clients show to a workspace's server, in the user's own directory, from one start to the next."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from hashlib import sha256
from typing import Final

from wink.errors import RecordCorrupt
from wink.state import key_problem, opened_directory, read_file, replace_file, user_directory
from wink_http._errors import TokenUnusable

_DIRECTORY: Final = "tokens"
_FEWEST: Final = 16
_MOST: Final = 4096
_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")


def token_in(text: str, source: str) -> str:
    """The token that a file has; raises `TokenUnusable` for what cannot be sent as one (RFC 6750), or could be guessed.

    >>> token_in("9f86d081884c7d659a2f\\n", "the file")
    '9f86d081884c7d659a2f'
    >>> token_in("hunter2", "the file")
    Traceback (most recent call last):
    ...
    wink_http._errors.TokenUnusable: the file holds no token that can be used: it has fewer than 16 characters; give a file that has one, from `openssl rand -hex 32`, with --token-file
    """
    token = text.strip()
    if len(token) < _FEWEST:
        raise TokenUnusable(source, f"it has fewer than {_FEWEST} characters")
    if len(token) > _MOST:
        raise TokenUnusable(source, f"it has more than {_MOST} characters")
    if not _TOKEN.fullmatch(token):
        raise TokenUnusable(source, "it has other characters than letters, digits and ._~+/-")
    return token


def kept_token(workspace: str) -> tuple[str, str]:
    """The token of a workspace's server, made if there is none, and the file that it is in.

    The file is the user's alone; deleting it makes every client's token worthless once the server starts again. Raises
    `TokenUnusable` where it cannot be kept.
    """
    # The key lies in the same directory, and has the same enemies: whatever would spoil it would spoil this.
    problem = key_problem()
    above = user_directory()
    if problem is not None or above is None:
        raise TokenUnusable("the user's state directory", problem or "it has no place")
    directory = os.path.join(os.path.realpath(above), _DIRECTORY)
    name = sha256(os.fsencode(os.path.realpath(workspace))).hexdigest()[:32]
    path = os.path.join(directory, name)
    try:
        with opened_directory(directory, make=True) as fd:
            fcntl.flock(fd, fcntl.LOCK_EX)  # of two that start at once, one makes it
            try:
                data = read_file(fd, name, _MOST)
            except FileNotFoundError:
                data = secrets.token_urlsafe(32).encode() + b"\n"
                replace_file(fd, name, data)
    except RecordCorrupt as error:
        raise TokenUnusable(path, str(error)) from error
    except OSError as error:
        raise TokenUnusable(path, error.strerror or type(error).__name__) from error
    return token_in(data.decode("latin-1"), path), path
