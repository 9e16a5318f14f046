"""The curriculum service, wired."""

from functools import partial

from services.curriculum import metrics
from services.curriculum.admission import Admission
from services.curriculum.handler import cancel, follow_up, start
from services.curriculum.settings import CurriculumSettings
from soliloquy.runtime.handling import Service
from soliloquy.v1.events_pb2 import (
    ConversationCollected,
    ConversationStarted,
    EnrichmentNeeded,
    ProblemSubmitted,
    RunCancelled,
    RunStanding,
)


def service(settings: CurriculumSettings) -> Service:
    admission = Admission()
    metrics.UNDER_WAY.set_function(lambda: admission.under_way)
    metrics.LIMIT.set_function(lambda: admission.limit)
    return Service(
        name="curriculum",
        handlers={
            ProblemSubmitted: partial(start, admission=admission),
            ConversationCollected: partial(follow_up, admission=admission),
            RunCancelled: partial(cancel, admission=admission),
        },
        emits=(EnrichmentNeeded, ConversationStarted, RunStanding),
        tables={RunStanding: admission.recall},
        max_in_flight=settings.max_in_flight,
        max_fetched=settings.max_waiting,
    )
