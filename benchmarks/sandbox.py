"""`python -m benchmarks sandbox`."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import uvloop
from rich.console import RenderableType

from benchmarks import machine
from benchmarks.command import AS_JSON, Tell, show, spread, status_line, table, three_digits
from benchmarks.figures import judged, merged
from benchmarks.processes import adopt_orphans, cpu_seconds_of_all
from benchmarks.sandbox_jobs import Mix, WrongResult, mixes
from benchmarks.sandbox_lifecycle import lifecycle
from benchmarks.sandbox_load import Run, closed, in_pool, in_subprocess, paced, running_pool
from soliloquy.runtime.failure import Failure
from soliloquy_services.executor.pool import SandboxPool

ROUNDS = 3
SECONDS = 10.0
_MIXES = mixes()
_ALL = "all"
# Parts of a round's time.
_SATURATED, _ONE_CALLER, _HALF_LOAD, _SUBPROCESS = 0.35, 0.25, 0.25, 0.15
_WARM_UP_SECONDS = 0.5
_SEED = 17
_TARGETS = Path(__file__).with_suffix(".toml")


@click.command()
@click.option(
    "--mix",
    default=_ALL,
    show_default=True,
    type=click.Choice([*_MIXES, _ALL]),
    help="The jobs to run; `all` also measures boots, memory and kills.",
)
@click.option(
    "--seconds",
    default=SECONDS,
    show_default=True,
    type=click.FloatRange(min=1),
    help="Time for each mix; single-use takes twice as long.",
)
@AS_JSON
def sandbox(*, mix: str, seconds: float, as_json: bool) -> None:
    """Measure the sandbox against a plain subprocess per job.

    Every result is checked; a wrong one ends the benchmark.
    """
    chosen = list(_MIXES.values()) if mix == _ALL else [_MIXES[mix]]
    try:
        with status_line() as tell:
            figures = uvloop.run(measure(chosen, seconds=seconds, whole=mix == _ALL, tell=tell))
    except WrongResult as error:
        raise Failure(str(error)) from error
    show(figures, tables, as_json=as_json)


async def measure(chosen: Sequence[Mix], *, seconds: float, tell: Tell, whole: bool = True) -> dict[str, Any]:
    """Measures each mix with one pool over all cores; `whole` adds what happens to a pool of one sandbox."""
    adopt_orphans()
    figures: dict[str, Any] = {"machine": machine.facts(), "seconds_a_mix": seconds, "rounds": ROUNDS}
    async with running_pool(sandboxes=figures["machine"]["cores"]) as (pool, _):
        first = await pool.execute(chosen[0].snippets[0].job)
        figures["machine"] |= {"runsc": first.runsc_version, "isolation": first.isolation}
        figures["mixes"] = {mix.name: await _measure_mix(mix, pool, seconds * mix.time, tell) for mix in chosen}
    if whole:
        figures["lifecycle"] = await lifecycle(tell)
    return figures | {"targets": judged(figures, _TARGETS)}


async def _measure_mix(mix: Mix, pool: SandboxPool, seconds: float, tell: Tell) -> dict[str, Any]:
    bench = _MixBenchmark(mix, pool)
    tell(f"{mix.name}: warming up")
    await bench.closed(bench.run, bench.saturating_callers, _WARM_UP_SECONDS)
    rounds = []
    for number in range(ROUNDS):
        tell(f"{mix.name}: round {number + 1} of {ROUNDS}")
        rounds.append(await bench.round(seconds / ROUNDS, number))
    return {"saturating_callers": bench.saturating_callers, "lanes": dict(bench.lanes)} | merged(rounds)


class _MixBenchmark:
    def __init__(self, mix: Mix, pool: SandboxPool) -> None:
        self.lanes = Counter[str]()
        self.run = in_pool(pool, self.lanes)
        self.cores = machine.cores()
        self.saturating_callers = mix.callers_a_core * self.cores
        self._beside_subprocess = mix.beside_subprocess
        self._snippets = mix.in_order(_SEED)

    async def round(self, seconds: float, number: int) -> dict[str, Any]:
        """Measures with every core busy, with one caller a core, and with random arrivals at half the rate."""
        saturated = await self.closed(self.run, self.saturating_callers, seconds * _SATURATED)
        one_caller = await self.closed(self.run, self.cores, seconds * _ONE_CALLER)
        rate = saturated["jobs_per_second"] / 2
        half_load = await paced(self.run, self._snippets, rate=rate, seconds=seconds * _HALF_LOAD, seed=number)
        figures = {"saturated": saturated, "one_caller_a_core": one_caller, "half_load": half_load.figures()}
        if self._beside_subprocess:
            beside = await self.closed(in_subprocess, self.cores, seconds * _SUBPROCESS)
            ratio = saturated["jobs_per_second"] / beside["jobs_per_second"]
            figures |= {"subprocess": beside, "times_subprocess": {"jobs_per_second": ratio}}
        return figures

    async def closed(self, run: Run, callers: int, seconds: float) -> dict[str, float]:
        before = cpu_seconds_of_all()
        load = await closed(run, self._snippets, callers=callers, seconds=seconds)
        cpu_ms = (cpu_seconds_of_all() - before) * 1000
        return load.figures() | {
            "jobs_per_second_a_core": load.rate / self.cores,
            "cpu_ms_a_job": cpu_ms / load.jobs,
        }


def tables(figures: dict[str, Any]) -> Iterator[RenderableType]:
    load = table(
        "",
        "jobs/s a core",
        "CPU ms\na job",
        "p50, p99 ms\none caller a core",
        "p50, p99 ms\nhalf load",
        "of a plain\nsubprocess",
    )
    for name, mix in figures["mixes"].items():
        full, beside = mix["saturated"], mix.get("times_subprocess")
        load.add_row(
            name,
            spread(full["jobs_per_second_a_core"]),
            three_digits(full["cpu_ms_a_job"]["median"]),
            _latency(mix["one_caller_a_core"]),
            _latency(mix["half_load"]),
            f"{three_digits(beside['jobs_per_second']['median'])} times" if beside else "",
        )
    yield load


def _latency(figures: dict[str, Any]) -> str:
    return f"{three_digits(figures['p50_ms']['median'])}, {three_digits(figures['p99_ms']['median'])}"
