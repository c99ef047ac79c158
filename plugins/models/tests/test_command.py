"""`wink run` with a model of a provider: a whole process, over loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from plugins.models.tests.server import serving
from plugins.models.tests.speaking import Fail, Say
from tests.states import state_of

KEY = "sk-secret-0123456789"
URLS = {"openai": "/v1", "openai-chat": "/v1", "anthropic": ""}
WRITE = Say("I write.", calls=(("write_file", '{"file_path": "new.txt", "content": "made"}', "id-1"),))


def wink(where: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "ANTHROPIC_"))}
    return subprocess.run(
        [sys.executable, "-m", "wink", *arguments],
        cwd=where,
        env={**own, **environ},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@pytest.mark.parametrize("kind", URLS)
def test_a_run_does_the_job(tmp_path: Path, kind: str) -> None:
    """The same prompt and tools, whichever provider answers; the key goes to it and nowhere else."""
    with serving([WRITE, Say("Done.")]) as server:
        ran = wink(
            tmp_path, "run", "Write new.txt", "--model", f"{kind}:m", "--base-url", server.url + URLS[kind],
            OPENAI_API_KEY=KEY, ANTHROPIC_API_KEY=KEY,
        )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert server.problems == []
    assert (tmp_path / "new.txt").read_text() == "made"
    assert KEY in str(server.headers)
    state = b"".join(path.read_bytes() for path in state_of(tmp_path).rglob("*") if path.is_file())
    assert KEY.encode() not in state
    assert KEY not in ran.stdout + ran.stderr + str(server.bodies)


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_missing_key_is_one_clear_line(tmp_path: Path, kind: str) -> None:
    """Before anything is sent."""
    ran = wink(tmp_path, "run", "x", "--model", f"{kind}:m")
    assert ran.returncode == 2
    assert f"there is no key; set {kind.upper()}_API_KEY" in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1


def test_a_server_of_ones_own_wants_no_key(tmp_path: Path) -> None:
    """The SDK does, so it is given a word."""
    with serving([Say("Done.")]) as server:
        ran = wink(tmp_path, "run", "x", "--model", "openai-chat:m", "--base-url", f"{server.url}/v1")
    assert ran.returncode == 0, ran.stderr


def test_a_provider_that_refuses_ends_the_run_in_one_line(tmp_path: Path) -> None:
    """Without the key that it repeats, and without a traceback."""
    with serving([Fail(401, f"Incorrect API key provided: {KEY}")]) as server:
        ran = wink(tmp_path, "run", "x", "--model", "openai:m", "--base-url", f"{server.url}/v1", OPENAI_API_KEY=KEY)
    assert ran.returncode == 1
    assert "401: " in ran.stderr
    assert KEY not in ran.stdout + ran.stderr


def test_settings_say_where_a_model_is(tmp_path: Path) -> None:
    """The user's own; a file of the workspace, which an agent can edit, must not send the key elsewhere."""
    config = tmp_path / "config" / "wink"
    config.mkdir(parents=True)
    work = tmp_path / "work"
    work.mkdir()
    with serving([Say("Done.")]) as server, serving([]) as thief:
        settings = (
            '[tool.wink.plugins.openai]\nbase_url = "{url}/v1"\nheaders = {{ x-team = "blue" }}\nstream = false\n'
        )
        (config / "wink.toml").write_text(settings.format(url=server.url))
        (work / "wink.toml").write_text(f'[tool.wink.plugins.openai]\nbase_url = "{thief.url}/v1"\n')
        ran = wink(
            work, "run", "x", "--model", "openai:m", OPENAI_API_KEY=KEY, XDG_CONFIG_HOME=str(tmp_path / "config")
        )
    assert ran.returncode == 0, ran.stderr
    assert thief.bodies == []
    assert "base_url is not heeded" in ran.stderr
    assert server.headers[0]["x-team"] == "blue"
    assert "stream" not in server.bodies[0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--model", "openai:"), "needs the name of a model"),
        (("--model", "nobody:m"), "the models are: scripted:FILE, openai:NAME, openai-chat:NAME, anthropic:NAME"),
        (("--model", "scripted:x.toml", "--base-url", "http://x"), "a script has none"),
    ],
)
def test_what_makes_no_sense_is_one_line(tmp_path: Path, arguments: tuple[str, ...], said: Any) -> None:
    """That says what to write instead."""
    ran = wink(tmp_path, "run", "x", *arguments)
    assert ran.returncode == 2
    assert said in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1


def test_an_image_is_shown_with_the_task(tmp_path: Path) -> None:
    """And what is none is refused before anything is sent."""
    (tmp_path / "cat.gif").write_bytes(b"GIF89a" + b"x" * 30)
    (tmp_path / "cat.txt").write_text("a cat")
    model = ["--model", "anthropic:m", "--base-url"]
    with serving([Say("A cat.")]) as server:
        ran = wink(tmp_path, "run", "What is it?", *model, server.url, "--image", "cat.gif", ANTHROPIC_API_KEY=KEY)
        assert ran.returncode == 0, ran.stderr
        assert "image/gif" in json.dumps(server.bodies[0])
        ran = wink(tmp_path, "run", "What is it?", *model, server.url, "--image", "cat.txt", ANTHROPIC_API_KEY=KEY)
    assert ran.returncode == 2
    assert "cat.txt cannot be shown to a model: these bytes are no PNG, JPEG, GIF or WebP image" in ran.stderr


def test_each_step_of_a_request_is_told(tmp_path: Path) -> None:
    """To machines in rows, to people in a line where something went wrong."""
    answers = [Fail(503, "busy", {"retry-after-ms": "1"}), WRITE, Say("Done.")]
    with serving([*answers]) as server:
        told = wink(
            tmp_path, "run", "Write", "--model", "openai-chat:m", "--base-url", f"{server.url}/v1", "--json",
        )  # fmt: skip
    rows = [json.loads(line) for line in told.stdout.splitlines()]
    kinds = [row["event"] for row in rows]
    assert kinds[kinds.index("request") :][:4] == ["request", "request-failed", "request", "delta"]
    (failed,) = [row for row in rows if row["event"] == "request-failed"]
    assert (failed["problem"], failed["retry_in"]) == ("503: busy", 0.001)
    assert "".join(row["text"] for row in rows if row["event"] == "delta" and row["kind"] == "text") == "I write.Done."
    assert [row["tokens"]["input"] for row in rows if row["event"] == "model"] == [100, 100]

    with serving([*answers]) as server:
        told = wink(tmp_path, "run", "Write", "--model", "openai-chat:m", "--base-url", f"{server.url}/v1")
    assert "request      503: busy" in told.stdout
    assert "again in 0.0" in told.stdout
