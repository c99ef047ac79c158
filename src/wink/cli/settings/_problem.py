"""Say what is wrong with what a file of settings is about to say, before it says so."""

from __future__ import annotations

import os

from wink.errors import WinkError


def settings_problem(name: str, data: bytes) -> str:
    """Why commands would refuse a file of a workspace's settings with this content, in a line; empty where they would read it."""
    # Few programs change settings, and many could have.
    from tempfile import TemporaryDirectory

    from wink.cli.settings._file_settings import (
        hide_settings,
        max_file_bytes_for,
        network_settings,
        persist_settings,
        portable_names_for,
        tools_files_settings,
    )
    from wink.cli.settings._keep_settings import keep_settings
    from wink.cli.settings._mask_settings import masking_for
    from wink.cli.settings._rules import rule_settings
    from wink.cli.settings._settings import load_settings

    with TemporaryDirectory(prefix="wink-") as place:
        with open(os.path.join(place, name), "xb") as file:
            file.write(data)
        try:
            load_settings(place, environ={}, trusting=False)
            max_file_bytes_for(place, 1, {})
            for read in (
                portable_names_for,
                persist_settings,
                network_settings,
                hide_settings,
                tools_files_settings,
                keep_settings,
                masking_for,
                rule_settings,
            ):
                read(place, {})
        except WinkError as error:
            return str(error).removeprefix(f"{name}: ")
    return ""
