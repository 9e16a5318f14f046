"""The option of commands that serve metrics for as long as they run."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from soliloquy.cli.parameters import ADDRESS
from soliloquy.runtime.failure import Failure

METRICS = click.option("--metrics", metavar="HOST:PORT", type=ADDRESS, help="Serve Prometheus metrics there.")


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
