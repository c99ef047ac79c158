"""Each recipe, what helps when something does not work, and the README's first screen, word for word, in the recipes' repository."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.docs.console import Reader, Step, blocks, commands, fits, steps
from tests.docs.pages import DOCS, ROOT

BEGINNING, *RECIPES = (DOCS / "guide/recipes.md").read_text(encoding="utf-8").split("\n## ")
TROUBLES = (DOCS / "guide/troubleshooting.md").read_text(encoding="utf-8").split("\n## ")[1:]
SEVERAL = (DOCS / "guide/several-agents.md").read_text(encoding="utf-8").split("\n## ")[1:]
FIRST_SCREEN = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n```console\n$ python -m pip")[0]
SHOWN = [part for part in [*RECIPES, *TROUBLES, *SEVERAL, FIRST_SCREEN] if "```console" in part]
IDENTITY = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

AGENT = '''
"""Stands in for Claude Code: does what a prompt asks for by a command, under the hooks or with the server that it is told of."""

import asyncio, json, subprocess, sys
from pathlib import Path

COMMANDS = {
    "Add a discount to the total": "sed -i 's/sum(prices)/sum(prices) * 0.9/' src/shop.py && echo '10 % off' > notes.txt",
    "Say so in the README": "echo '10 % off.' >> README.md",
}


def hook(event, **payload):
    """Run the hook for an event, where there is one."""
    settings = Path(".claude/settings.local.json")
    if settings.exists():
        command = json.loads(settings.read_text())["hooks"][event][0]["hooks"][0]["command"]
        told = json.dumps({"hook_event_name": event, "session_id": "5e551011-aaaa", **payload})
        subprocess.run(command, shell=True, input=told, text=True, check=True, stdout=subprocess.DEVNULL)


def work(prompt):
    """One turn with one call."""
    if Path(".claude").exists():
        for _ in range(1000):
            hook("SessionStart")  # on a busy machine the first one gives up before the helper answers
            if ", seen to work" in subprocess.run(["wink", "attach"], capture_output=True, text=True, check=True).stdout:
                break
    call = {"tool_name": "Bash", "tool_input": {"command": COMMANDS[prompt]}, "tool_use_id": prompt}
    hook("UserPromptSubmit", prompt=prompt)
    hook("PreToolUse", **call)
    subprocess.run(COMMANDS[prompt], shell=True, check=True)
    hook("PostToolUse", **call, tool_response={"stdout": "", "stderr": ""})
    hook("Stop")


async def serve(server):
    """One call of a served tool."""
    from mcp import Client, StdioServerParameters, stdio_client

    told = StdioServerParameters(command=server["command"], args=server["args"])
    async with Client(stdio_client(told)) as client:
        await client.call_tool("write_file", {"file_path": "bread.txt", "content": "bread 2\\n"})


if "--mcp-config" in sys.argv:
    configured = json.loads(Path(sys.argv[sys.argv.index("--mcp-config") + 1]).read_text())
    asyncio.run(serve(configured["mcpServers"]["wink"]))
else:
    work(sys.argv[sys.argv.index("-p") + 1])
'''


def reader(place: Path) -> Reader:
    """Somebody with a home of their own, and with an agent in it."""
    home, binaries = place / "home", place / "home/.local/bin"
    for directory in (binaries, place / "temporary"):
        directory.mkdir(parents=True)
    (binaries / "agent.py").write_text(AGENT, encoding="utf-8")
    (binaries / "claude").write_text(
        f'#!/bin/sh\nexec env -u PYTHONWARNINGS {sys.executable} {binaries}/agent.py "$@"\n', encoding="utf-8"
    )
    (binaries / "claude").chmod(0o755)
    made = Reader(home, place)
    path = f"{binaries}:{made.environment['PATH']}"
    made.environment |= {
        **IDENTITY,
        "PATH": path,
        "TMPDIR": str(place / "temporary"),
        "NO_COLOR": "1",
        "LC_ALL": "C.UTF-8",
    }
    return made


@pytest.mark.parametrize("part", SHOWN, ids=[part.partition("\n")[0] for part in SHOWN])
def test_what_is_shown_is_printed(tmp_path: Path, part: str) -> None:
    """Whoever copies its lines sees the same."""
    somebody = reader(tmp_path)
    for step in [*steps(BEGINNING), *steps(part)]:
        printed = somebody.do(step)
        assert step.file or fits(step.printed, printed), (
            f"$ {step.command}\nshown:\n{step.printed}\nprinted:\n{printed}"
        )


def test_there_are_ten_recipes() -> None:
    """None is passed over."""
    assert len(RECIPES) == 10
    assert {FIRST_SCREEN, *RECIPES} <= set(SHOWN)


def test_the_first_screen_is_one() -> None:
    """A newcomer sees what it is about without scrolling."""
    assert len(FIRST_SCREEN.splitlines()) < 40


def test_lines_of_the_readme_work_in_a_clone(tmp_path: Path) -> None:
    """They are what a newcomer types first, about the README that is there."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    somebody = reader(tmp_path)
    somebody.directory = tmp_path / "clone"
    somebody.directory.mkdir()
    (somebody.directory / "README.md").write_text(text, encoding="utf-8")

    begun = 0
    for step in commands(blocks(text.partition("## At a shell")[2], "console")[0]):
        if "--model openai:" in step.command or "wink ui" in step.command:
            continue  # a model, and what goes on until it is stopped
        printed = somebody.do(Step(f"set -e; {step.command}\necho as far as here"))
        assert printed.endswith("as far as here\n"), f"$ {step.command}\n{printed}"
        begun += 1
    assert begun > 5
