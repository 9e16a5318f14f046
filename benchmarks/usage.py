"""CPU and memory of a run's processes, sampled from outside."""

import time
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from benchmarks.processes import command, cpu_seconds, family, resident_mib, stats

WORKERS, COMMANDS, SANDBOXES = "workers", "commands", "sandboxes"


@dataclass(frozen=True, kw_only=True, slots=True)
class UsageSample:
    """CPU seconds used until a moment, and memory in use at it, by kind of process."""

    at: float
    cpu: Mapping[str, float]
    rss_mib: Mapping[str, float]


@dataclass(kw_only=True)
class Usage:
    """Samples processes and their descendants; keeps counting the CPU time of those that have ended."""

    samples: list[UsageSample] = field(default_factory=list)
    pids: set[int] = field(default_factory=set)
    _kinds: dict[int, str] = field(default_factory=dict)
    _cpu: dict[int, float] = field(default_factory=dict)

    def sample(self, roots: Collection[int]) -> None:
        known = stats()
        self.pids = family([root for root in roots if root in known], known)
        memory: defaultdict[str, float] = defaultdict(float)
        for pid in self.pids:
            # A process that has just been forked is still called like its parent.
            if self._kinds.get(pid) != WORKERS:
                self._kinds[pid] = _kind(pid, roots)
            self._cpu[pid] = cpu_seconds(known[pid])
            memory[self._kinds[pid]] += resident_mib(known[pid])
        cpu: defaultdict[str, float] = defaultdict(float)
        for pid, seconds in self._cpu.items():
            cpu[self._kinds[pid]] += seconds
        self.samples.append(UsageSample(at=time.time(), cpu=dict(cpu), rss_mib=dict(memory)))

    def at(self, moment: float) -> UsageSample:
        """Returns the last sample until a moment, or the first of all."""
        return next((sample for sample in reversed(self.samples) if sample.at <= moment), self.samples[0])

    def cpu_between(self, start: float, end: float) -> dict[str, float]:
        before, after = self.at(start).cpu, self.at(end).cpu
        return {kind: after.get(kind, 0.0) - before.get(kind, 0.0) for kind in (WORKERS, COMMANDS, SANDBOXES)}


def _kind(pid: int, roots: Collection[int]) -> str:
    if pid in roots:
        return COMMANDS
    # The processes that serve are copies of the command; the others that it starts belong to a sandbox.
    return WORKERS if command(pid) in map(command, roots) else SANDBOXES
