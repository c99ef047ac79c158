"""Which scenarios of the suite do not pass, and why: a table that the tests and the page are checked against."""

from __future__ import annotations

REVISIONS = ("2025-11-25", "2026-07-28")

_ASKS = (
    "basic-elicitation",
    "basic-sampling",
    "basic-list-roots",
    "request-state",
    "multiple-input-requests",
    "multi-round",
    "non-tool-request",
    "result-type",
    "tampered-state",
    "capability-check",
)

REASONS: dict[str, tuple[str, ...]] = {
    "A wink tool does not ask the client for anything while it runs, since a call is a transaction. What wink itself asks "
    "for is approval, before a call. (Of `server-stateless`, these are 2 checks of 25.)": (
        "tools-call-sampling",
        "tools-call-elicitation",
        "elicitation-sep1034-defaults",
        "elicitation-sep1330-enums",
        "server-stateless",
        *(f"input-required-result-{kind}" for kind in _ASKS),
    ),
    "Resources are not declared: files are read with `read_file`, under the rules, and written down. (Of `caching`, these are "
    "2 checks of 7.)": (
        "resources-list",
        "resources-read-text",
        "resources-read-binary",
        "resources-templates-read",
        "resources-subscribe",
        "resources-unsubscribe",
        "caching",
    ),
    "Logging is not declared: the server's log goes to standard error, and what calls did is in `wink log`.": (
        "logging-set-level",
        "tools-call-with-logging",
    ),
    "Completions are not declared: what a prompt's arguments may be is in their descriptions.": (
        "completion-complete",
    ),
    "It calls a tool that ends its own connection; a wink tool knows of none.": ("server-sse-polling",),
}
NOT_PASSED = frozenset(scenario for scenarios in REASONS.values() for scenario in scenarios)
"""The scenarios that do not pass. Where only some checks fail, `FAILING_CHECKS` says which."""

FAILING_CHECKS: dict[str, frozenset[str]] = {
    "caching": frozenset({"sep-2549-resources-list-caching-hints", "sep-2549-resources-templates-list-caching-hints"}),
    "server-stateless": frozenset(
        {"sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400"}
    ),
}


def table(passed: dict[str, tuple[str, ...]]) -> str:
    """The two tables of the page: what passes, at which revisions, and what does not."""
    lines = ["| passes | at revision |", "|---|---|"]
    lines += [f"| `{name}` | {', '.join(revisions)} |" for name, revisions in sorted(passed.items())]
    lines += ["", "| does not pass | because |", "|---|---|"]
    lines += [f"| {', '.join(f'`{name}`' for name in names)} | {reason} |" for reason, names in REASONS.items()]
    return "\n".join(lines) + "\n"
