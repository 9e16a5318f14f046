"""The collector service, wired."""

from collections.abc import Callable
from functools import partial

from soliloquy.runtime.handling import Service
from soliloquy.v1.events_pb2 import ConversationCollected, ConversationFinished, RunChanged
from soliloquy_services.collector.handler import Store, collect


def service(store: Store, run_changed: Callable[[RunChanged], None] | None = None) -> Service:
    """`run_changed` hears of every run that is started, paused or over."""
    return Service(
        name="collector",
        delivery_handlers={ConversationFinished: partial(collect, store=store)},
        emits=(ConversationCollected,),
        follows={RunChanged: run_changed} if run_changed else {},
    )
