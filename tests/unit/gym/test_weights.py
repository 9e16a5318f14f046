"""Weights are data: a file or a table changes what a reward counts."""

from pathlib import Path

import pytest

from soliloquy.gym import Gym
from soliloquy.gym.rewards import WEIGHTS, weights_of
from soliloquy.runtime.failure import Failure
from soliloquy.v1.conversation_pb2 import Conversation
from tests.unit.gym.playing import played
from tests.unit.scripted.growing import DESK


def test_a_file_of_weights_needs_only_the_differences(tmp_path: Path) -> None:
    file = tmp_path / "weights.toml"
    file.write_text("[weights]\nverdict = 1.0\n")
    assert weights_of(file) == {**WEIGHTS, "verdict": 1.0}


def test_an_unknown_component_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(Failure, match="no component 'verdicts': did you mean verdict"):
        weights_of({"verdicts": 1.0})


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
def test_a_weight_that_is_no_number_from_0_up_is_refused(weight: float) -> None:
    with pytest.raises(Failure, match=r"weights: verdict = .*: a weight is a number from 0 up"):
        weights_of({"verdict": weight})


async def test_a_judge_adds_an_opinion_with_the_weight_that_it_is_given() -> None:
    async def judge(conversation: Conversation) -> float:
        return 1 / len(conversation.turns)

    async with Gym("soliloquy", "physics", 17, sandbox=DESK, judge=judge, weights={"judge": 0.5}) as gym:
        episode = await played(gym.episode(3))
    found = episode.reward.components["judge"]
    assert (found.value, found.weight) == (1 / len(episode.conversation.turns), 0.5)
