"""The collector service, wired."""

from functools import partial

from services.collector.handler import Store, collect
from soliloquy.runtime.handling import Service
from soliloquy.v1.events_pb2 import ConversationCollected, ConversationFinished


def service(store: Store) -> Service:
    return Service(
        name="collector",
        delivery_handlers={ConversationFinished: partial(collect, store=store)},
        emits=(ConversationCollected,),
    )
