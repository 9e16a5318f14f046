"""`soliloquy observe`: a Prometheus with our rules, on this machine."""

import contextlib
import socket
from collections.abc import Mapping

import click

from soliloquy.cli.command import Command, option
from soliloquy.cli.processes import PORTS, processes_of_up
from soliloquy.cli.prometheus import Prometheus, prometheus
from soliloquy.cli.signals import end_when_asked
from soliloquy.cli.terminal import echo
from soliloquy.runtime.failure import Failure

_CONNECT_SECONDS = 0.5


@click.command(cls=Command)
@processes_of_up(http_from=9100)
def observe(
    *,
    port: int = option("The port of Prometheus; Debian's own is on 9090.", default=9190, type=PORTS),
    processes: Mapping[str, str],
) -> None:
    """Run Prometheus with our rules against the services of `soliloquy up`, until Ctrl-C.

    The measurements are lost when it stops.
    """
    end_when_asked()
    targets = {address: name for name, address in processes.items()}
    with contextlib.suppress(KeyboardInterrupt), prometheus(targets, port) as running:
        _tell(running, len(targets))
        if not any(map(_answers, targets)):
            first = next(iter(targets)).rpartition(":")[2]
            echo(f"no service answers yet: run soliloquy up .. --http-from {first}", err=True)
        running.wait()
        raise Failure(f"Prometheus stopped: {running.last_words}")


def _tell(running: Prometheus, targets: int) -> None:
    echo(f"Prometheus on {running.address} scrapes {targets} processes; press Ctrl-C to stop")
    for page, what in (
        ("alerts", "alerts; see deploy/RUNBOOK.md"),
        ("targets", "processes and whether they answer"),
        ("graph?g0.expr=soliloquy%3Alag_events%3Asum&g0.tab=0", "backlog of each stage"),
        ("graph?g0.expr=soliloquy%3Aconversations_finished%3Arate5m&g0.tab=0", "finished conversations"),
    ):
        echo(f"  {running.address}/{page}  {what}")


def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_SECONDS):
            return True
    except OSError:
        return False
