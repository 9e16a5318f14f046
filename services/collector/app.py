"""The collector service, wired."""

from functools import partial

from soliloquy.runtime.handling import Service
from soliloquy.v1.events_pb2 import ConversationCollected, ConversationFinished, RunChanged, RunStored
from soliloquy_services.collector.handler import Store, collect


def service(store: Store) -> Service:
    return Service(
        name="collector",
        delivery_handlers={ConversationFinished: partial(collect, store=store)},
        emits=(ConversationCollected, RunStored),
        reads=(RunChanged, RunStored, ConversationCollected),
    )
