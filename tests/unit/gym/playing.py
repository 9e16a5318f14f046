"""Policies that play whole episodes."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

from soliloquy.gym import Episode, Gym, Observation
from soliloquy.v1.model_pb2 import Completion

# Answers an observation of an episode.
Policy = Callable[[Episode, Observation], Awaitable[str | Completion]]


async def stand_in(episode: Episode, observation: Observation) -> Completion:
    return await episode.stand_in()


async def played(episode: Episode, policy: Policy = stand_in) -> Episode:
    observation = await episode.reset()
    while observation is not None:
        observation = await episode.step(await policy(episode, observation))
    return episode


async def all_played(gym: Gym, ordinals: Iterable[int], policy: Policy = stand_in) -> Sequence[Episode]:
    return await asyncio.gather(*(played(gym.episode(ordinal), policy) for ordinal in ordinals))
