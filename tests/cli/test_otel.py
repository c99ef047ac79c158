"""`wink call` and `wink serve` tell OpenTelemetry of calls when the environment asks for it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.cli.conftest import Done

Cli = Callable[..., Done]


def test_nothing_is_traced_unless_it_is_asked_for(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be loaded for nothing."""

    def asked() -> None:
        raise AssertionError("nobody has asked for a trace")

    monkeypatch.setattr("wink.adapters._tracing._tracer", asked)
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_TRACES_EXPORTER"):
        monkeypatch.delenv(name, raising=False)
    assert cli("call", "read_file", "file_path=a.txt").status == 0
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    assert cli("call", "read_file", "file_path=a.txt").status == 0


def test_what_cannot_be_traced_stops_nothing(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said once, on standard error."""
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "console")

    done = cli("call", "read_file", "file_path=a.txt")

    assert done.status == 0
    assert "calls are not traced" in done.err
    assert "one" in done.out
