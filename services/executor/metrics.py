"""Metrics of the sandbox pool, by lane and outcome."""

from soliloquy.runtime.metrics import counter, gauge, histogram
from soliloquy.runtime.traces import spans
from soliloquy.runtime.values import lane_name, status_name
from soliloquy.v1.sandbox_pb2 import Execution

JOBS = counter("soliloquy_sandbox_jobs_total")
JOB = histogram("soliloquy_sandbox_job_seconds")
WAIT = histogram("soliloquy_sandbox_wait_seconds")
REFUSED = counter("soliloquy_sandbox_jobs_refused_total")
BOOTS = counter("soliloquy_sandbox_boots_total")
BOOT = histogram("soliloquy_sandbox_boot_seconds")
DEATHS = counter("soliloquy_sandbox_deaths_total")
BUSY = gauge("soliloquy_sandbox_busy")
READY = gauge("soliloquy_sandbox_ready")

# Create the series at once, so that a dashboard shows zeros instead of no data.
for reason in ("limit", "busy", "unavailable"):
    REFUSED.labels(reason)
for outcome in ("booted", "failed"):
    BOOTS.labels(outcome)


def done(execution: Execution) -> None:
    lane, status, exemplar = lane_name(execution), status_name(execution), spans.exemplar()
    JOBS.labels(lane, status).inc()
    JOB.labels(lane).observe(execution.seconds, exemplar)
    WAIT.labels(lane).observe(execution.waited_seconds, exemplar)
    spans.note(lane=lane, status=status, seconds=execution.seconds, waited_seconds=execution.waited_seconds)
