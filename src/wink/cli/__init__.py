"""The command line: the only part of wink that reads the environment, the home directory and the terminal.

What a command of a plugin (entry points `wink.commands`) needs to behave as wink's own do is here: `open_workspace`, `wrong`
for wrong input, `visible`, `one_line` and `fit` for text that others wrote, and what puts a prompt and a model together.
"""

import gc
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn

from wink.cli._upward import guard_here, workspace_here

if TYPE_CHECKING:
    from wink.cli._calls import (
        echo_json,
        json_of_change,
        json_of_reasons,
        json_option,
        opened_for_reading,
        when,
    )
    from wink.cli._changed import Shown, echo_diff, echo_diff_text, echo_paths, paths_of
    from wink.cli._compose import compose, participants, workspace_options
    from wink.cli._main import COMMANDS, run, wink
    from wink.cli._model import model_adapter, model_offer
    from wink.cli._opening import check_settings, open_workspace
    from wink.cli._otel import traced
    from wink.cli._overrides_option import refuse_unknown_tag
    from wink.cli._pager import paged
    from wink.cli._participants import Participants
    from wink.cli._programs import program_lines, programs_of
    from wink.cli._shorten import fit, one_line, visible
    from wink.cli._standing import named_path, shown_path, shown_workspace, told, workspace_option
    from wink.cli._tools_file import note_files
    from wink.cli._views import Checkup, Finding, Pending, Verdict
    from wink.cli._wrong import WrongInput, nearest, readable, wrong
    from wink.cli.past import doubts, echo_reverted, forks_below, json_of_reverted
    from wink.cli.settings import (
        hide_settings,
        installed_catalog,
        network_settings,
        path_denials,
        path_rules,
        persist_settings,
        portable_names_for,
        rule_policies,
        settings_problem,
        table_lines,
    )
    from wink.cli.work import Judge, judging, proposed_change, show_long_names

__all__ = [
    "COMMANDS",
    "Checkup",
    "Finding",
    "Judge",
    "Participants",
    "Pending",
    "Shown",
    "Verdict",
    "WrongInput",
    "check_settings",
    "compose",
    "doubts",
    "echo_diff",
    "echo_diff_text",
    "echo_json",
    "echo_paths",
    "echo_reverted",
    "fit",
    "forks_below",
    "hide_settings",
    "installed_catalog",
    "json_of_change",
    "json_of_reasons",
    "json_of_reverted",
    "json_option",
    "judging",
    "main",
    "model_adapter",
    "model_offer",
    "named_path",
    "nearest",
    "note_files",
    "one_line",
    "open_workspace",
    "opened_for_reading",
    "paged",
    "participants",
    "paths_of",
    "network_settings",
    "persist_settings",
    "portable_names_for",
    "program_lines",
    "programs_of",
    "proposed_change",
    "readable",
    "refuse_unknown_tag",
    "path_denials",
    "path_rules",
    "rule_policies",
    "run",
    "settings_problem",
    "show_long_names",
    "shown_path",
    "shown_workspace",
    "table_lines",
    "told",
    "traced",
    "visible",
    "when",
    "wink",
    "workspace_here",
    "workspace_option",
    "workspace_options",
    "wrong",
]

_PLACES: Final = {
    "COMMANDS run wink": "_main",
    "Checkup Finding Pending Verdict": "_views",
    "Participants": "_participants",
    "paged": "_pager",
    "WrongInput nearest readable wrong": "_wrong",
    "compose participants workspace_options": "_compose",
    "Shown echo_diff echo_diff_text echo_paths paths_of": "_changed",
    "echo_json json_of_change json_of_reasons json_option opened_for_reading when": "_calls",
    "fit one_line visible": "_shorten",
    "hide_settings installed_catalog network_settings persist_settings portable_names_for path_denials path_rules rule_policies settings_problem table_lines": "settings",
    "doubts echo_reverted forks_below json_of_reverted": "past",
    "model_adapter": "_model",
    "model_offer": "_model",
    "named_path shown_path shown_workspace told workspace_option": "_standing",
    "note_files": "_tools_file",
    "program_lines programs_of": "_programs",
    "check_settings open_workspace": "_opening",
    "refuse_unknown_tag": "_overrides_option",
    "Judge judging proposed_change show_long_names": "work",
    "traced": "_otel",
}


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    guard_here(sys.argv[1:] if arguments is None else arguments)
    gc.disable()  # what is imported stays, and looking through it for garbage took a tenth of a short command
    from wink.cli import _main

    _main.main(arguments)


if not TYPE_CHECKING:  # a checker that saw this would take any name for granted

    def __getattr__(name: str) -> Any:
        """What `main` does without until the libraries of the place it runs in are guarded."""
        if name == "assemble":  # until the next release; it is `wink_batch.assemble`
            from wink.batch import assemble

            return assemble
        from wink.spellings import lazily

        return lazily(__name__, _PLACES)(name)
