"""Makes the changes of runs that topics and the database keep."""

from soliloquy.v1.events_pb2 import RunChanged
from soliloquy.v1.runs_pb2 import Run, RunState
from soliloquy_services.gateway.runs import LEAST_SECONDS, OVER, KnownRun


def turned(known: KnownRun, state: RunState, because: str, at: float, *, counted: bool = False) -> RunChanged:
    """Returns the run in another state; the progress is part of it if that state or the counts are final."""
    changed = RunChanged()
    changed.CopyFrom(known.changed)
    # A change is later than the one before it, even if the clock was set back.
    changed.state, changed.because, changed.changed_at = state, because, max(at, changed.changed_at + LEAST_SECONDS)
    changed.ClearField("progress")
    if counted or state in OVER:
        changed.progress.CopyFrom(known.counted())
    return changed


def deleted(known: KnownRun, at: float) -> RunChanged:
    """Returns what stays of a run for good, so that no event brings it back: its ids."""
    changed = turned(known, RunState.RUN_STATE_DELETED, "", at)
    for told in ("request", "requested_by", "name", "model"):
        changed.ClearField(told)
    changed.run.CopyFrom(Run(id=known.changed.run.id, growing=known.changed.run.growing))
    return changed
