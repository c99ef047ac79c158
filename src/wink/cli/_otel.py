"""Tell OpenTelemetry of calls, where the environment asks for it with the variables that its specification names."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from wink.session import Session

_ASKING = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_TRACES_EXPORTER")


def traced(session: Session) -> Session:
    """The session, whose calls become spans if one of OpenTelemetry's variables says where to send them.

    Where a program around wink has set it up, such as `opentelemetry-instrument`, that is used; otherwise its own SDK is
    set up by the environment. What is missing is said on standard error, and stops nothing.
    """
    if os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true" or not any(map(os.environ.get, _ASKING)):
        return session
    from wink.adapters import trace_calls

    try:
        _set_up()
        if trace_calls(session):
            return session
        problem = "opentelemetry is not installed; `pip install 'wink[otel]' opentelemetry-sdk` does that"
    except Exception as error:  # foreign code: exporters
        problem = f"{type(error).__name__}: {error}"
    click.echo(f"wink: calls are not traced: {problem}", err=True)
    return session


def _set_up() -> None:
    """Set up the SDK as the environment says, unless somebody has set up something."""
    try:
        from opentelemetry.trace import ProxyTracerProvider, get_tracer_provider
    except ImportError:
        return
    if not isinstance(get_tracer_provider(), ProxyTracerProvider):
        return
    if "console" in os.environ.get("OTEL_TRACES_EXPORTER", ""):
        raise ValueError("OTEL_TRACES_EXPORTER=console would write into what wink prints; name another exporter")
    from importlib.metadata import entry_points

    for found in entry_points(group="opentelemetry_configurator"):
        found.load()().configure()
        return
    raise ImportError("there is no opentelemetry-sdk; install it with an exporter")
