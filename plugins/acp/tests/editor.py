"""An editor of the official package, in front of `wink acp` and an agent."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import acp
from acp import schema

AGENT = (sys.executable, str(Path(__file__).with_name("agent.py")))
SECONDS = 100


@dataclass
class Editor:
    """A person's editor: what it is asked, what is in its buffers, and what the person says to questions.

    It has buffers that are saved at once; `reads` and `writes` is what it declares.
    """

    root: Path
    home: Path
    reads: bool = False
    writes: bool = False
    allows: str = "allow_once"
    agent: Sequence[str] = AGENT
    options: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    buffers: dict[str, str] = field(default_factory=dict[str, str])
    asked: list[Any] = field(default_factory=list[Any])
    updates: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    extensions: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    written: list[str] = field(default_factory=list[str])
    formats: Callable[[str], str] = str
    status: int | None = None
    told: str = ""

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **more: Any) -> Any:
        self.asked.append(tool_call)
        wanted = next((one.option_id for one in options if one.kind == self.allows), None)
        if wanted is None:
            return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))
        return schema.RequestPermissionResponse(outcome=schema.AllowedOutcome(outcome="selected", option_id=wanted))

    async def session_update(self, session_id: str, update: Any, **more: Any) -> None:
        self.updates.append(update.model_dump(by_alias=True, exclude_none=True))

    async def read_text_file(self, session_id: str, path: str, **more: Any) -> Any:
        if path not in self.buffers:
            raise acp.RequestError.resource_not_found(path)
        return schema.ReadTextFileResponse(content=self.buffers[path])

    async def write_text_file(self, session_id: str, path: str, content: str, **more: Any) -> Any:
        self.written.append(path)
        self.buffers[path] = content
        fresh = Path(f"{path}.fresh")
        fresh.write_text(self.formats(content))
        fresh.rename(path)  # as many editors save

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self.extensions.append((method, params))
        return {"method": method, "params": params}

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        self.extensions.append((method, params))

    async def talk(self, *prompts: str | Sequence[Any], ends: bool = True) -> list[Any]:
        """One session in which the agent is asked for one thing after the other; gives what came of each prompt's steps."""
        found: list[Any] = []
        # Its standard error is read to its end only when the process has ended.
        command = [sys.executable, "-m", "wink", "acp", *self.options, "--", *self.agent]
        errors = self.home / "errors"
        with open(errors, "wb") as stream:
            process = await asyncio.create_subprocess_exec(
                *command,
                cwd=self.root,
                env=self.all_of_environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stream,
                limit=100 << 20,
            )
        connection = acp.connect_to_agent(self, process.stdin, process.stdout)
        try:
            able = schema.ClientCapabilities(
                fs=schema.FileSystemCapabilities(read_text_file=self.reads, write_text_file=self.writes)
            )
            await connection.initialize(protocol_version=acp.PROTOCOL_VERSION, client_capabilities=able)
            session = await connection.new_session(cwd=str(self.root), mcp_servers=[])
            self.session = session.session_id
            for prompt in prompts:
                text = prompt if isinstance(prompt, str) else f"Do it\n{json.dumps(prompt)}"
                answer = await connection.prompt(session_id=self.session, prompt=[acp.text_block(text)])
                found.append((answer.field_meta or {}).get("results"))
                self.able = (answer.field_meta or {}).get("able")
        finally:
            if process.stdin is not None:
                process.stdin.close()
            self.status = await asyncio.wait_for(process.wait(), SECONDS)
            await connection.close()
            self.told = errors.read_text("utf-8", "replace")
        return found

    def does(self, *prompts: str | Sequence[Any]) -> list[Any]:
        """The same for who waits; of one prompt, what came of its steps."""
        found = asyncio.run(asyncio.wait_for(self.talk(*prompts), SECONDS))
        return found[0] if len(prompts) == 1 else found

    @property
    def all_of_environment(self) -> dict[str, str]:
        """Where nothing of this machine's user is found."""
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), **self.environment}

    def wink(self, *arguments: str) -> str:
        """What a command of the person's prints."""
        done = subprocess.run(
            [sys.executable, "-m", "wink", *arguments],
            cwd=self.root,
            env=self.all_of_environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def calls(self) -> list[dict[str, Any]]:
        """The calls of the record, oldest first."""
        return [json.loads(line) for line in reversed(self.wink("log", "--json", "--limit", "200").splitlines())]
