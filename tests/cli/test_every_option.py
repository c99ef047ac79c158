"""Each option of each command, as somebody types it: the commands of a group are run one after the other, and end as they say.

What an option does has tests elsewhere. Here no option is left out that `--help` lists, and none fails where it is used as it
says.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from docs.generator import commands

MADE = {
    "../tools.py": """
from wink import ToolContext, tool

@tool
def hello(context: ToolContext, name: str = "you") -> str:
    \"\"\"Greet somebody.\"\"\"
    context.filesystem.write("hello.txt", name)
    return f"hello {name}"
""",
    "turns.toml": """
[[turn]]

[[turn.call]]
tool = "write_file"
arguments = { file_path = "done.txt", content = "done" }

[[turn]]
text = "Done."
""",
    "tasks.jsonl": '{"id": "one", "prompt": "Do it", "workspace": "one"}\n',
    "one/a.txt": "a\n",
    "a.txt": "one\ntwo\n",
    ".gitignore": "ignored.txt\n",
    "expected.toml": '[[test]]\nread = "a.txt"\nexpect = "allow"\n',
    "rules.toml": '[[rules]]\naction = "ask"\ntools = "write_file"\n',
}
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8cfc000000301010018dd8db00000000049454e44ae426082"
)
KEY = "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost 2>/dev/null"
ASKED = "--section files.files --policy read-before-write.files --tools ../tools.py --overrides latest --session s --workspace ."
"""Options that commands about tools share."""

GROUPS = {
    "wink itself": """
        wink --version
        wink -C one status
        wink --debug status --workspace one --json
        wink help undo
        wink completion bash
        wink doctor --workspace . --json
        wink demo --into copy --json
        wink demo --project one --script turns.toml
    """,
    "calls and the log": f"""
        wink prompts seed --section files.files
        wink call {ASKED} --no-input hello name=a
        wink call --json '{{"name": "b"}}' --tools ../tools.py hello
        wink log --workspace . --session s --tool hello --outcome ok --path hello.txt --since 1h --limit 3
        wink log --run r9 --json
        wink log --agent claude-code --story --json
        wink show c1 --workspace . --ignored --all --color always
        wink show c2 --json
        wink events --workspace . --session s --since beginning
        wink events --schema
        timeout -s INT 3 wink events --follow # 0 124 130
        timeout -s INT 3 wink watch --workspace . --session s --since beginning --json # 0 124 130
        wink status --workspace . --json
        wink diff --workspace . --session s --ignored --all --color always
        wink blame --workspace . hello.txt:1
        wink blame hello.txt --at c1 --json
        wink verify --workspace . --json
        wink verify --trust
        wink diff --stat
        wink diff --name-only
        wink diff --json
        wink export --workspace . --session s --html page.html
        wink export --session s --force --no-history --json out.wink
        wink import out.wink read --json
        wink history --workspace . log --oneline
        wink history log
    """,
    "back and forth": """
        wink call write_file file_path=b.txt content=b
        wink checkpoint first --workspace . --full --ignored-megabytes 1 --json
        wink checkpoint first --force
        wink undo --workspace . --session default --dry-run --json
        echo mine > b.txt
        wink undo --force
        wink redo --workspace . --session default --dry-run --json
        wink redo
        wink undo --agent claude-code # 1 2
        wink undo --run r1 # 1 2
        wink undo --turn # 1 2
        wink restore first --workspace . --dry-run --json
        wink checkpoint first --delete
        wink gc --workspace . --calls 0 --days 0 --megabytes 0 --dry-run --json
        wink recover --workspace . --json
        wink recover --keep
        wink recover --undo
        wink recover --set-aside # 2
    """,
    "tries": """
        wink try --workspace . --name t --profile build --network --read /usr -q -- sh -c 'echo t >> a.txt; echo t > t.txt; echo h > ~/mine'
        wink try --name t --network example.org --network=localhost:8080 -q true
        wink try --name t --no-network -q true
        wink try --name t --ask-network -q true
        wink try --name k --keep-on-success --json -- sh -c 'echo k > k.txt'
        wink try --name u --unconfined -q -- sh -c 'echo u > u.txt'
        wink tries --workspace . --json
        wink diff --name t --json
        wink diff --try t --home
        echo mine > a.txt
        wink diff --name t --conflicts
        wink update t --workspace . --dry-run --json # 1
        wink update --name t # 1
        wink update --try t --undo
        wink accept --workspace . --name t --without t.txt --rest --remotes --git-dir --dry-run --json # 1
        wink accept --name t --all --session s --conflicts try --check true
        wink accept --name u -p < /dev/null # 2
        wink drop --workspace . --name u --dry-run --json
        wink drop --name u
        wink tries --dropped
        wink drop --undo
    """,
    "tools, rules and plugins": f"""
        wink prompts seed --section files.files
        wink tools {ASKED} --schema
        wink tools --json
        wink lint {ASKED} --provider openai --json
        wink explain {ASKED} --arguments '{{"name": "a"}}' hello
        wink explain --json
        wink explain --path a.txt
        wink explain --host example.org # 1
        wink explain --command 'git push'
        wink rules test --workspace . --section files.files --policy read-before-write.files --json expected.toml
        wink trust --workspace . --list
        wink trust --show
        cp ../tools.py . && wink trust --tools tools.py --yes
        wink trust --state # 0 1 2
        wink trust --revoke
        wink trust --json
        wink plugins --json
        wink plugins --workspace . --load --timeout 20 --plugin files # 0 1
        wink plugins list --json --load --timeout 20
        wink plugins --no-plugin asteval
        wink plugins check --json --timeout 20 # 0 1
        wink plugins show --json sandbox
        wink plugins why --json sandbox
        wink plugins retry --json # 0 1 2
        wink plugins export-schema
        mkdir made && wink new-plugin one --offer section --directory made --dry-run --json
        wink new-plugin one --offer section --directory made
    """,
    "prompts": """
        wink prompts list --workspace . --section files.files --json
        wink prompts show --workspace . --section files.files --tag latest --descriptor --json # 0 1
        wink prompts seed --tag latest --workspace . --section files.files --json
        echo 'Other words.' > words.txt
        wink prompts edit --tag latest --workspace . --section files.files --from words.txt --summary 'In short' --json files # 0 1 2
        wink prompts describe --tag latest --workspace . --section files.files --description 'Read a file.' --param file_path='Which one.' --json read_file
        wink prompts diff --tag latest --workspace . --section files.files --json # 0 1
        wink prompts check --workspace . --section files.files --json # 0 1
        wink prompts delete --tag latest --workspace . --section files.files --tool read_file --json
    """,
    "runs": f"""
        wink prompts seed --section files.files
        wink run {ASKED} --model scripted:turns.toml --image pixel.png --no-input --record run.jsonl --json 'Do it'
        wink runs --workspace . --all --json
        wink log --run r1
        wink show r1 --prompt
        wink undo --run r1
        wink replay run.jsonl --workspace one --session s --json # 0 1
        wink run --model scripted:turns.toml --resume # 2
        wink run --model openai:none --base-url http://127.0.0.1:9 'Do it' # 1 2
        cp rules.toml wink.toml
        wink run --model scripted:turns.toml --no-input 'Do it again' # 3
        wink approvals --workspace . --json
        wink approve --workspace . --edit '{{"content": "edited"}}' --note 'well done' --json $(wink approvals --json | sed -n 's/.*"id": "\\([^"]*\\)".*/\\1/p' | head -1) # 0 2
        wink deny --workspace . --note no --json a1 # 0 1 2
    """,
    "batches": """
        wink batch run tasks.jsonl --engine local --model scripted:turns.toml --section files.files --policy read-before-write.files --check 'test -e done.txt' --check-time 1m --attempts 1 --out results --name b --results results.jsonl --checkpoint bundle --no-records --parallel 1 --cpus 1 --env HOME --cache cached --retries 0 --task-time 5m --idle-time 5m --task-tokens 100000 --task-cost 1 --batch-time 9m --batch-tokens 1000000 --batch-cost 2 --input-price 1 --output-price 1 --cached-price 1 --requests-per-minute 600 --tokens-per-minute 100000 --json
        wink batch run --resume results --engine local --json # 0 2
        wink batch run tasks.jsonl --engine local --model openai:none --base-url http://127.0.0.1:9 --template none:none --out other # 2
        wink batch run tasks.jsonl --engine local --model scripted:turns.toml --address auto --ship one --out third # 0 2
        wink batch show results --json
        wink batch show results --failed
        wink batch show results --html report.html
        wink batch show results --patch one
        wink batch compare results results --json
        wink batch merge results one --workspace one --dry-run --json # 0 1
    """,
    "servers": f"""
        wink prompts seed --section files.files
        {KEY}
        echo a-token-of-enough-letters-0123456789 > token && chmod 600 token
        wink serve {ASKED} --print-config claude-code --write
        wink serve --print-config codex
        timeout -s INT 4 wink serve --http 127.0.0.1:0 --token-file token --tls-cert cert.pem --tls-key key.pem --allow-host example.org # 0 124 130
        timeout -s INT 4 wink serve --port 0 --no-token # 0 2 124 130
        timeout -s INT 4 wink serve --port 0 --behind-proxy --allow-host example.org # 0 124 130
        timeout -s INT 4 env BROWSER=true wink ui --workspace . --port 0 --open # 0 124 130
    """,
    "attached agents": """
        wink attach claude-code --workspace . --dry-run --json
        wink attach claude-code --yes
        wink attach claude-code --user --dry-run # 0 1 2
        wink diff --turn # 0 1 2
        wink rewind --to 1 --workspace . --in-place --dry-run --json -- -p more # 0 2
        wink rewind --to 1 --go # 0 2
        wink rewind --run r1 --to 1 --fork --dry-run --json # 0 2
        wink detach claude-code --workspace . --dry-run --json
        wink detach claude-code --user --dry-run # 0 1 2
        wink detach claude-code
        wink acp --workspace . -- true
    """,
}


def lines(group: str) -> list[tuple[str, set[int]]]:
    """The commands, each with the exit statuses that it may end with."""
    found: list[tuple[str, set[int]]] = []
    for line in filter(None, map(str.strip, GROUPS[group].splitlines())):
        said = re.fullmatch(r"(.*?) # ([\d ]+)", line)
        found.append((line, {0}) if said is None else (said[1], set(map(int, said[2].split()))))
    return found


@pytest.fixture
def somewhere(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A repository of somebody with a home of their own, and `wink` on their path."""
    place, home, binaries = tmp_path / "place", tmp_path / "home", tmp_path / "bin"
    for directory in (place, home, binaries):
        directory.mkdir()
    for name, text in MADE.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text)
    (place / "pixel.png").write_bytes(PIXEL)
    (binaries / "wink").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m wink "$@"\n')
    (binaries / "wink").chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("WINK_", "XDG_", "OPENAI_"))}
    who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    own = {"HOME": str(home), "PATH": f"{binaries}:{os.environ['PATH']}", "OPENAI_API_KEY": "none", "NO_COLOR": "1"}
    return place, {**kept, **who, **own}


