"""Worker processes: how one is started, and those of a run on this machine."""

import math
import os
import sys
from pathlib import Path

from services.executor.settings import SandboxSettings
from soliloquy.runs.plan import Plan
from soliloquy.runs.supervision import ProcessSpec, Supervisor
from soliloquy.runs.wiring import LOOP, ORDERS, Assignment, ModelSettings
from soliloquy.runtime.traces.settings import TraceSettings

GRACE_SECONDS = 3.0
# Booting a sandbox takes a second of a core; so few conversations hardly keep one busy.
CONVERSATIONS_A_SANDBOX = 8


class Workers(Supervisor):
    """Each worker of a run serves the five services of the loop, and the planner where problems are enriched."""

    def __init__(self, plan: Plan, log: Path, traces: TraceSettings) -> None:
        assignment = Assignment(
            services=("planner", *LOOP) if plan.enrich else LOOP,
            transport=log,
            model=ModelSettings(
                problems=[plan.problems],
                latency=plan.latency,
                noise=plan.noise,
                models=plan.models,
                cache=plan.model_cache,
            ),
            sandbox=SandboxSettings(sandboxes=_sandboxes(plan)),
            classifiers=plan.classifiers,
            traces=traces,
            grace=GRACE_SECONDS,
        )
        super().__init__([process_spec(f"worker-{number}", assignment) for number in range(plan.workers)])


def _sandboxes(plan: Plan) -> int:
    """Of each lane, for each worker: one a core, and fewer where few conversations run at once."""
    at_once = min(plan.conversations, plan.in_flight)
    wanted = min(os.cpu_count() or 1, math.ceil(at_once / CONVERSATIONS_A_SANDBOX))
    return max(1, wanted // plan.workers)


def process_spec(name: str, assignment: Assignment) -> ProcessSpec:
    """The name shows in the list of processes."""
    return ProcessSpec(
        name=name,
        command=[sys.executable, "-m", "soliloquy.runs.worker", name],
        assignment=ORDERS.dump_json(assignment),
        grace=assignment.grace,
    )
