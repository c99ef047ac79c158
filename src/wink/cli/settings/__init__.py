"""What settings say, where each was said, and which of them a person trusts."""

from typing import TYPE_CHECKING

from wink.spellings import lazily

if TYPE_CHECKING:
    from wink.cli.settings._file_settings import (
        NetworkSettings,
        OwnList,
        hide_settings,
        max_file_bytes_for,
        network_settings,
        persist_settings,
        portable_names_for,
        tools_files_settings,
    )
    from wink.cli.settings._keep_settings import keep_for, keep_settings
    from wink.cli.settings._mask_settings import masking_for
    from wink.cli.settings._problem import settings_problem
    from wink.cli.settings._rules import RuleSettings, doubts, path_denials, path_rules, rule_policies, rule_settings
    from wink.cli.settings._settings import VARIABLES, commands_catalog, installed_catalog
    from wink.cli.settings._sources import WORKSPACE_FILES, table_lines
    from wink.cli.settings._trust import trusted_as_it_is

__all__ = [
    "NetworkSettings",
    "OwnList",
    "RuleSettings",
    "VARIABLES",
    "WORKSPACE_FILES",
    "commands_catalog",
    "doubts",
    "hide_settings",
    "installed_catalog",
    "keep_for",
    "keep_settings",
    "masking_for",
    "max_file_bytes_for",
    "network_settings",
    "persist_settings",
    "portable_names_for",
    "path_denials",
    "path_rules",
    "table_lines",
    "rule_policies",
    "rule_settings",
    "settings_problem",
    "tools_files_settings",
    "trusted_as_it_is",
]

if not TYPE_CHECKING:  # each is imported when it is asked for
    __getattr__ = lazily(
        __name__,
        {
            "NetworkSettings OwnList hide_settings max_file_bytes_for network_settings persist_settings portable_names_for tools_files_settings": "_file_settings",
            "keep_for keep_settings": "_keep_settings",
            "masking_for": "_mask_settings",
            "settings_problem": "_problem",
            "RuleSettings doubts path_denials path_rules rule_policies rule_settings": "_rules",
            "VARIABLES commands_catalog installed_catalog": "_settings",
            "WORKSPACE_FILES table_lines": "_sources",
            "trusted_as_it_is": "_trust",
        },
    )