@pytest.mark.parametrize("group", GROUPS)
def test_every_command_ends_as_it_says(somewhere: tuple[Path, dict[str, str]], group: str) -> None:
    """And says why where it does not do what it was asked."""
    place, environment = somewhere
    begin = "git init -q && git add . && git commit -qm one"
    subprocess.run(["sh", "-c", begin], cwd=place, env=environment, check=True)
    for command, statuses in lines(group):
        done = subprocess.run(
            ["sh", "-c", command], cwd=place, env=environment, capture_output=True, text=True, timeout=100, check=False
        )
        assert done.returncode in statuses, f"$ {command}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr, f"$ {command}\n{done.stderr}"
        assert "no such option" not in done.stderr.lower(), f"$ {command}\n{done.stderr}"


def test_no_option_is_left_out() -> None:
    """One that somebody adds has to be used here."""
    used = [shlex.split(command, comments=False) for group in GROUPS for command, _ in lines(group)]
    words = {name: name.split()[1:] for name in commands.every_command()}
    left: list[str] = []
    for name, own in words.items():
        calls = [one[one.index("wink") + 1 :] for one in used if "wink" in one]
        longer = {tuple(other) for other in words.values() if len(other) > len(own) and other[: len(own)] == own}
        mine = [
            one
            for one in calls
            if _command_of(one, len(own)) == own and tuple(_command_of(one, len(own) + 1)) not in longer
        ]
        mine = calls if not own else mine
        for option in commands.options_of(name):
            spelt = [text for text in (*option.opts, *option.secondary_opts) if text.startswith("-")]
            if spelt and not any(text in one for one in mine for text in spelt):
                left.append(f"{name} {spelt[0]}")
    assert left == []


def _command_of(words: list[str], number: int) -> list[str]:
    """The command that these words name, of so many words; options of wink itself may come first."""
    rest = words[2:] if words[:1] == ["-C"] else words[1:] if words[:1] == ["--debug"] else words
    return rest[:number]
