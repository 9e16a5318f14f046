"""`make kafka`: runs brokers in the foreground until Ctrl-C, and then deletes their data."""

import contextlib
import signal
import sys
import tempfile
import time
from pathlib import Path

import click

from tests.kafka.cluster import KafkaCluster
from tests.kafka.jars import KafkaUnavailable
from tests.kafka.node import KafkaFailed


@click.command(help=__doc__)
@click.option("--brokers", default=1, show_default=True, type=click.IntRange(1, 9))
@click.option("--port", default=9092, show_default=True, help="Of the first broker; the others follow.")
def main(brokers: int, port: int) -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt), tempfile.TemporaryDirectory(prefix="kafka-") as folder:
        try:
            serve(KafkaCluster(Path(folder), brokers=brokers, port=port), folder)
        except (KafkaUnavailable, KafkaFailed) as error:
            sys.exit(f"kafka: {error}")


def serve(cluster: KafkaCluster, folder: str) -> None:
    """Returns when a node ends by itself or this process is asked to end."""
    click.echo("Kafka is starting; the first time its jars are fetched", err=True)
    with cluster:
        click.echo(f"Kafka listens on {cluster.bootstrap} (data in {folder}, Ctrl-C stops it)", err=True)
        nodes = cluster.pids
        while cluster.pids == nodes:
            time.sleep(0.2)
        ended = ", ".join(str(node) for node in nodes if node not in cluster.pids)
        raise KafkaFailed(f"node {ended} ended")


if __name__ == "__main__":
    main()
