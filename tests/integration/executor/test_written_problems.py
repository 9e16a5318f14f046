"""Code that models write instead of a function that returns a number is run, counted by reason, and never kept."""

import pytest

from soliloquy.v1.conversation_pb2 import Ending
from soliloquy.v1.sandbox_pb2 import LANE_FAST
from soliloquy_papers.mathwell.recipe import RECIPE
from soliloquy_services.executor.pool import SandboxPool
from tests.integration.executor.support import needs_runsc
from tests.unit.papers.mathwell.writing import FUNCTION, Says, commissioned, made

pytestmark = [needs_runsc, pytest.mark.asyncio(loop_scope="session")]
BODY = "def solution():\n    "
INSTEAD = {
    "answer = 21": "not executable: NameError: name 'solution' is not defined",
    f"{BODY}print(12 + 9)": "no number: solution() returned None, and printed '21'",
    f"{BODY}return [12 + 9]": "no number: solution() returned [21]",
    f"{BODY}return 12, 9": "no number: solution() returned [12, 9]",
    f"{BODY}return 12 < 9": "no number: solution() returned False",
    f"{BODY}return '21 penguins'": "no number: solution() returned '21 penguins'",
    f"{BODY}return float('nan')": "no number: solution() returned nan",
    f"{BODY}return (12 + 9": "not executable: SyntaxError",
    f"{BODY}return int(input())": "not executable: EOFError",
}


@pytest.mark.parametrize(("code", "reason"), INSTEAD.items(), ids=lambda text: text.splitlines()[-1].strip()[:30])
async def test_a_function_that_returns_no_number_is_counted_with_its_reason(
    pool: SandboxPool, code: str, reason: str
) -> None:
    conversation = await made(commissioned(), Says(code), pool)
    assert conversation.ending == Ending.ENDING_WRITTEN
    (fault,) = RECIPE.faults(conversation)
    assert fault.startswith(reason)
    assert not conversation.problem.HasField("answer")


async def test_a_function_that_returns_a_number_runs_on_the_fast_lane_and_is_kept(pool: SandboxPool) -> None:
    conversation = await made(commissioned(), Says(FUNCTION), pool)
    assert RECIPE.faults(conversation) == []
    assert conversation.problem.answer.value == 21
    (attempt,) = conversation.turns[0].calculation.attempts
    assert attempt.execution.lane == LANE_FAST
