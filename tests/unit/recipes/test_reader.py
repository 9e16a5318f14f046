"""What a message claims is read by a model where its speaker does not say so, and records say who read."""

import json

import pytest

from soliloquy.problems.bank.bank import load_bank
from soliloquy.recipes.reader import ROLE, with_all_claims, with_claims
from soliloquy.recipes.recipe import find
from soliloquy.runtime.ask import MAX_ASKS
from soliloquy.v1.conversation_pb2 import (
    CLAIM_READER_MODEL,
    CLAIM_READER_PATTERNS,
    CLAIM_READER_SPEAKER,
    CLAIM_READER_UNSPECIFIED,
    Conversation,
)
from soliloquy.v1.events_pb2 import StudentReplied
from soliloquy.v1.model_pb2 import Completion, GenerateRequest
from soliloquy.v1.runs_pb2 import Run
from soliloquy_services.model.engines.scripted import ScriptedEngine
from soliloquy_services.tutor.handler import decide
from tests.unit.answering import Answering
from tests.unit.recipes.conversations import conversation, problem

READ = {name: find(name).reader for name in ("soliloquy", "mathdial", "scaffold")}


def reader(*claims: object) -> Answering:
    return Answering(*(json.dumps({"Claims": one}) for one in claims))


def claim(value: str, unit: str = "J", quantity: str = "W") -> dict[str, str]:
    return {"Quantity": quantity, "Value": value, "Unit": unit}


def said(text: str) -> Conversation:
    """A person's message after a tutor's question."""
    made = Conversation(id="c", run=Run(recipe="soliloquy", max_turns=20), problem=problem(), person=True)
    made.turns.add(number=1).tutor.text = "What is the work that is done?"
    made.turns.add(number=2).student.text = text
    return made


@pytest.mark.parametrize("recipe", READ)
async def test_a_persons_message_is_read_and_the_record_says_by_whom(recipe: str) -> None:
    model = reader([claim("180000")])
    made = await with_claims(said("I make it 180 kJ then"), READ[recipe], model)
    turn = made.turns[-1]
    assert [(one.quantity, one.value, one.unit) for one in turn.student.claims] == [("W", 180000, "J")]
    assert turn.student.claims_by == CLAIM_READER_MODEL
    assert [(call.role, call.prompt) for call in turn.calls] == [(ROLE, f"{recipe}/reader")]
    [asked] = model.requests
    prompt = "".join(message.text for message in asked.messages)
    assert "What is the work that is done?" in prompt
    assert "I make it 180 kJ then" in prompt
    assert "180000" not in prompt


async def test_a_message_that_is_written_anew_is_another_request() -> None:
    model = reader([claim("180000")])
    for text in ("I make it 180 kJ then", "So that is 180000 J"):
        await with_claims(said(text), READ["soliloquy"], model)
    assert len({request.id for request in model.requests}) == 2


async def test_a_claim_that_the_message_does_not_make_is_asked_for_again_and_then_dropped() -> None:
    model = reader([claim("180000"), claim("3600", "N", "F")])
    made = await with_claims(said("I make it 180 kJ then"), READ["soliloquy"], model)
    assert len(model.requests) == MAX_ASKS
    assert "does not say 3600 N" in model.requests[1].messages[-1].text
    assert [one.quantity for one in made.turns[-1].student.claims] == ["W"]


async def test_claims_that_all_had_to_be_dropped_leave_the_message_open() -> None:
    made = await with_claims(said("I make it 180 kJ then"), READ["soliloquy"], reader([claim("90000")]))
    assert made.turns[-1].student.claims_by == CLAIM_READER_UNSPECIFIED
    assert not made.turns[-1].student.claims


@pytest.mark.parametrize(("answer", "by"), [(None, CLAIM_READER_UNSPECIFIED), ([], CLAIM_READER_MODEL)])
async def test_a_message_may_claim_nothing_or_be_left_open(answer: object, by: int) -> None:
    made = await with_claims(said("Is it 3 or 4?"), READ["soliloquy"], reader(answer))
    assert (made.turns[-1].student.claims_by, len(made.turns[-1].student.claims)) == (by, 0)


async def test_nobody_reads_what_a_speaker_says_itself_nor_what_answers_nobody() -> None:
    stated = said("I make it 180 kJ then")
    stated.turns[-1].student.claims_by = CLAIM_READER_SPEAKER
    first = said("180 kJ?")
    del first.turns[0]
    for made in (stated, first):
        model = reader([])
        assert await with_claims(made, READ["soliloquy"], model) == made
        assert not model.requests


async def test_the_tutor_reads_before_it_decides_so_that_a_wrong_value_is_known_to_be_wrong() -> None:
    class Tutor(Answering):
        async def generate(self, request: GenerateRequest) -> Completion:
            if request.role == ROLE:
                return await super().generate(request)
            return Completion(text='{"Use Python": "n"}')

    made = conversation()
    made.person = True
    made.turns.add(number=1).student.text = "Where do I begin?"
    made.turns[0].tutor.text = "What is the net force?"
    made.turns.add(number=2).student.text = "there is 36 of newtons, I mean times a hundred and a bit: 3000 N"
    rules = find("soliloquy").rules
    assert rules
    [event] = await decide(StudentReplied(conversation=made), Tutor(json.dumps({"Claims": [claim("3000", "N", "F")]})))
    known = rules.settled(event.conversation)
    assert known is not None
    assert known.right is False


async def test_a_recorded_dialogue_is_read_message_by_message_tutors_included() -> None:
    made = said("I make it 180 kJ then")
    made.turns[-1].tutor.text = "Right, 180 kJ."
    read = await with_all_claims(made, READ["soliloquy"], reader([], [claim("180000")]))
    assert [one.quantity for one in read.turns[1].tutor.claims] == ["W"]
    assert read.turns[1].tutor.claims_by == CLAIM_READER_MODEL
    assert [len(turn.calls) for turn in read.turns] == [1, 2]


async def test_the_stand_in_reads_by_patterns_and_leaves_open_what_is_no_known_value() -> None:
    made = said("")
    made.problem.CopyFrom(load_bank("physics").draw(3))
    result = next(step.result for step in made.problem.steps if step.HasField("result"))
    made.turns[-1].student.text = f"I get {result.value:.12g} {result.unit}."
    read = await with_claims(made, READ["soliloquy"], ScriptedEngine())
    assert read.turns[-1].student.claims_by == CLAIM_READER_PATTERNS
    assert result.value in [one.value for one in read.turns[-1].student.claims]
    made.turns[-1].student.text = "It is 123456.789 of them, I think."
    read = await with_claims(made, READ["soliloquy"], ScriptedEngine())
    assert read.turns[-1].student.claims_by == CLAIM_READER_UNSPECIFIED


@pytest.mark.parametrize(("text", "unit"), [("180000 kg", "kg"), ("It is 180000 km.", "km"), ("180 kJ", "J")])
async def test_the_stand_in_reads_the_right_number_with_the_unit_that_it_has(text: str, unit: str) -> None:
    made = await with_claims(said(text), READ["soliloquy"], ScriptedEngine())
    [read] = made.turns[-1].student.claims
    assert (read.quantity, read.value, read.unit) == ("W", 180000, unit)
