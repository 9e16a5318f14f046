"""Problems without a calculation, talked through by the stand-in."""

import pytest

from soliloquy.problems.bank.bank import load_bank
from soliloquy.v1.conversation_pb2 import STEP_KIND_CONCEPT, Ending
from soliloquy.v1.events_pb2 import ConversationStarted
from soliloquy_services.model.engines.scripted import ScriptedEngine
from tests.unit.scripted.growing import begun, finished

BANK = load_bank("physics")
ENGINE = ScriptedEngine()
IN_WORDS = [
    name for name in BANK.names if all(step.outline.kind == STEP_KIND_CONCEPT for step in BANK.family(name).steps)
]


@pytest.mark.parametrize("name", IN_WORDS)
async def test_it_is_solved_without_a_calculation(name: str) -> None:
    conversation = begun(0, seed=7)
    conversation.problem.CopyFrom(BANK.family(name).problem(12345))
    ended = await finished(ConversationStarted(conversation=conversation), engine=ENGINE)
    assert ended.ending == Ending.ENDING_SOLVED
    assert not any(turn.HasField("calculation") for turn in ended.turns)
