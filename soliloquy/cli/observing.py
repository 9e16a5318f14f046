"""The options for traces and logs, the same for every command that runs services."""

import logging
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import click

from soliloquy.cli.parameters import Choice, real
from soliloquy.cli.service_options import Command, from_environment, gathered, option
from soliloquy.runtime.logs import FORMATS, set_up
from soliloquy.runtime.traces.opening import TraceSettings

LOG_FORMAT, TRACE_SHARE = "SOLILOQUY_LOG_FORMAT", "SOLILOQUY_TRACE_SHARE"
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
)


def observing(service: str, least: int = logging.INFO) -> Callable[[Command], Callable[..., Any]]:
    """Hands the command `traces`, and sets up its log under the name of its service.

    `least` is the lowest level to log beside a progress bar; SOLILOQUY_LOG_FORMAT turns on all levels.
    """

    def settings(traces: str) -> TraceSettings:
        log_format = from_environment(LOG_FORMAT, Choice(FORMATS))
        share = from_environment(TRACE_SHARE, real(0, 1))
        set_up(service, log_format, logging.INFO if log_format else least)
        return TraceSettings(url=traces, share=1.0 if share is None else share)

    return gathered("traces", settings, _OPTIONS)
