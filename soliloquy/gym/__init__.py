"""Trains and tests a tutor against the simulated learner: an episode is a conversation about a problem.

    async with Gym(recipe="soliloquy", problems="physics", seed=17) as gym:
        episode = gym.episode(3)                # the problem's place in the run: the same each time
        observation = await episode.reset()     # the prompt that a model of the tutor would get
        while observation is not None:
            observation = await episode.step(await policy(observation.messages, observation.schema))
        print(episode.reward.total, episode.reward.components["verdict"].evidence)
        print(episode.conversation.turns)

The policy plays the roles of the tutor: it decides on a calculation, writes the program, and replies. The environment
plays the student, runs programs in the sandbox and applies the rules of the recipe: an answer that cannot be used
comes back as the next observation, with the reason. `SyncGym` is the same without asyncio.

Names are imported on first use.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from soliloquy.gym.episode import Episode, EpisodeFailed, Observation
    from soliloquy.gym.gym import Gym
    from soliloquy.gym.remote import RemoteGym
    from soliloquy.gym.rewards import Component, Reward
    from soliloquy.gym.sync import SyncGym
    from soliloquy.gym.tool_turns import ToolCall

__all__ = ["Component", "Episode", "EpisodeFailed", "Gym", "Observation", "RemoteGym", "Reward", "SyncGym", "ToolCall"]

_MODULES = {
    "Component": "soliloquy.gym.rewards",
    "Episode": "soliloquy.gym.episode",
    "EpisodeFailed": "soliloquy.gym.episode",
    "Gym": "soliloquy.gym.gym",
    "Observation": "soliloquy.gym.episode",
    "RemoteGym": "soliloquy.gym.remote",
    "Reward": "soliloquy.gym.rewards",
    "SyncGym": "soliloquy.gym.sync",
    "ToolCall": "soliloquy.gym.tool_turns",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)
