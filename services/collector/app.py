"""The collector service, wired."""

from functools import partial

from soliloquy.runtime.handling import Service
from soliloquy.v1.events_pb2 import (
    ConversationCollected,
    ConversationFinished,
    RunChanged,
    RunStored,
    ServiceDescribed,
)
from soliloquy_services.collector.handler import Store, collect
from soliloquy_services.collector.settings import IN_FLIGHT


def service(store: Store, in_flight: int = IN_FLIGHT) -> Service:
    return Service(
        name="collector",
        delivery_handlers={ConversationFinished: partial(collect, store=store)},
        max_in_flight=in_flight,
        emits=(ConversationCollected, RunStored),
        reads=(RunChanged, RunStored, ConversationCollected, ServiceDescribed),
    )
