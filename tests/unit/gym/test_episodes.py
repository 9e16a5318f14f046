"""An episode is a conversation of a run, whose tutor answers from outside."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from soliloquy.gym import Episode, EpisodeFailed, Gym, Observation, SyncGym
from soliloquy.recipes.recipe import find
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.retry import Transient
from soliloquy.v1.conversation_pb2 import ENDING_SOLVED, ENDING_UNFIT, ENDING_UNPARSABLE
from soliloquy.v1.model_pb2 import Completion
from soliloquy.v1.sandbox_pb2 import Execution, Job
from tests.unit.gym.playing import all_played, played, stand_in
from tests.unit.scripted.growing import DESK
from tests.waiting import until

SEED = 17


@pytest_asyncio.fixture
async def gym() -> AsyncIterator[Gym]:
    async with Gym("soliloquy", "physics", SEED, sandbox=DESK) as opened:
        yield opened


async def test_the_same_answers_lead_to_the_same_episode(gym: Gym) -> None:
    episode = gym.episode(3)
    first = (await played(episode)).conversation
    for call in (call for turn in first.turns for call in turn.calls):
        assert call.engine == "scripted"
    again, beside = await all_played(gym, [3, 3])
    for other in (await played(episode), again, beside):
        assert [turn.tutor.text for turn in other.conversation.turns] == [turn.tutor.text for turn in first.turns]
        assert other.reward == again.reward
    assert first.ending == ENDING_SOLVED


async def test_an_observation_is_the_prompt_of_a_run(gym: Gym) -> None:
    seen: list[Observation] = []

    async def noting(episode: Episode, observation: Observation) -> Completion:
        seen.append(observation)
        return await stand_in(episode, observation)

    conversation = (await played(gym.episode(0), noting)).conversation
    rebuilt = [
        (turn, prompt.name, [{"role": role, "content": text} for role, text in prompt.said])
        for turn, prompt in find("soliloquy").prompts(conversation)
        if not prompt.name.endswith("/student")
    ]
    assert [(one.turn, one.prompt, one.messages) for one in seen] == rebuilt
    assert {one.role for one in seen} == {"tutor", "codegen", "composer"}
    assert all(json.loads(one.schema) for one in seen)


async def test_the_environment_plays_what_is_not_the_policys() -> None:
    async with Gym("soliloquy", "physics", SEED, sandbox=DESK, roles=["composer"]) as gym:
        episode = await played(gym.episode(0), _only_replying)
    assert episode.reward.components["program"].value == 1
    assert episode.conversation.ending == ENDING_SOLVED


async def _only_replying(episode: Episode, observation: Observation) -> Completion:
    assert observation.role == "composer"
    return await episode.stand_in()


async def test_an_answer_that_cannot_be_used_comes_back_with_the_reason(gym: Gym) -> None:
    episode = gym.episode(0)
    first = await episode.reset()
    again = await episode.step('{"Use Python": "perhaps"}')
    assert first
    assert again
    assert again.prompt == first.prompt
    assert "cannot be used" in again.messages[-1]["content"]


async def test_a_policy_that_never_gives_a_usable_answer_ends_its_episode(gym: Gym) -> None:
    async def mute(episode: Episode, observation: Observation) -> str:
        return "no"

    episode = await played(gym.episode(0), mute)
    assert episode.conversation.ending == ENDING_UNPARSABLE
    assert episode.reward.components["form"].value == 0
    assert episode.reward.total <= 0


@pytest.mark.thorough
async def test_a_gym_says_which_model_its_episodes_wait_for(tmp_path: Path) -> None:
    file = tmp_path / "models.toml"
    student = 'engine = "openai", base_url = "http://127.0.0.1:1/v1", model = "scripted"'
    endpoints = f'endpoints.scripted.engine = "scripted"\nendpoints.pupil = {{ {student} }}\n'
    file.write_text(f'endpoint = "scripted"\n{endpoints}roles.student.endpoint = "pupil"\n')
    async with Gym("soliloquy", "physics", SEED, sandbox=DESK, models=file) as gym:
        assert not gym.fault
        waiting = asyncio.create_task(gym.episode(0).reset())
        await until(lambda: gym.fault)
        assert "waits for the model at pupil (http://127.0.0.1:1/v1, model 'scripted')" in gym.fault
        waiting.cancel()


class CrowdedSandbox:
    """Holds its first jobs until it is full, and refuses what comes then."""

    def __init__(self) -> None:
        self.running = self.refused = 0
        self.was_full = asyncio.Event()

    async def execute(self, job: Job) -> Execution:
        self.running += 1
        if self.running > 64:
            self.refused += 1
            raise Transient("too many jobs are waiting")
        if self.running == 64:
            self.was_full.set()
        await self.was_full.wait()
        self.running -= 1
        return await DESK.execute(job)


async def test_more_episodes_than_a_sandbox_lets_wait_are_played_at_once() -> None:
    sandbox = CrowdedSandbox()
    async with Gym("soliloquy", "physics", SEED, sandbox=sandbox) as gym:
        episodes = await all_played(gym, range(80))
    assert sandbox.was_full.is_set()
    assert not sandbox.refused
    assert len({episode.conversation.id for episode in episodes}) == 80


class RebootingSandbox:
    """Fails at each other call."""

    def __init__(self) -> None:
        self.calls = 0

    async def execute(self, job: Job) -> Execution:
        self.calls += 1
        if self.calls % 2:
            raise Transient("no sandbox boots")
        return await DESK.execute(job)


async def test_a_fault_of_the_sandbox_that_passes_costs_no_episode() -> None:
    sandbox = RebootingSandbox()
    async with Gym("soliloquy", "physics", SEED, sandbox=sandbox) as gym:
        conversation = (await played(gym.episode(0))).conversation
    assert conversation.ending == ENDING_SOLVED
    assert sandbox.calls == 2 * sum(len(turn.calculation.attempts) for turn in conversation.turns) > 0


class DyingSandbox:
    """Fails for the conversation whose id it is given."""

    victim = ""

    async def execute(self, job: Job) -> Execution:
        if job.id.startswith(self.victim):
            raise OSError("the sandbox is gone")
        return await DESK.execute(job)


async def test_a_failure_of_the_environment_costs_its_own_episode_only() -> None:
    sandbox = DyingSandbox()
    async with Gym("soliloquy", "physics", SEED, sandbox=sandbox) as gym:
        lost = gym.episode(0)
        sandbox.victim = lost.conversation.id
        with pytest.raises(EpisodeFailed, match=f"{lost.conversation.id} at turn 2: OSError: the sandbox is gone"):
            await played(lost)
        assert (await played(gym.episode(1))).reward.total > 0.5
        sandbox.victim = "nobody"
        assert (await played(lost)).reward.total > 0.5


async def test_an_episode_that_is_left_can_be_begun_again(gym: Gym) -> None:
    episode = gym.episode(0)
    first = await episode.reset()
    await episode.step(await episode.stand_in())
    with pytest.raises(Failure, match="has not ended"):
        _ = episode.reward
    assert await episode.reset() == first
    await episode.close()
    # The gym closes what is left.
    await gym.episode(1).reset()
    with pytest.raises(Failure, match=r"call reset\(\) first"):
        await episode.step("y")


async def test_what_is_no_answer_is_refused_and_the_episode_waits_on(gym: Gym) -> None:
    episode = gym.episode(0)
    await episode.reset()
    for nothing in (None, 3, "\ud800"):
        with pytest.raises(Failure, match="an answer is text or a Completion"):
            await episode.step(nothing)  # type: ignore[arg-type]
    assert await episode.step(await episode.stand_in()) is not None
    await episode.close()
    with pytest.raises(Failure, match="there is no episode -1"):
        gym.episode(-1)


def test_a_gym_without_asyncio_plays_the_same() -> None:
    with SyncGym("soliloquy", "physics", SEED, sandbox=DESK) as gym:
        episode = gym.episode(3)
        observation, answers = episode.reset(), 0
        while observation is not None:
            observation, answers = episode.step("{}"), answers + 1
        assert answers == 3
        assert episode.conversation.ending == ENDING_UNPARSABLE
        assert episode.reward.components["form"].value == 0


def test_a_recipe_without_a_tutor_has_no_gym() -> None:
    with pytest.raises(Failure, match="mathwell has no tutor"):
        Gym("mathwell", "arithmetic")


async def test_a_problem_that_the_recipe_cannot_use_ends_its_episode_at_once() -> None:
    async with Gym("scaffold", "physics", SEED, sandbox=DESK) as gym:
        # It asks for an explanation.
        episode = gym.episode(3)
        assert await episode.reset() is None
        assert episode.conversation.ending == ENDING_UNFIT
        assert episode.reward.components["learner"].value == 0
