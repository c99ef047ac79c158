"""`opencode serve`, started for one question: a copy of a conversation."""

from __future__ import annotations

import base64
import json
import re
import secrets
import subprocess
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException
from threading import Timer
from typing import Any, Final
from urllib.parse import quote

from wink.cli import wrong
from wink_attach._agent import Scope, mapping, text

_SECONDS: Final = 60
_ADDRESS: Final = re.compile(r"listening on http://127\.0\.0\.1:([0-9]{1,5})")
_MOST: Final = 1 << 24
_USER: Final = "opencode"


def forked(scope: Scope, conversation: str, gone: str) -> str:
    """The id of a copy of a conversation that ends before the message that goes; files are not touched. Raises `WrongInput`."""
    password = secrets.token_urlsafe(32)
    # Without a password anybody on this machine could have it run commands while it is there.
    environment = {**scope.environ, "OPENCODE_SERVER_PASSWORD": password, "OPENCODE_SERVER_USERNAME": _USER}
    try:
        server = subprocess.Popen(
            ["opencode", "serve", "--port", "0", "--hostname", "127.0.0.1"],
            cwd=scope.root or scope.home,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
    except OSError:
        raise wrong("opencode is not on the PATH, so its conversation stays as it is") from None
    made: Mapping[str, Any] = {}
    timer = Timer(_SECONDS, server.kill)
    timer.start()
    try:
        assert server.stdout is not None
        port = next((int(found[1]) for line in server.stdout if (found := _ADDRESS.search(line))), 0)
        login = base64.b64encode(f"{_USER}:{password}".encode()).decode()
        if port:
            made = _asked(port, login, f"/session/{quote(conversation, safe='')}/fork", {"messageID": gone})
    except (OSError, HTTPException, ValueError):
        pass  # as where there is no copy in its answer
    finally:
        timer.cancel()
        server.kill()
        server.communicate()
    new = text(made.get("id"), 200)
    if not new:
        raise wrong(
            f"opencode did not copy the conversation {conversation}; `wink undo --turn` takes the files back alone"
        )
    return new


def _asked(port: int, login: str, path: str, question: Mapping[str, str]) -> Mapping[str, Any]:
    connection = HTTPConnection("127.0.0.1", port, timeout=_SECONDS)
    try:
        headers = {"Authorization": f"Basic {login}", "Content-Type": "application/json"}
        connection.request("POST", path, json.dumps(question), headers)
        answer = connection.getresponse()
        return mapping(json.loads(answer.read(_MOST))) if answer.status == 200 else {}
    finally:
        connection.close()
