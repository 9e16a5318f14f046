"""An episode in another language: its prompts, its student, and how its decimals are judged."""

from pathlib import Path

import pytest

from soliloquy.gym import Gym
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model.settings_file import checked_endpoint, shipped_models
from soliloquy_services.model.fake import FakeServer, FakeSettings
from tests.unit.gym.playing import played, stand_in
from tests.unit.languages.speakers import WrittenSpeakers
from tests.unit.languages.test_german_conversations import MISTAKEN, PROBLEM
from tests.unit.scripted.growing import DESK


@pytest.fixture
def problems(tmp_path: Path) -> str:
    path = tmp_path / "aufgaben.jsonl"
    path.write_text(PROBLEM.model_dump_json(exclude_defaults=True) + "\n", "utf-8")
    return str(path)


async def test_an_episode_in_german_is_judged_by_its_decimal_commas(problems: str) -> None:
    async with FakeServer(WrittenSpeakers("soliloquy"), FakeSettings()).serving("127.0.0.1:0") as url:
        endpoint = checked_endpoint({"engine": "openai", "base_url": url, "model": "scripted"}, "speakers")
        models, prompts = shipped_models().only_at(endpoint), {"learners.toml": MISTAKEN}
        async with Gym("soliloquy", problems, 2, models=models, prompts=prompts, language="de", sandbox=DESK) as gym:
            episode = await played(gym.episode(0), stand_in)
    said = [turn.student.text for turn in episode.conversation.turns]
    assert any("83,5 km" in text for text in said)
    assert episode.reward.components["verdict"].value == 1
    assert episode.reward.components["solves_after"].value == 1


def test_the_stand_in_plays_no_german_student(problems: str) -> None:
    with pytest.raises(Failure, match="the scripted model speaks English alone, not de"):
        Gym("soliloquy", problems, language="de")
