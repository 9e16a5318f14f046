"""An episode that is played beside another one, to answer it as the stand-in would and to compare their rewards."""

from collections.abc import Mapping, Sequence
from typing import Any

from soliloquy.gym import Episode, Gym, Observation

SEED, PLACE = 17, 2


class Mirror:
    def __init__(self, gym: Gym) -> None:
        self._episode: Episode = gym.episode(PLACE)
        self._observation: Observation | None = None

    async def begin(self) -> None:
        self._observation = await self._episode.reset()

    async def answer(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """Returns the stand-in's answer; the messages must be those of this episode."""
        assert self._observation
        assert [(one["role"], one["content"]) for one in messages] == [
            (one["role"], one["content"]) for one in self._observation.messages
        ]
        completion = await self._episode.stand_in()
        self._observation = await self._episode.step(completion)
        return completion.text

    @property
    def values(self) -> dict[str, float]:
        return {name: part.value for name, part in self._episode.reward.components.items()}

    @property
    def total(self) -> float:
        return self._episode.reward.total
