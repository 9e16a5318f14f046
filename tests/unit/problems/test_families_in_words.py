"""Problems without a calculation, talked through by the scripted engine."""

import pytest

from soliloquy.problems.bank.bank import load_bank
from soliloquy.texts.phrases import says
from soliloquy.v1.conversation_pb2 import STEP_KIND_CONCEPT
from soliloquy_services.model.engines.scripted import ScriptedEngine
from tests.unit.scripted.driver import Dialogue

BANK = load_bank("physics")
ENGINE = ScriptedEngine(BANK.book)
IN_WORDS = [
    name for name in BANK.names if all(step.outline.kind == STEP_KIND_CONCEPT for step in BANK.family(name).steps)
]


@pytest.mark.parametrize("name", IN_WORDS)
async def test_it_is_solved_without_a_calculation_and_misconceptions_are_the_mistakes(name: str) -> None:
    problem = BANK.family(name).problem(12345)
    turns = await Dialogue(ENGINE, problem, seed=7, wrong=0.4).play(40)
    assert turns[-1].state == "t"
    assert {turn.decision["Use Python"] for turn in turns} == {"n"}
    for turn in turns:
        mistaken = any(says(turn.student, slip.working) for slip in problem.steps[turn.step - 1].slips)
        assert mistaken == (turn.intent == "wrong") == (turn.evaluation == "a")
    assert any(turn.intent == "wrong" for turn in turns)
