"""`python -m benchmarks pipeline`."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import uvloop
from rich.console import RenderableType
from rich.table import Table

from benchmarks import kafka_topics, machine
from benchmarks.command import AS_JSON, Tell, rounds_option, show, spread, status_line, table
from benchmarks.figures import figure, judged, merged
from benchmarks.observed_run import ObservedRun, RunRequest
from benchmarks.run_limit import makespan
from benchmarks.usage import COMMANDS, SANDBOXES, WORKERS
from soliloquy.cli.command import Command
from soliloquy.cli.service_options import KAFKA
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.transports.kafka import KafkaSettings

# How much longer than the even ones, and how many of them.
UNEVEN = ((0.8, 0.9), (2.8, 0.1))
# The kill comes after this many answered calls for each conversation in flight.
KILLED_AFTER = 10
SHORT, LONG = 500, 10_000
_TARGETS = Path(__file__).with_suffix(".toml")
_ROWS = {
    "seconds": "seconds",
    "limit": "limit_seconds",
    "idle places at the end, in the limit": "tail_seconds",
    "seconds of start-up before": "start_up_seconds",
    "MiB of all processes at most": "most_rss_mib",
    "CPU ms a turn": "cpu_ms_a_turn.ours",
    "of the scripted engine": "cpu_ms_a_turn.engine",
    "of the sandboxes": "cpu_ms_a_turn.sandboxes",
}


@click.command(cls=Command)
@click.option(
    "--conversations", default=1024, show_default=True, type=click.IntRange(min=1), help="Conversations of each run."
)
@click.option("--in-flight", default=256, show_default=True, type=click.IntRange(min=1), help="Conversations at once.")
@click.option(
    "--workers", default=1, show_default=True, type=click.IntRange(min=1), help="Processes on the embedded log."
)
@click.option("--latency", default=1.0, show_default=True, type=float, help="Seconds that an answer takes.")
@rounds_option(1)
@click.option("--long", is_flag=True, help=f"Also grow {LONG:,} conversations (takes minutes).")
@AS_JSON
def pipeline(
    *,
    kafka: KafkaSettings | None = KAFKA,
    conversations: int,
    in_flight: int,
    workers: int,
    latency: float,
    rounds: int,
    long: bool,
    as_json: bool,
) -> None:
    """Measure whole runs.

    Without --kafka the embedded log is measured. The scripted model answers after a second, or in 0.8 s with one
    answer in ten after 2.8 s; other latencies are uneven in proportion. The figures are compared with the limit: the
    time of a run in which only the model takes time. Then a whole run is killed with kill -9 and started again.

    On Kafka the benchmark starts services of its own, on topics that it makes and deletes at the end. Anything else
    on that Kafka stays untouched, but disturbs the figures.
    """
    request = RunRequest(conversations=conversations, in_flight=in_flight, workers=workers, latency=((latency, 1.0),))
    with status_line() as tell:
        figures = measure(request, kafka, rounds=rounds, long=long, tell=tell)
    show(figures, tables, as_json=as_json)


def measure(request: RunRequest, kafka: KafkaSettings | None, *, rounds: int, long: bool, tell: Tell) -> dict[str, Any]:
    """Measures Kafka, or the embedded log."""
    figures: dict[str, Any] = {
        "machine": machine.facts(),
        "rounds": rounds,
        "conversations": request.conversations,
        "in_flight": request.in_flight,
    }
    measured = []
    for number in range(rounds):
        found: dict[str, Any] = {}
        [(seconds, _)] = request.latency
        for name, latency in (("even", request.latency), ("uneven", [(seconds * to, of) for to, of in UNEVEN])):
            tell(f"round {number + 1} of {rounds}: {name} latency")
            found[name] = _paced(replace(request, latency=latency), kafka)
        tell(f"round {number + 1} of {rounds}: killed and started again")
        found["killed"] = _killed(request, kafka)
        measured.append(found)
    result = merged(measured)
    if long:
        tell(f"{LONG:,} conversations")
        result["long"] = merged([_long(request, kafka)])
    figures["kafka" if kafka else "embedded"] = result
    return figures | {"targets": judged(figures, _TARGETS)}


def _paced(request: RunRequest, kafka: KafkaSettings | None) -> dict[str, Any]:
    with _run(request, kafka) as run:
        run.grow()
        waiting = run.waiting_times()
        limit, seconds = makespan(waiting, request.in_flight), run.ended_at - run.began_at
        return {
            "calls": len(run.calls),
            "turns": run.turns,
            "seconds": seconds,
            "limit_seconds": limit,
            "share_of_limit": limit / seconds,
            # Time of idle places at the end of the run, which is part of the limit.
            "tail_seconds": limit - sum(waiting) / min(request.in_flight, len(waiting)),
            "start_up_seconds": run.began_at - run.started_at,
            "most_rss_mib": max(sum(sample.rss_mib.values()) for sample in run.usage.samples),
            "cpu_ms_a_turn": _cpu_ms(run, run.turns),
        }


def _killed(request: RunRequest, kafka: KafkaSettings | None) -> dict[str, Any]:
    with _run(request, kafka) as run:
        if run.grow(stop=lambda: run.answered() >= KILLED_AFTER * request.in_flight):
            raise Failure("the run ended before it could be killed: use more --conversations, or fewer --in-flight")
        answered = run.answered()
        run.grow()
        repeated = len(run.calls) - len({call.id for call in run.calls})
        return {
            "answered_before": answered,
            "repeated": repeated,
            "repeated_of_in_flight": repeated / request.in_flight,
            "repeated_share": repeated / len(run.calls),
        }


def _long(request: RunRequest, kafka: KafkaSettings | None) -> dict[str, Any]:
    """Runs without latency; the workers' memory is that after a tenth, a half and all of the calls."""
    costs = {}
    for conversations in (SHORT, LONG):
        with _run(replace(request, conversations=conversations, latency=((0.0, 1.0),)), kafka) as run:
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


def _answered_at(run: ObservedRun, percent: int) -> float:
    return run.calls[len(run.calls) * percent // 100 - 1].answered_at


def _cpu_ms(run: ObservedRun, count: int) -> dict[str, float]:
    """Returns the CPU from the first call to the dataset; `ours` leaves out the sandboxes and the scripted engine."""
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
def _run(request: RunRequest, kafka: KafkaSettings | None) -> Iterator[ObservedRun]:
    with tempfile.TemporaryDirectory() as folder:
        if kafka is None:
            yield ObservedRun(Path(folder), request, None)
            return
        own = uvloop.run(kafka_topics.make(kafka))
        try:
            yield ObservedRun(Path(folder), request, own)
        finally:
            uvloop.run(kafka_topics.remove(own))


def tables(figures: dict[str, Any]) -> Iterator[RenderableType]:
    yield f"{figures['conversations']:,} conversations, {figures['in_flight']} in flight"
    for name in ("kafka", "embedded"):
        if name in figures:
            yield _runs(name, figures[name])


def _runs(name: str, found: dict[str, Any]) -> Table:
    runs = table(name, "1 s a call", "uneven calls")
    for label, path in _ROWS.items():
        runs.add_row(label, *(spread(figure(found[latency], path)) for latency in ("even", "uneven")))
    return runs
