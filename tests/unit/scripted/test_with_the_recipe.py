"""The scripted engine under the recipe's own prompts, parser and filters, on the problems of the physics bank."""

import math
import re

import pytest
from soliloquy.v1.conversation_pb2 import EVALUATION_INCORRECT, INTENT_WRONG, Conversation
from soliloquy.v1.events_pb2 import CalculationNeeded, ReplyNeeded, StudentReplied, TutorReplied
from soliloquy.v1.runs_pb2 import Run
from soliloquy.v1.sandbox_pb2 import STATUS_OK, Value

from services.curriculum.bank.bank import load_bank
from services.model.engines.scripted import ScriptedEngine
from services.recipes.soliloquy import codegen, composer, student, tutor
from services.recipes.soliloquy.progress import progress_of
from services.recipes.soliloquy.rules import faults
from services.runtime.ask import Ask

BANK = load_bank("physics")
ENGINE = ScriptedEngine(BANK.book)


async def grown(ordinal: int) -> Conversation:
    conversation = Conversation(
        id=str(ordinal), problem=BANK.problem(3, ordinal), run=Run(id="r", recipe="soliloquy", seed=3, max_turns=20)
    )
    while not conversation.ending:
        number = len(conversation.turns)
        (event,) = await student.reply(TutorReplied(conversation=conversation), _ask("student", ordinal, number))
        said = StudentReplied(conversation=event.conversation)
        (event,) = await tutor.decide(said, _ask("tutor", ordinal, number))
        if isinstance(event, CalculationNeeded):
            (event,) = await codegen.write(event, _ask("codegen", ordinal, number))
            _run(event.conversation)
        judged = ReplyNeeded(conversation=event.conversation)
        (event,) = await composer.reply(judged, _ask("composer", ordinal, number))
        conversation = event.conversation
    return conversation


def _ask(role: str, ordinal: int, turn: int) -> Ask:
    return Ask(model=ENGINE, role=role, origin=(ordinal, turn))


def _run(conversation: Conversation) -> None:
    """Notes what the code is bound to give: the step's result, and how the student's value compares."""
    attempt = conversation.turns[-1].calculation.attempts[-1]
    value = conversation.problem.steps[progress_of(conversation).step - 1].result.value
    attempt.execution.status = STATUS_OK
    attempt.execution.values.add(name=attempt.result_variables[0], value=Value(real=value))
    said = re.search(r"^student_\w+ = (\S+)$", attempt.code, re.MULTILINE)
    if said:
        right = math.isclose(float(said[1]), value, rel_tol=0.01)
        attempt.execution.values.add(name="is_correct", value=Value(boolean=right))


@pytest.mark.parametrize("ordinal", range(80))
async def test_a_scripted_conversation_passes_the_recipes_filters(ordinal: int) -> None:
    conversation = await grown(ordinal)
    assert faults(conversation) == []
    wrong = [
        turn.tutor.evaluation == EVALUATION_INCORRECT
        for turn in conversation.turns
        if turn.student.intent == INTENT_WRONG
    ]
    assert all(wrong)
