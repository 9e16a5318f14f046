"""The curriculum service, wired."""

from functools import partial

from soliloquy.v1.events_pb2 import ConversationCollected, ProblemSubmitted

from services.curriculum.admission import Admission
from services.curriculum.handler import follow_up, start
from services.curriculum.settings import CurriculumSettings
from services.runtime.handling import Service


def service(settings: CurriculumSettings, admission: Admission) -> Service:
    return Service(
        name="curriculum",
        handlers={
            ProblemSubmitted: partial(start, admission=admission),
            ConversationCollected: partial(follow_up, admission=admission),
        },
        max_in_flight=settings.max_in_flight,
    )
