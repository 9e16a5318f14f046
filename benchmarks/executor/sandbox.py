"""Measures the sandbox: mix by mix with one pool over all cores, then what a pool of one does when things fail."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.executor.lifecycle import lifecycle, running
from benchmarks.executor.load import Run, closed, paced
from benchmarks.executor.mixes import Mix
from benchmarks.executor.processes import adopt_orphans, cpu_seconds
from benchmarks.executor.runners import in_pool, in_subprocess
from benchmarks.runtime import machine
from benchmarks.runtime.figures import merged
from benchmarks.runtime.targets import judged
from services.executor.pool import SandboxPool

Tell = Callable[[str], None]

ROUNDS = 3
# Of a round's time.
_SATURATED, _ONE_CALLER, _HALF_LOAD, _SUBPROCESS = 0.35, 0.25, 0.25, 0.15
_WARM_UP_SECONDS = 0.5
_SEED = 17
_TARGETS = Path(__file__).with_name("targets.toml")


async def measure(mixes: Sequence[Mix], *, seconds: float, tell: Tell, whole: bool = True) -> dict[str, Any]:
    """So many seconds a mix; the whole of it with what is no matter of load."""
    adopt_orphans()
    figures: dict[str, Any] = {"machine": machine.facts(), "seconds_a_mix": seconds, "rounds": ROUNDS}
    async with running(sandboxes=figures["machine"]["cores"], spares=1) as (pool, _):
        first = await pool.execute(mixes[0].snippets[0].job)
        figures["machine"] |= {"runsc": first.runsc_version, "isolation": first.isolation}
        figures["mixes"] = {mix.name: await _measure(mix, pool, seconds * mix.time, tell) for mix in mixes}
    if whole:
        figures["lifecycle"] = await lifecycle(tell)
    return figures | {"targets": judged(figures, _TARGETS)}


async def _measure(mix: Mix, pool: SandboxPool, seconds: float, tell: Tell) -> dict[str, Any]:
    bench = _Bench(mix, pool)
    tell(f"{mix.name}: warming up")
    await bench.closed(bench.run, bench.many, _WARM_UP_SECONDS)
    rounds = []
    for number in range(ROUNDS):
        tell(f"{mix.name}: round {number + 1} of {ROUNDS}")
        rounds.append(await bench.round(seconds / ROUNDS, number))
    return {"saturating_callers": bench.many, "lanes": dict(bench.lanes)} | merged(rounds)


class _Bench:
    """One mix in one pool."""

    def __init__(self, mix: Mix, pool: SandboxPool) -> None:
        self.lanes = Counter[str]()
        self.run = in_pool(pool, self.lanes)
        self.cores = machine.cores()
        self.many = mix.callers_a_core * self.cores
        self._beside_subprocess = mix.beside_subprocess
        self._snippets = mix.in_order(_SEED)

    async def round(self, seconds: float, number: int) -> dict[str, Any]:
        """Saturated: never a core without a job. Half load: jobs arrive at random, at half the rate of that."""
        saturated = await self.closed(self.run, self.many, seconds * _SATURATED)
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
        before = cpu_seconds()
        stint = await closed(run, self._snippets, callers=callers, seconds=seconds)
        cpu_ms = (cpu_seconds() - before) * 1000
        return stint.figures() | {
            "jobs_per_second_a_core": stint.rate / self.cores,
            "cpu_ms_a_job": cpu_ms / stint.jobs,
        }
