"""The options for traces, logs and metrics, the same for every command that has them."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import click

from soliloquy.cli.command import gathered, option, setting
from soliloquy.cli.options import ADDRESS, Choice, real
from soliloquy.cli.service_options import from_environment
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.logs import FORMATS, set_up
from soliloquy.runtime.traces.opening import TraceSettings

LOG_FORMAT, TRACE_SHARE = "SOLILOQUY_LOG_FORMAT", "SOLILOQUY_TRACE_SHARE"
METRICS = setting("Serve Prometheus metrics there.", "--metrics", type=ADDRESS)
_TRACES = option(
    "Send a trace of each conversation to this collector, by OTLP over HTTP.",
    default="",
    metavar="URL",
    callback=lambda _, __, given: endpoint(given),
)


def endpoint(given: str) -> str:
    """Returns the URL for spans at the address of a collector; raises click.BadParameter."""
    if not given:
        return ""
    parts = urlsplit(given)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise click.BadParameter(f"invalid collector address {given!r}: use e.g. http://127.0.0.1:4318")
    if parts.username or parts.password:
        raise click.BadParameter("the address must not contain credentials: use OTEL_EXPORTER_OTLP_HEADERS")
    # The default path of an OTLP collector.
    return given if parts.path.strip("/") else given.rstrip("/") + "/v1/traces"


def observing(service: str, least: int = logging.INFO) -> Any:
    """Returns the option for traces; its value also sets up the log under the name of the command's service.

    `least` is the lowest level to log beside a progress bar; SOLILOQUY_LOG_FORMAT turns on all levels.
    """

    def settings(traces: str = _TRACES) -> TraceSettings:
        log_format = from_environment(LOG_FORMAT, Choice(FORMATS))
        share = from_environment(TRACE_SHARE, real(0, 1))
        set_up(service, log_format, logging.INFO if log_format else least)
        return TraceSettings(url=traces, share=1.0 if share is None else share)

    return gathered(settings)


@contextmanager
def serving_metrics(address: str | None) -> Iterator[None]:
    """Serves /metrics if an address is given."""
    if address is None:
        yield
        return
    # It loads slowly, and few ask for it.
    from prometheus_client import start_http_server

    host, _, port = address.rpartition(":")
    try:
        server, thread = start_http_server(int(port), host)
    except OSError as error:
        raise Failure(f"cannot serve metrics on {address} ({error.strerror}): choose another --metrics") from error
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
