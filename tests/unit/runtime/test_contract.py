"""A conversation that does not fit its topic is refused before a handler sees it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from soliloquy.runtime.cancelled import CancelledRuns
from soliloquy.runtime.contract import NEEDS, Misfit
from soliloquy.runtime.events import Outcome, emit, first_event
from soliloquy.runtime.handling import PERMANENT_ERRORS, Handling, Service
from soliloquy.runtime.metrics import topic_metrics
from soliloquy.runtime.topics import TOPICS
from soliloquy.runtime.transports.port import Delivery, Partition
from soliloquy.v1.conversation_pb2 import Calculation, Conversation, Ending, Problem, Turn, TutorReply
from soliloquy.v1.runs_pb2 import Run

# What makes a conversation fit each need, and what makes it a misfit.
FITTING: dict[str, Callable[[Conversation], object]] = {
    "problem": lambda it: it.problem.CopyFrom(Problem(question="How far?")),
    "no turn": lambda it: it.ClearField("turns"),
    "open turn": lambda it: _turn(it).ClearField("tutor"),
    "calculation": lambda it: _turn(it).calculation.CopyFrom(Calculation(description="3 / 4")),
    "program": lambda it: _turn(it).calculation.attempts.add(code="x = 3 / 4"),
    "reply": lambda it: _turn(it).tutor.CopyFrom(TutorReply(text="Why?")),
    "ending": lambda it: setattr(it, "ending", Ending.ENDING_SOLVED),
}
LACKING: dict[str, Callable[[Conversation], object]] = {
    "problem": lambda it: it.ClearField("problem"),
    "no turn": lambda it: it.turns.add(number=1),
    "open turn": lambda it: it.ClearField("turns"),
    "calculation": lambda it: it.turns[-1].ClearField("calculation"),
    "program": lambda it: it.turns[-1].calculation.ClearField("attempts"),
    "reply": lambda it: it.turns[-1].ClearField("tutor"),
    "ending": lambda it: setattr(it, "ending", 99),
}
NEEDED = [(topic.name, need) for topic in TOPICS.values() for need in topic.needs]


def _turn(conversation: Conversation) -> Turn:
    return conversation.turns[-1] if conversation.turns else conversation.turns.add(number=1)


def _fitting(topic: str) -> Conversation:
    conversation = Conversation(id="c1", run=Run(id="r1"))
    for need in TOPICS[topic].needs:
        FITTING[need](conversation)
    return conversation


async def _handled(topic: str, conversation: Conversation) -> list[Conversation]:
    """Returns what the handler of the topic was given."""
    given = []

    async def take(message: Any) -> Outcome:
        given.append(message.conversation)
        return emit()

    message: Any = TOPICS[topic].message
    service = Service(name="contract", handlers={message: take})
    event = first_event(message(conversation=conversation), source="test", time=0.0)
    await Handling(service, topic_metrics(service.name, service.topics), CancelledRuns()).outputs(
        Delivery(event=replace(event, began={}), partition=Partition(topic, 0), offset=0)
    )
    return given


@pytest.mark.parametrize("topic", sorted({topic for topic, _ in NEEDED}))
async def test_a_conversation_that_fits_is_handled(topic: str) -> None:
    assert await _handled(topic, _fitting(topic)) == [_fitting(topic)]


@pytest.mark.parametrize(("topic", "need"), NEEDED)
async def test_a_conversation_that_lacks_what_its_topic_needs_is_refused_for_good(topic: str, need: str) -> None:
    conversation = _fitting(topic)
    LACKING[need](conversation)
    with pytest.raises(Misfit, match=f"{topic} cannot carry conversation 'c1': ") as refused:
        await _handled(topic, conversation)
    assert isinstance(refused.value, PERMANENT_ERRORS)
    assert NEEDS[need][1] in str(refused.value)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda it: setattr(it.turns[0], "number", 7), "its turn 1 has the number 7"),
        (lambda it: it.turns.insert(0, it.turns[0]), "its turn 2 has the number 1"),
        (lambda it: setattr(it, "attempt", -(2**31)), "it is attempt -2147483648"),
        (lambda it: setattr(it, "ordinal", -1), "at problem -1"),
    ],
)
async def test_wrong_counts_are_refused_on_every_topic(change: Callable[[Conversation], object], why: str) -> None:
    conversation = _fitting("reply.needed")
    change(conversation)
    with pytest.raises(Misfit, match=why):
        await _handled("reply.needed", conversation)


def test_topics_need_what_the_contract_knows() -> None:
    assert {need for _, need in NEEDED} == NEEDS.keys()
