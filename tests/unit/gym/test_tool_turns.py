"""A turn as one chat: a call of python is the tutor's decision and program, and the reply sees the output."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from soliloquy.gym import Gym, Observation, ToolCall
from soliloquy.gym.tool_turns import ToolEpisode
from soliloquy.recipes.codegen import output
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import EVALUATION_CORRECT, Conversation
from soliloquy.v1.sandbox_pb2 import STATUS_OK
from tests.unit.gym.playing import played
from tests.unit.scripted.growing import DESK


@pytest_asyncio.fixture
async def gym() -> AsyncIterator[Gym]:
    async with Gym("soliloquy", "physics", 17, sandbox=DESK) as opened:
        yield opened


def reply(conversation: Conversation, turn: int) -> str:
    """Returns the reply of a turn as its tutor wrote it."""
    return next(call.raw[-1] for call in reversed(conversation.turns[turn - 1].calls) if call.role == "composer")


def call(conversation: Conversation, turn: int) -> ToolCall | None:
    calculation = conversation.turns[turn - 1].calculation
    if not calculation.attempts:
        return None
    attempt = calculation.attempts[-1]
    return ToolCall(
        code=attempt.code, result_variables=list(attempt.result_variables), description=calculation.description
    )


async def test_calls_and_replies_lead_to_the_conversation_of_decisions_programs_and_replies(gym: Gym) -> None:
    known = (await played(gym.episode(0))).conversation
    episode = gym.tool_episode(0)
    observation, called = await episode.reset(), set[int]()
    while observation is not None:
        wanted = call(known, observation.turn)
        if observation.tools and wanted and observation.turn not in called:
            called.add(observation.turn)
            observation = await episode.step(wanted)
            assert observation is not None
            assert output(known.turns[observation.turn - 1].calculation) in observation.messages[-1]["content"]
            assert not observation.tools
        else:
            observation = await episode.step(reply(known, observation.turn))
    assert called
    assert [turn.tutor for turn in episode.conversation.turns] == [turn.tutor for turn in known.turns]
    assert episode.reward.total > 0.8


async def until_answer(episode: ToolEpisode, known: Conversation) -> Observation:
    """Plays until the student has given a result."""
    observation = await episode.reset()
    while observation is not None and call(known, observation.turn) is None:
        observation = await episode.step(reply(known, observation.turn))
    assert observation is not None
    return observation


async def test_a_reply_to_a_result_without_a_calculation_comes_back_with_the_reason(gym: Gym) -> None:
    known = (await played(gym.episode(0))).conversation
    episode = gym.tool_episode(0)
    first = await until_answer(episode, known)
    again = await episode.step(reply(known, first.turn))
    assert again is not None
    assert again.tools
    assert again.messages[:2] == first.messages
    assert "decides against a calculation" in again.messages[-1]["content"]


async def test_a_program_that_fails_comes_back_with_its_error(gym: Gym) -> None:
    known = (await played(gym.episode(0))).conversation
    episode = gym.tool_episode(0)
    first = await until_answer(episode, known)
    wanted = call(known, first.turn)
    assert wanted
    failed = await episode.step(ToolCall(code="import os", result_variables=["x"]))
    assert failed is not None
    assert failed.tools
    assert "import os" in failed.messages[-1]["content"]
    with pytest.raises(Failure, match="call python again"):
        await episode.step(reply(known, first.turn))
    replying = await episode.step(wanted)
    assert replying is not None
    await episode.step(reply(known, first.turn))
    turn = episode.conversation.turns[first.turn - 1]
    assert [one.execution.status == STATUS_OK for one in turn.calculation.attempts] == [False, True]
    assert turn.tutor.evaluation == EVALUATION_CORRECT
