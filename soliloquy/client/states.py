"""Tells the state of a run, without gRPC."""

from soliloquy.v1.gateway_pb2 import RunStatus
from soliloquy.v1.runs_pb2 import RunState

_FINAL_STATES = (
    RunState.RUN_STATE_CANCELLED,
    RunState.RUN_STATE_FINISHED,
    RunState.RUN_STATE_SHORT,
    RunState.RUN_STATE_DELETED,
)


def state_of(status: RunStatus) -> str:
    """Returns running, paused, cancelled, finished, short, open or deleted."""
    return RunState.Name(status.state).removeprefix("RUN_STATE_").lower()


def is_over(status: RunStatus) -> bool:
    return status.state in _FINAL_STATES
