"""`python -m benchmarks all`."""

import json
import os
import subprocess
from typing import Any

import click
import uvloop
from rich.console import Console

from benchmarks import counting, dataset, gateway, model_client, pipeline, sandbox, transport
from benchmarks.command import AS_JSON, Tell, status_line
from benchmarks.observed_run import RunRequest
from benchmarks.sandbox_jobs import mixes
from soliloquy.runtime.transports.kafka import KafkaSettings

ROUNDS = 3
PAIRS = 9
RUN = RunRequest(conversations=1024, in_flight=256, latency=pipeline.EVEN)


@click.command(name="all")
@AS_JSON
def all_(*, as_json: bool) -> None:
    """Run the benchmarks that need no model weights.

    If KAFKA_BOOTSTRAP names a broker, runs and transport are measured on Kafka too.
    """
    with status_line() as tell:
        figures = measure(tell)
    if as_json:
        click.echo(json.dumps(figures))
    else:
        Console().print_json(data=figures)


def measure(tell: Tell) -> dict[str, Any]:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    transports: list[KafkaSettings | None] = [None]
    if bootstrap := os.environ.get("KAFKA_BOOTSTRAP"):
        transports.append(KafkaSettings(bootstrap=bootstrap))
    return {
        "commit": commit.stdout.strip(),
        "sandbox": uvloop.run(sandbox.measure(list(mixes().values()), seconds=sandbox.SECONDS, tell=tell)),
        "transport": [uvloop.run(transport.measure(kafka, rounds=ROUNDS, tell=tell)) for kafka in transports],
        "counting": [uvloop.run(counting.measure(kafka, pairs=PAIRS, tell=tell)) for kafka in transports],
        "model_client": model_client.measure(calls=5_000, storm_seconds=30.0, rounds=ROUNDS, tell=tell),
        "dataset": dataset.measure(conversations=10_000, long=200_000, rounds=ROUNDS, tell=tell),
        "gateway": gateway.measure(seconds=10.0, conversations=100_000, rounds=ROUNDS, tell=tell),
        "pipeline": [pipeline.measure(RUN, kafka, rounds=1, long=True, tell=tell) for kafka in transports],
    }
