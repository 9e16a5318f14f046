"""The gym for programs without asyncio. Its event loop runs in a thread, so that any number of threads may step."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

from soliloquy.gym.episode import Observation
from soliloquy.gym.gym import Gym
from soliloquy.gym.rewards import Reward
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.model_pb2 import Completion

if TYPE_CHECKING:
    from soliloquy.gym.tool_turns import ToolCall

T = TypeVar("T")
Answer = TypeVar("Answer", contravariant=True)


class SyncGym:
    def __init__(self, *args: Any, **settings: Any) -> None:
        """Takes what Gym takes."""
        self._gym = Gym(*args, **settings)
        self._loop = asyncio.new_event_loop()

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._loop.run_forever, name="gym", daemon=True)
        self._thread.start()
        try:
            self.wait(self._gym.__aenter__())
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.wait(self._gym.__aexit__())
        finally:
            self._stop()

    def episode(self, ordinal: int) -> "SyncEpisode[str | Completion]":
        return SyncEpisode(self, self._gym.episode(ordinal))

    def tool_episode(self, ordinal: int) -> "SyncEpisode[str | ToolCall]":
        return SyncEpisode(self, self._gym.tool_episode(ordinal))

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class _Steps(Protocol[Answer]):
    async def reset(self) -> Observation | None: ...

    async def step(self, answer: Answer, /) -> Observation | None: ...

    async def close(self) -> None: ...

    @property
    def reward(self) -> Reward: ...

    @property
    def conversation(self) -> Conversation: ...


class SyncEpisode(Generic[Answer]):
    def __init__(self, gym: SyncGym, episode: _Steps[Answer]) -> None:
        self._gym = gym
        self._episode = episode

    def reset(self) -> Observation | None:
        return self._gym.wait(self._episode.reset())

    def step(self, answer: Answer) -> Observation | None:
        return self._gym.wait(self._episode.step(answer))

    def close(self) -> None:
        self._gym.wait(self._episode.close())

    @property
    def reward(self) -> Reward:
        return self._episode.reward

    @property
    def conversation(self) -> Conversation:
        return self._episode.conversation
