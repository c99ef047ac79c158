"""Servers written by hand that do what no server should; the first argument says what."""

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

KIND, *MORE = sys.argv[1:] if __name__ == "__main__" else ["none"]
listings = 0


def say(message: dict[str, Any]) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def answer(request: dict[str, Any], result: Any) -> None:
    say({"id": request["id"], "result": result})


def tool(name: Any, schema: Any = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"} if schema is None else schema, **more}


def text(words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}]}


def tools() -> Any:
    global listings
    listings += 1
    if KIND == "changing":
        return [tool(f"tool_{listings}")]
    if KIND == "names":
        names = ["getUser", "get_user", "a" * 100, "a" * 100 + "b", "Über/so", "", "twice", "twice", "open_sections"]
        return [tool(name) for name in names]
    if KIND == "schemas":
        deep: dict[str, Any] = {}
        for _ in range(100):
            deep = {"properties": {"a": deep}}
        return [
            tool("good", {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
            tool("array", {"type": "array"}),
            tool("nonsense", {"type": "object", "properties": {"a": {"type": 7}}}),
            tool("deep", {"type": "object", **deep}),
            tool("long", {"type": "object", "description": "x" * 300_000}),
            tool("lost", {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/schema"}}}),
            tool("circle", {"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}}),
            tool("bomb", bomb()),
            tool("slow", {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}),
            tool("keys", {"type": "object", "patternProperties": {"^(a+)+$": {}}, "additionalProperties": False}),
        ]
    if KIND == "malformed":
        return [{"name": 7}]
    if KIND == "many":
        return [
            tool(f"tool_{number}", description=f"Do {number} things. " + "More words. " * 400) for number in range(700)
        ]
    return [tool("call", description="Call it."), tool("other")]


def bomb() -> dict[str, Any]:
    """A schema of a few lines whose check would take for ever."""
    definitions = {
        f"d{number}": {"allOf": [{"$ref": f"#/$defs/d{number + 1}"}, {"$ref": f"#/$defs/d{number + 1}"}]}
        for number in range(40)
    }
    return {"type": "object", "$defs": {**definitions, "d40": {}}, "properties": {"a": {"$ref": "#/$defs/d0"}}}


def call(request: dict[str, Any]) -> None:
    arguments = request["params"].get("arguments") or {}
    match KIND:
        case "crash":
            note("crashed")
            print("giving up", file=sys.stderr, flush=True)
            os._exit(3)
        case "half":
            sys.stdout.write('{"jsonrpc": "2.0", "id": 1, "resu')
            sys.stdout.flush()
            os._exit(0)
        case "hang":
            note("called")
        case "huge":
            sys.stdout.write('{"jsonrpc": "2.0", "id": ' + json.dumps(request["id"]) + ', "result": "')
            for _ in range(100):
                sys.stdout.write("x" * 1_000_000)
            sys.stdout.write('"}\n')
            sys.stdout.flush()
        case "error":
            say({"id": request["id"], "error": json.loads(MORE[0])})
            if MORE[1:]:
                os._exit(0)
        case "result":
            answer(request, json.loads(MORE[0]))
        case "bytes":
            head = '{"jsonrpc": "2.0", "id": ' + json.dumps(request["id"]) + ', "result": {"content": "'
            sys.stdout.buffer.write(head.encode() + b"\xff\xfe" + b'"}}\n')
            sys.stdout.buffer.flush()
        case "busy":
            with open(MORE[0] + ".began", "w"):
                pass
            while not os.path.exists(MORE[0]):
                time.sleep(0.01)
            answer(request, text("gone"))
        case "late":
            time.sleep(3)
            answer(request, text("too late"))
        case "ids":
            for wrong in ("x", -1, None, 10**30):
                say({"id": wrong, "result": text("not for you")})
            answer(request, text("right"))
            answer(request, text("again"))
        case "nonsense":
            answer(request, {"content": "text", "isError": "perhaps"})
        case "void":
            answer(request, {})
        case "input":
            answer(request, {"resultType": "input_required", "requestState": "again", "inputRequests": {}})
        case "changing":
            say(
                {
                    "id": request["id"],
                    "error": {"code": -32602, "message": f"Unknown tool: {request['params']['name']}"},
                }
            )
        case "asking":
            asked = {"sampling/createMessage": {"messages": [], "maxTokens": 1}, "roots/list": {}, "unheard/of": {}}
            said = []
            for number, (method, params) in enumerate(asked.items()):
                say({"id": f"q{number}", "method": method, "params": params})
                said.append(json.loads(sys.stdin.readline())["error"]["message"])
            answer(request, text("; ".join(said)))
        case "surrogate":
            head = '{"jsonrpc": "2.0", "id": ' + json.dumps(request["id"])
            sys.stdout.write(head + ', "result": {"content": [{"type": "text", "text": "a\\ud800b"}]}}\n')
            sys.stdout.flush()
        case "deaf":
            answer(request, text("now deaf"))
            time.sleep(1000)
        case _:
            answer(request, text(json.dumps(arguments)))


def note(words: str) -> None:
    if MORE:
        with open(MORE[0], "a") as opened:
            opened.write(f"{words}\n")


def main() -> None:
    if KIND == "dead":
        sys.exit("the key is missing")
    if KIND not in ("busy", "error", "result"):
        note(str(os.getpid()))
    if KIND == "mute":
        time.sleep(1000)
    if KIND == "stay":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen(["sh", "-c", "trap '' TERM HUP; while :; do sleep 0.1; done"], start_new_session=True)
        note(str(child.pid))
    if KIND == "garbage":
        print('Starting up...\n\n{\n[1, 2]\n"text"\n\x00\x01', flush=True)
        sys.stdout.buffer.write(b"\xff\xfe not text\n" + b"[" * 100_000 + b"\n")
        sys.stdout.buffer.flush()
    for line in sys.stdin:
        request = json.loads(line)
        match request.get("method"):
            case "server/discover" if KIND == "old":
                sys.exit(1)
            case "initialize":
                version = request["params"]["protocolVersion"]
                tells = {"listChanged": True} if KIND == "telling" else {}
                info = {"name": f"odd-{KIND}", "version": "0"}
                answer(request, {"protocolVersion": version, "capabilities": {"tools": tells}, "serverInfo": info})
            case "tools/list" if KIND == "endless":
                answer(request, {"tools": [], "nextCursor": "more"})
            case "tools/list":
                answer(request, {"tools": tools()})
            case "tools/call":
                call(request)
            case "notifications/cancelled":
                note("cancelled")
            case None:
                pass
            case method:
                if "id" in request:
                    say({"id": request["id"], "error": {"code": -32601, "message": f"no {method}"}})
    if KIND == "stay":
        time.sleep(1000)


if __name__ == "__main__":
    main()
