"""Verdicts of accepted conversations that are turned round are found, every one, and no other is."""

from benchmarks.drawn_answers import NO_FAULTS
from benchmarks.false_verdicts import play
from benchmarks.known_truth import known_problems
from soliloquy.recipes.recipe import find
from soliloquy.v1.conversation_pb2 import EVALUATION_CORRECT, EVALUATION_INCORRECT, Conversation
from soliloquy.v1.runs_pb2 import Run
from tests.unit.scripted.growing import DESK, grown

_TURNED = {EVALUATION_CORRECT: EVALUATION_INCORRECT, EVALUATION_INCORRECT: EVALUATION_CORRECT}
_WANTED = 10
RECIPE = find("soliloquy")


async def _conversations() -> list[Conversation]:
    of_bank = [await grown(ordinal, seed=5) for ordinal in range(8)]
    run = Run(id="own", recipe="soliloquy", seed=5, max_turns=20, max_attempts=1)
    of_own, _ = await play(run, known_problems("gsm8k", 8), NO_FAULTS, DESK)
    return [one for one in (*of_bank, *of_own) if not RECIPE.faults(one)]


def _verdict_faults(conversation: Conversation) -> list[str]:
    return [fault for fault in RECIPE.check(conversation).faults if fault.startswith("verdict")]


async def test_each_verdict_that_is_turned_round_is_found_and_no_other() -> None:
    accepted, found = await _conversations(), 0
    assert not any(map(_verdict_faults, accepted))
    assert all(turn.student.claims_by for conversation in accepted for turn in conversation.turns)
    for conversation in accepted:
        judged = [turn for turn in conversation.turns if turn.student.claims and turn.tutor.evaluation in _TURNED]
        if not judged or found == _WANTED:
            continue
        judged[0].tutor.evaluation = _TURNED[judged[0].tutor.evaluation]
        assert _verdict_faults(conversation), judged[0]
        found += 1
    assert found == _WANTED
