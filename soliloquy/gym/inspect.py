"""The gym as a task of Inspect: a model plays the tutor in episodes, and is scored by their rewards.

inspect eval soliloquy/gym/inspect.py -T problems=physics -T episodes=20 --model openai/gpt-5
"""

import asyncio
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, get_model
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from soliloquy.gym import Gym
from soliloquy.gym.policy import completion_of

_MESSAGES = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
_KEY = "reward"


class _SharedGym:
    """Opens a gym for the first of the samples that are played at once, and closes it after the last one."""

    def __init__(self, *settings: Any) -> None:
        self._settings = settings
        self._users = 0
        self._turn = asyncio.Lock()

    async def __aenter__(self) -> Gym:
        async with self._turn:
            if self._users == 0:
                self._gym = await Gym(*self._settings).__aenter__()
            self._users += 1
        return self._gym

    async def __aexit__(self, *_: object) -> None:
        async with self._turn:
            self._users -= 1
            if self._users == 0:
                await self._gym.__aexit__(None, None, None)


@task  # type: ignore[untyped-decorator]  # the library is not installed where types are checked
def tutoring(recipe: str = "soliloquy", problems: str = "physics", seed: int = 0, episodes: int = 20) -> Any:
    """Plays the episodes of a run's first problems; the same seed gives the same ones."""
    samples = [
        Sample(input=f"{recipe}/{problems}/{place}", id=place, metadata={"place": place}) for place in range(episodes)
    ]
    return Task(dataset=MemoryDataset(samples), solver=played(recipe, problems, seed), scorer=rewarded())


@solver  # type: ignore[untyped-decorator]
def played(recipe: str, problems: str, seed: int) -> Solver:
    shared = _SharedGym(recipe, problems, seed)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        async with shared as gym:
            episode = gym.episode(state.metadata["place"])
            observation = await episode.reset()
            state.messages = []
            while observation is not None:
                asked: list[ChatMessage] = [
                    _MESSAGES[message["role"]](content=message["content"]) for message in observation.messages
                ]
                state.output = await get_model().generate(asked)
                state.messages += [*asked, state.output.message]
                text, is_complete = state.output.completion, state.output.stop_reason != "max_tokens"
                observation = await episode.step(completion_of(text, is_complete=is_complete))
            state.metadata[_KEY] = episode.reward
        return state

    return solve


@scorer(metrics={"*": [mean(), stderr()]})  # type: ignore[untyped-decorator]
def rewarded() -> Scorer:
    """Gives each component of the reward, and their weighted sum."""

    async def score(state: TaskState, target: Target) -> Score:
        reward = state.metadata.pop(_KEY)
        values = {name: part.value for name, part in reward.components.items()}
        evidence = [f"{name}: {one}" for name, part in reward.components.items() for one in part.evidence]
        return Score(value={**values, "total": reward.total}, explanation="\n".join(evidence))

    return score
