"""The collector service, wired."""

from functools import partial

from soliloquy.v1.events_pb2 import ConversationFinished

from services.collector.handler import collect
from services.collector.journal import Journal
from services.collector.settings import CollectorSettings
from services.runtime.handling import Service


def service(settings: CollectorSettings, journal: Journal) -> Service:
    return Service(
        name="collector",
        handlers={ConversationFinished: partial(collect, store=journal)},
        max_in_flight=settings.max_in_flight,
    )
