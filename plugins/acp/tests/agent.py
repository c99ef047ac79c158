"""An agent of the official package that does what a prompt's lines after the first say, as JSON, and answers with what came of it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

import acp
from acp import schema


class Scripted(acp.Agent):
    """Its sessions are numbered; a prompt is a list of steps, each a list of a method's name and its arguments."""

    def __init__(self) -> None:
        self.sessions = 0
        self.able: Any = None
        self.terminals: dict[str, str] = {}

    def on_connect(self, conn: Any) -> None:
        self.client = conn

    async def initialize(self, protocol_version: int, client_capabilities: Any = None, **more: Any) -> Any:
        self.able = client_capabilities.model_dump(by_alias=True, exclude_none=True)
        name = os.environ.get("AGENT_NAME", "@example/scripted")
        info = schema.Implementation(name=name, version="1")
        return schema.InitializeResponse(protocol_version=protocol_version, agent_info=info)

    async def new_session(self, cwd: str, mcp_servers: Any = None, **more: Any) -> Any:
        self.sessions += 1
        return schema.NewSessionResponse(session_id=f"5e5510{self.sessions:02}-aaaa")

    async def load_session(self, cwd: str, session_id: str, mcp_servers: Any = None, **more: Any) -> Any:
        return schema.LoadSessionResponse()

    async def prompt(self, session_id: str, prompt: Any, **more: Any) -> Any:
        self.session = session_id
        steps = json.loads(prompt[0].text.partition("\n")[2] or "[]")
        results = [await self.step(step) for step in steps]
        return schema.PromptResponse(stop_reason="end_turn", field_meta={"results": results, "able": self.able})

    async def cancel(self, session_id: str, **more: Any) -> None:
        pass

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"method": method, "params": params}

    async def step(self, step: list[Any]) -> Any:
        name, *arguments = step
        if name == "together":
            return list(await asyncio.gather(*(self.step(one) for one in arguments)))
        try:
            return await getattr(self, f"do_{name}")(*arguments)
        except acp.RequestError as error:
            return {"error": str(error), "code": error.code}

    async def do_write(self, path: str, content: str) -> str:
        await self.client.write_text_file(session_id=self.session, path=path, content=content)
        return "written"

    async def do_read(self, path: str, line: int | None = None, limit: int | None = None) -> str:
        found = await self.client.read_text_file(session_id=self.session, path=path, line=line, limit=limit)
        return found.content

    async def do_run(self, command: str, args: list[str] | None = None, **options: Any) -> Any:
        await self.do_begin("run", command, args)
        status = await self.do_wait("run")
        told = await self.do_output("run")
        await self.do_release("run")
        return [status["exitCode"], told["output"]]

    async def do_begin(self, key: str, command: str, args: list[str] | None = None, **options: Any) -> str:
        made = await self.client.create_terminal(session_id=self.session, command=command, args=args, **options)
        self.terminals[key] = made.terminal_id
        return "begun"

    async def do_limited(self, key: str, command: str, limit: int) -> str:
        return await self.do_begin(key, command, output_byte_limit=limit)

    async def do_inside(self, key: str, command: str, cwd: str, variable: str) -> str:
        env = [schema.EnvVariable(name="GIVEN", value=variable)]
        return await self.do_begin(key, command, cwd=cwd, env=env)

    async def do_wait(self, key: str) -> Any:
        found = await self.client.wait_for_terminal_exit(session_id=self.session, terminal_id=self.terminals[key])
        return {"exitCode": found.exit_code, "signal": found.signal}

    async def do_output(self, key: str) -> Any:
        found = await self.client.terminal_output(session_id=self.session, terminal_id=self.terminals[key])
        return found.model_dump(by_alias=True)

    async def do_until(self, key: str, text: str) -> Any:
        while text not in (await self.do_output(key))["output"]:
            await asyncio.sleep(0.02)

    async def do_kill(self, key: str) -> None:
        await self.client.kill_terminal(session_id=self.session, terminal_id=self.terminals[key])

    async def do_release(self, key: str) -> None:
        await self.client.release_terminal(session_id=self.session, terminal_id=self.terminals[key])

    async def do_show(self, key: str) -> None:
        content = [acp.tool_terminal_ref(self.terminals[key])]
        call = acp.start_tool_call("shown", "Show it", content=content)
        await self.client.session_update(session_id=self.session, update=call)

    async def do_call(self, method: str, params: Any) -> Any:
        return await self.client._conn.send_request(method, params)

    async def do_tell(self, method: str, params: Any) -> None:
        await self.client._conn.send_notification(method, params)

    async def do_give_up(self, method: str, params: Any) -> Any:
        """Ask, and say at once that no answer is wanted."""
        asked = asyncio.ensure_future(self.client._conn.send_request(method, params))
        await asyncio.sleep(0)
        identity = self.client._conn._next_request_id - 1
        await self.client._conn.send_notification("$/cancel_request", {"requestId": identity})
        return await asked

    async def do_print(self, text: str, times: int = 1) -> None:
        left = (text.encode() + b"\n") * times
        while left:
            try:
                left = left[os.write(1, left) :]
            except BlockingIOError:  # the package has its output so
                await asyncio.sleep(0.01)

    async def do_die(self, status: int) -> None:
        os._exit(status)

    async def do_stop_reading(self) -> None:
        await asyncio.Event().wait()


if __name__ == "__main__":
    sys.exit(asyncio.run(acp.run_agent(Scripted())))
