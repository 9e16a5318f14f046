"""Measures the whole loop: how near it comes to what its model allows, what it costs, what a kill makes it repeat."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import uvloop

from benchmarks.commands.grown import Run, Wanted
from benchmarks.commands.limit import makespan
from benchmarks.commands.usage import COMMANDS, SANDBOXES, WORKERS
from benchmarks.runtime import machine
from benchmarks.runtime.figures import merged
from benchmarks.runtime.targets import judged
from benchmarks.runtime.topics import make, remove
from soliloquy.runs.failure import Failure
from soliloquy.runtime.transports.kafka import KafkaSettings

Tell = Callable[[str], None]

EVEN = ((1.0, 1.0),)
UNEVEN = ((0.8, 0.9), (2.8, 0.1))
# A kill comes when this many calls were answered for each conversation in flight.
KILLED_AFTER = 10
SHORT, LONG = 500, 10_000
_TARGETS = Path(__file__).with_name("pipeline.toml")


def measure(wanted: Wanted, kafka: KafkaSettings | None, *, rounds: int, long: bool, tell: Tell) -> dict[str, Any]:
    """On Kafka, or on the embedded log where none is named."""
    figures: dict[str, Any] = {
        "machine": machine.facts(),
        "rounds": rounds,
        "conversations": wanted.conversations,
        "in_flight": wanted.in_flight,
    }
    measured = []
    for number in range(rounds):
        told = f"round {number + 1} of {rounds}: {{}}".format
        found: dict[str, Any] = {}
        for name, latency in (("even", EVEN), ("uneven", UNEVEN)):
            tell(told(f"{name} latency"))
            found[name] = _paced(replace(wanted, latency=latency), kafka)
        tell(told("killed and started again"))
        found["killed"] = _killed(replace(wanted, latency=EVEN), kafka)
        measured.append(found)
    loop = merged(measured)
    if long:
        tell(f"{LONG:,} conversations")
        loop["long"] = merged([_long(wanted, kafka)])
    figures["kafka" if kafka else "embedded"] = loop
    return figures | {"targets": judged(figures, _TARGETS)}


def _paced(wanted: Wanted, kafka: KafkaSettings | None) -> dict[str, Any]:
    with _run(wanted, kafka) as run:
        run.grow()
        chains = run.chains()
        limit, seconds = makespan(chains, wanted.in_flight), run.ended_at - run.began_at
        return {
            "calls": len(run.calls),
            "turns": run.turns,
            "seconds": seconds,
            "limit_seconds": limit,
            "share_of_limit": limit / seconds,
            # Of the limit, what comes from places that stay empty at the end.
            "tail_seconds": limit - sum(chains) / min(wanted.in_flight, len(chains)),
            "start_up_seconds": run.began_at - run.started_at,
            "cpu_ms_a_turn": _cpu_ms(run, run.turns),
        }


def _killed(wanted: Wanted, kafka: KafkaSettings | None) -> dict[str, Any]:
    with _run(wanted, kafka) as run:
        if run.grow(stop=lambda: run.answered() >= KILLED_AFTER * wanted.in_flight):
            raise Failure("the run ended before it was to be killed: have more --conversations, or fewer --in-flight")
        answered = run.answered()
        run.grow()
        repeated = len(run.calls) - len({call.id for call in run.calls})
        return {
            "answered_before": answered,
            "repeated": repeated,
            "repeated_of_in_flight": repeated / wanted.in_flight,
            "repeated_share": repeated / len(run.calls),
        }


def _long(wanted: Wanted, kafka: KafkaSettings | None) -> dict[str, Any]:
    """Without latency; of memory what the workers have when a tenth, a half and all of the calls were answered."""
    costs = {}
    for conversations in (SHORT, LONG):
        with _run(replace(wanted, conversations=conversations, latency=((0.0, 1.0),)), kafka) as run:
            run.grow()
            costs[conversations] = _cpu_ms(run, conversations)["all"]
            memory = {part: run.usage.at(_answered_at(run, part)).rss_mib[WORKERS] for part in (10, 50, 100)}
            seconds = run.ended_at - run.began_at
    return {
        "conversations_per_second": LONG / seconds,
        "cpu_ms_a_conversation": {f"at_{conversations}": cost for conversations, cost in costs.items()},
        "cost_growth": costs[LONG] / costs[SHORT],
        "worker_rss_mib": {f"at_{part}_percent": mib for part, mib in memory.items()},
        "rss_growth": memory[100] / memory[10],
    }


def _answered_at(run: Run, percent: int) -> float:
    return run.calls[len(run.calls) * percent // 100 - 1].answered_at


def _cpu_ms(run: Run, count: int) -> dict[str, float]:
    """From the first call to the dataset; `ours` leaves out the sandboxes, and the scripted engine in the workers."""
    cpu = run.usage.cpu_between(run.began_at, run.ended_at)
    engine = sum(call.cpu_seconds for call in run.calls)
    seconds = {
        "workers": cpu[WORKERS],
        "commands": cpu[COMMANDS],
        "sandboxes": cpu[SANDBOXES],
        "engine": engine,
        "all": cpu[WORKERS] + cpu[COMMANDS],
        "ours": cpu[WORKERS] + cpu[COMMANDS] - engine,
    }
    return {name: 1000 * value / count for name, value in seconds.items()}


@contextmanager
def _run(wanted: Wanted, kafka: KafkaSettings | None) -> Iterator[Run]:
    with tempfile.TemporaryDirectory() as folder:
        if kafka is None:
            yield Run(Path(folder), wanted, None)
            return
        own = uvloop.run(make(kafka))
        try:
            yield Run(Path(folder), wanted, own)
        finally:
            uvloop.run(remove(own))
