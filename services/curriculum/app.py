"""The curriculum service, wired."""

from functools import partial

from soliloquy.runtime.handling import Service
from soliloquy.runtime.metrics import gauge
from soliloquy.v1.events_pb2 import (
    ConversationCollected,
    ConversationStarted,
    EnrichmentNeeded,
    ProblemSubmitted,
    ProgramsNeeded,
    RunCancelled,
    RunStanding,
)
from soliloquy_services.curriculum.admission import Admission
from soliloquy_services.curriculum.handler import cancel, follow_up, start

UNDER_WAY = gauge("soliloquy_conversations_under_way")
LIMIT = gauge("soliloquy_admission_limit")
# Problems of one partition, over all runs, that may wait in memory for room in their runs.
_MAX_WAITING = 2048


def service() -> Service:
    admission = Admission()
    UNDER_WAY.set_function(lambda: admission.under_way)
    LIMIT.set_function(lambda: admission.limit)
    return Service(
        name="curriculum",
        handlers={
            ProblemSubmitted: partial(start, admission=admission),
            ConversationCollected: partial(follow_up, admission=admission),
            RunCancelled: partial(cancel, admission=admission),
        },
        emits=(ProgramsNeeded, EnrichmentNeeded, ConversationStarted, RunStanding),
        tables={RunStanding: admission.recall},
        max_fetched=_MAX_WAITING,
    )
