"""Checks what the collector counts of the conversations that arrive."""

from services.collector.handler import VERDICTS, collect
from soliloquy.v1.conversation_pb2 import Conversation, Ending
from soliloquy.v1.dataset_pb2 import Origin
from soliloquy.v1.events_pb2 import ConversationFinished
from tests.unit.recipes.conversations import conversation, sound_conversation, sound_turns, turn
from tests.unit.runtime.deliveries import delivered


class Anywhere:
    async def add(self, conversation: Conversation, faults: list[str], origin: Origin) -> None:
        pass


def verdicts() -> dict[str, float]:
    return {
        sample.labels["outcome"]: sample.value
        for metric in VERDICTS.collect()
        for sample in metric.samples
        if sample.name == "soliloquy_verdicts_total" and sample.labels["recipe"] == "soliloquy"
    }


async def counted(finished: Conversation) -> dict[str, float]:
    """Returns what a conversation adds to the verdicts."""
    before = verdicts()
    event = ConversationFinished(conversation=finished)
    await collect(event, delivered(event), Anywhere())
    return {outcome: more for outcome, count in verdicts().items() if (more := count - before.get(outcome, 0.0))}


async def test_each_verdict_counts_as_true_or_untrue_whatever_the_code_found() -> None:
    first, right, last = sound_turns()
    assert await counted(sound_conversation()) == {"true": 2}
    praised = turn("3 N", "Right! What work is done?", codes="b3r", step=1)
    assert await counted(conversation(first, praised, last)) == {"true": 1, "untrue": 1}
    corrected = turn("3 N", "Not yet. Multiply.", codes="a1q", step=1, intent="wrong")
    assert await counted(conversation(first, corrected, right, last)) == {"true": 3}


async def test_a_conversation_that_was_not_solved_has_no_verdicts_to_count() -> None:
    assert await counted(conversation(*sound_turns(), ending=Ending.ENDING_TURN_LIMIT)) == {}
