"""Conversations that no row could hold never reach the store."""

import pytest

from soliloquy.runtime.retry import Refused
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Origin
from soliloquy.v1.events_pb2 import ConversationCollected, ConversationFinished
from soliloquy_services.collector.handler import collect
from tests.unit.recipes.conversations import sound_conversation
from tests.unit.runtime.deliveries import delivered


class Store:
    def __init__(self) -> None:
        self.ids: list[str] = []

    async def add(self, conversation: Conversation, faults: list[str], origin: Origin) -> None:
        self.ids.append(conversation.id)


async def test_a_conversation_with_labels_of_nobody_is_refused_before_it_is_stored() -> None:
    store, sound = Store(), sound_conversation()
    broken = sound_conversation()
    broken.turns[0].student.labels = b"\x0a\xff"
    refused, stored = (ConversationFinished(conversation=one) for one in (broken, sound))
    with pytest.raises(Refused, match="the labels of its student"):
        await collect(refused, delivered(refused), store)
    await collect(stored, delivered(stored), store)
    assert store.ids == [sound.id]


async def test_the_summary_has_the_calls_and_the_time_of_those_that_waited_for_each_other() -> None:
    conversation = sound_conversation()
    del conversation.problem.enrichment.calls[:]
    for turn in conversation.turns:
        del turn.calls[:]
    # Samples of one prompt are asked for together.
    for prompt, seconds in (("plan", 2.0), ("plan", 3.0), ("solution", 1.0)):
        conversation.problem.enrichment.calls.add(role="planner", prompt=prompt, seconds=seconds)
    for seconds in (4.0, 5.0):
        conversation.turns[0].calls.add(role="tutor", prompt="deciding", seconds=seconds)
    event = ConversationFinished(conversation=conversation)
    [collected] = await collect(event, delivered(event), Store())
    assert isinstance(collected, ConversationCollected)
    assert (collected.summary.calls, collected.summary.seconds) == (2, 9.0)
    shared = collected.summary.enrichment
    assert (shared.problem, shared.calls, shared.seconds) == (conversation.problem.id, 3, 4.0)
