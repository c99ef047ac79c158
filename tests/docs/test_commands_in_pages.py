"""No page mentions a command or an option that does not exist."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from docs.generator.commands import every_command
from tests.docs.console import commands
from tests.docs.pages import every_page, fences, name, prose

from wink.cli import COMMANDS, wink

OF_OTHERS = {
    # options of other programs that pages tell of
    "--allowed-mcp-server-names", "--allowed-tools", "--allow-dangerously-skip-permissions", "--allowedTools", "--append",
    "--approval-mode", "--check", "--disallowedTools", "--keep", "--life", "--mcp-config", "--no-pager", "--strict-mcp-config", "--only",
    "--output", "--permission-mode", "--resume-session-at", "--rewind-files", "--sandbox", "--skip-trust", "--submodule", "--settings", "--tools", "--every", "--fault", "--group", "--minutes", "--pairs", "--replay", "--seed", "--way", "--worktree",
}  # fmt: skip

EXAMPLES = {"recap", "notes.recap"}
"""Commands of plugins that pages show how to write."""


def wink_lines(page: Path) -> Iterator[str]:
    """The commands of wink that a page shows, at a prompt or in its text."""
    shown = [step.command for language, text in fences(page) if language == "console" for step in commands(text)]
    shown += re.findall(r"`(wink (?!<)[^`\n]+)`", prose(page))
    for line in shown:
        for part in re.split(r"\||&&|;|\$\(", re.sub(r"\s#.*", "", line)):
            words = part.strip()
            words = re.sub(r"^(?:[A-Z_]+=\S* +)+", "", words)
            if words.startswith("wink "):
                yield words


def problem(line: str) -> str:
    """What is wrong with a command line of wink; nothing if it can be parsed."""
    try:
        words = shlex.split(line.replace("…", " ").replace("[", " ").replace("]", " "))[1:]
    except ValueError:
        return ""  # a piece of a line, such as an open quote
    group: click.Command = wink
    context = click.Context(wink, info_name="wink", **wink.context_settings)
    while isinstance(group, click.Group) and words and not words[0].startswith("-"):
        if not words[0].islower() or (group is wink and words[0] in EXAMPLES):
            return ""  # NAME stands for any command
        try:
            _, found, rest = group.resolve_command(context, words)
        except click.UsageError:
            found, rest = None, []
        if found is None and group is not wink:  # `wink batch` takes what is no command for the arguments of its `run`
            found, rest = group.get_command(context, "run"), words
        if found is None:
            return f"there is no command {words[0]!r}"
        group, words = found, rest
        context = click.Context(group, parent=context, info_name=words[0] if words else "")
    if words and not words[0].startswith("-") and group.context_settings.get("allow_interspersed_args") is False:
        return ""  # what follows is for another program
    known = {spelt for option in group.params for spelt in (*option.opts, *option.secondary_opts)} | {"--help", "-h"}
    if context.allow_interspersed_args is False or "--" in words:
        words = words[: words.index("--")] if "--" in words else words
    return "".join(
        f"no option {word.partition('=')[0]}; "
        for word in words
        if re.match(r"--?[a-z]", word) and word.partition("=")[0] not in known
    )


@pytest.mark.parametrize("page", every_page(), ids=name)
def test_every_command_that_a_page_shows_exists(page: Path) -> None:
    """Commands are renamed, and pages forget."""
    assert {line: wrong for line in wink_lines(page) if (wrong := problem(line))} == {}


@pytest.mark.parametrize("page", every_page(), ids=name)
def test_every_option_that_a_page_names_exists(page: Path) -> None:
    """In its text as well, where an option is named without its command."""
    known = {
        spelt
        for one in every_command().values()
        for option in one.params
        for spelt in (*option.opts, *option.secondary_opts)
    }
    named = set(re.findall(r"`(--[a-z][\w-]*)", prose(page)))

    assert named - known - OF_OTHERS - {"--help"} == set()


def test_what_does_not_exist_is_found() -> None:
    """The check itself."""
    assert problem("wink run 'x' --model openai:y") == ""
    assert problem("wink try --profile agent -- claude --anything") == ""
    assert problem("wink prompts edit files --from -") == ""
    assert problem("wink history log --anything") == ""
    assert "no command 'rum'" in problem("wink rum")
    assert "no option --modle" in problem("wink run x --modle y")
    assert all(problem(f"wink {command}") == "" for command in COMMANDS)
