"""Every benchmark, one after the other, with what the figures were measured on; on Kafka too where one is named."""

import json
import os
import subprocess
from typing import Any

import uvloop

from benchmarks.commands import dataset, gateway, loop, model_client
from benchmarks.commands.grown import Wanted
from benchmarks.executor import sandbox
from benchmarks.executor.mixes import mixes
from benchmarks.runtime import counting, transport
from soliloquy.runtime.transports.kafka import KafkaSettings

SECONDS_A_MIX = 10.0
ROUNDS = 3
PAIRS = 9
WANTED = Wanted(conversations=1024, in_flight=256, latency=loop.EVEN)


def main() -> dict[str, Any]:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    grounds: list[KafkaSettings | None] = [None]
    if bootstrap := os.environ.get("KAFKA_BOOTSTRAP"):
        grounds.append(KafkaSettings(bootstrap=bootstrap))
    alone = sandbox.measure(list(mixes().values()), seconds=SECONDS_A_MIX, tell=_say_nothing)
    return {
        "commit": commit.stdout.strip(),
        "sandbox": uvloop.run(alone),
        "transport": [uvloop.run(transport.measure(kafka, rounds=ROUNDS, tell=_say_nothing)) for kafka in grounds],
        "counting": [uvloop.run(counting.measure(kafka, pairs=PAIRS, tell=_say_nothing)) for kafka in grounds],
        "model_client": model_client.measure(calls=5_000, storm=30.0, rounds=ROUNDS, tell=_say_nothing),
        "dataset": dataset.measure(conversations=10_000, long=200_000, rounds=ROUNDS, tell=_say_nothing),
        "gateway": gateway.measure(seconds=10.0, conversations=100_000, rounds=ROUNDS, tell=_say_nothing),
        "pipeline": [loop.measure(WANTED, kafka, rounds=1, long=True, tell=_say_nothing) for kafka in grounds],
    }


def _say_nothing(_: str) -> None:
    pass


if __name__ == "__main__":
    print(json.dumps(main(), indent=2))
