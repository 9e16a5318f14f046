"""An event as a stage hands it to its handler."""

from soliloquy.runtime.events import ConversationEvent, RunEvent, first_event
from soliloquy.runtime.transports.port import Delivery, Partition


def delivered(message: ConversationEvent | RunEvent, offset: int = 0) -> Delivery:
    event = first_event(message, source="test", time=0.0)
    return Delivery(event=event, partition=Partition(event.topic, 0), offset=offset)
