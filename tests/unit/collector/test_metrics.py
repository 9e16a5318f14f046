"""Checks what the collector counts of the conversations that arrive."""

import pytest
from prometheus_client import Counter

from soliloquy.runtime.retry import Refused
from soliloquy.v1.conversation_pb2 import Conversation, Ending, ModelCall, ParseOutcome
from soliloquy.v1.dataset_pb2 import Origin
from soliloquy.v1.events_pb2 import ConversationCollected, ConversationFinished
from soliloquy_services.collector.handler import collect
from soliloquy_services.collector.metrics import ANSWERS_SENT_BACK, FIRST_TRIES, REWINDS, TOKENS, TURNS, VERDICTS
from tests.unit.recipes.conversations import conversation, sound_conversation, sound_turns, turn
from tests.unit.runtime.deliveries import delivered


class Store:
    def __init__(self) -> None:
        self.ids: list[str] = []

    async def add(self, conversation: Conversation, faults: list[str], origin: Origin, lineage: str = "") -> None:
        self.ids.append(conversation.id)


def samples(counter: Counter, *labels: str) -> dict[str, float]:
    """Returns a counter of the recipe by the values of its labels."""
    found: dict[str, float] = {}
    for metric in counter.collect():
        for sample in metric.samples:
            if sample.name.endswith("_total") and sample.labels["recipe"] == "soliloquy":
                key = " ".join(sample.labels[label] for label in labels)
                found[key] = found.get(key, 0.0) + sample.value
    return found


async def counted(finished: Conversation, counter: Counter = VERDICTS, *labels: str) -> dict[str, float]:
    """Returns what a conversation adds to a counter."""
    by = labels or ("outcome",)
    before = samples(counter, *by)
    event = ConversationFinished(conversation=finished)
    await collect(event, delivered(event), Store())
    after = samples(counter, *by)
    return {value: more for value, count in after.items() if (more := count - before.get(value, 0.0))}


async def test_each_verdict_counts_as_true_or_untrue_whatever_the_code_found() -> None:
    first, right, last = sound_turns()
    assert await counted(sound_conversation()) == {"true": 2}
    praised = turn("3 N", "Right! What work is done?", codes="b3r", step=1)
    assert await counted(conversation(first, praised, last)) == {"true": 1, "untrue": 1}
    corrected = turn("3 N", "Not yet. Multiply.", codes="a1q", step=1, intent="wrong")
    assert await counted(conversation(first, corrected, right, last)) == {"true": 3}


async def test_a_conversation_that_was_not_solved_has_no_verdicts_to_count() -> None:
    assert await counted(conversation(*sound_turns(), ending=Ending.ENDING_TURN_LIMIT)) == {}


async def test_answers_that_went_back_and_turns_taken_back_are_counted_with_their_tokens() -> None:
    first, right, last = sound_turns()
    strict, reasked = ParseOutcome.PARSE_OUTCOME_STRICT, ParseOutcome.PARSE_OUTCOME_REASKED
    for one in (first, right, last):
        one.calls.append(
            ModelCall(role="composer", model="small", outcome=strict, prompt_tokens=100, completion_tokens=10)
        )
    right.calls.append(ModelCall(role="composer", model="small", outcome=strict, prompt_tokens=50, completion_tokens=5))
    right.calls.append(ModelCall(role="student", model="small", outcome=reasked, prompt_tokens=7, completion_tokens=1))
    right.rejected.add(role="composer", rule="steps", calls=[0])
    finished = conversation(first, right, last)
    finished.rewinds.add(rule="verdict", turns=[right])
    assert await counted(finished, ANSWERS_SENT_BACK, "role", "rule") == {"composer steps": 2}
    assert await counted(finished, REWINDS, "rule") == {"verdict": 1}
    assert await counted(finished, TURNS, "mended") == {"no": 2, "yes": 1}
    assert await counted(finished, TOKENS, "kind", "fate") == {
        "prompt stand": 257,
        "completion stand": 26,
        "prompt sent back": 100,
        "completion sent back": 10,
        "prompt taken back": 157,
        "completion taken back": 16,
    }
    # The answers that went back are no first tries; those in their place were mended, as was one of another form.
    assert await counted(finished, FIRST_TRIES, "role", "outcome") == {
        "composer stood": 2,
        "composer mended": 2,
        "student mended": 2,
    }


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
    for each in conversation.turns:
        del each.calls[:]
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
