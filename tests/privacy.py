"""A contract of import-linter: nobody imports what another package keeps private, not even in a function or for a type."""

from __future__ import annotations

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, output


class PrivacyContract(Contract):
    """A module whose name, or a package of whose name, begins with `_` is imported by its own package and its tests alone.

    `wink.filesystem._paths` belongs to `wink.filesystem` and `tests.filesystem`, `wink_files._edit` to `wink_files`. The rooms of a
    house are packages of their own: what is private in `wink.filesystem` is for all of them, what is private in
    `wink.filesystem.disk` for that one alone.
    """

    type_name = "privacy"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Look at every import of a private module."""
        del verbose
        broken = [
            f"{importer} -> {imported} (l.{detail['line_number']})"
            for imported in sorted(graph.modules)
            if _is_private(imported)
            for importer in sorted(graph.find_modules_that_directly_import(imported))
            if not _is_at_home(importer, _home(imported))
            for detail in graph.get_import_details(importer=importer, imported=imported)
        ]
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Name each."""
        for line in check.metadata["broken"]:
            output.print_error(line, bold=False)


def _is_private(module: str) -> bool:
    return any(part.startswith("_") and not part.startswith("__") for part in module.split("."))


def _home(module: str) -> str:
    """The package that a private module belongs to, without the `wink` or `tests` in front of it.

    >>> _home("wink.filesystem._paths"), _home("wink.filesystem.disk._root"), _home("wink_files._edit")
    ('filesystem', 'filesystem.disk', 'wink_files')
    """
    parts = module.split(".")
    public = parts[: next(at for at, part in enumerate(parts) if _is_private(part))]
    return ".".join(public[1:] if public[0] in ("wink", "tests") else public)


def _is_at_home(importer: str, home: str) -> bool:
    """Whether a module lies in a package, or among the tests of the top one.

    >>> _is_at_home("wink.filesystem.disk._root", "filesystem"), _is_at_home("wink.filesystem._roots", "filesystem.disk")
    (True, False)
    >>> _is_at_home("tests.filesystem.saves.test_kept", "filesystem.disk")
    True
    """
    top, _, rest = importer.partition(".")
    if top == "tests":
        return rest.partition(".")[0] == home.partition(".")[0]
    return f"{rest if top == 'wink' else importer}.".startswith(f"{home}.")
