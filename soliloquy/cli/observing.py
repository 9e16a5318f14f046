"""The options for traces and logs, the same for every command that runs services."""

import logging
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import click
from click.core import ParameterSource

from soliloquy.cli.service_options import Command, gathered, option
from soliloquy.runtime.logs import FORMATS, set_up
from soliloquy.runtime.traces.opening import TraceSettings

# The default path of an OTLP collector.
_PATH = "/v1/traces"


def endpoint(given: str) -> str:
    """Returns the URL for spans at the address of a collector; raises click.BadParameter."""
    if not given:
        return ""
    parts = urlsplit(given)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise click.BadParameter(f"invalid collector address {given!r}: use e.g. http://127.0.0.1:4318")
    if parts.username or parts.password:
        raise click.BadParameter("the address must not contain credentials: use OTEL_EXPORTER_OTLP_HEADERS")
    return given if parts.path.strip("/") else given.rstrip("/") + _PATH


_OPTIONS = (
    option(
        "--traces",
        default="",
        metavar="URL",
        callback=lambda _, __, given: endpoint(given),
        help="Send a trace of each conversation to this collector, by OTLP over HTTP.",
    ),
    option(
        "--trace-share",
        default=1.0,
        show_default=True,
        type=click.FloatRange(0, 1),
        help="The share of conversations to trace, chosen by their ids.",
    ),
    option(
        "--log-format",
        type=click.Choice(FORMATS),
        help="How log lines look.  [default: text on a terminal, json elsewhere]",
    ),
)


def observing(service: str, least: int = logging.INFO) -> Callable[[Command], Callable[..., Any]]:
    """Hands the command `traces`, and sets up its log under the name of its service.

    `least` is the lowest level to log beside a progress bar; --log-format turns on all levels.
    """

    def settings(traces: str, trace_share: float, log_format: str | None) -> TraceSettings:
        source = click.get_current_context().get_parameter_source("trace_share")
        if not traces and source is ParameterSource.COMMANDLINE:
            raise click.UsageError("--trace-share requires --traces")
        set_up(service, log_format, logging.INFO if log_format else least)
        return TraceSettings(url=traces, share=trace_share)

    return gathered("traces", settings, _OPTIONS)
