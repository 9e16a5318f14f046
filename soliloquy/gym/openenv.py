"""The gym as an environment of OpenEnv: a server, and the client that trainers connect to it with.

python -m soliloquy.gym.openenv --problems physics --seed 17 --port 8000

with TutoringClient(base_url="http://127.0.0.1:8000").sync() as client:
    result = client.reset(seed=3)           # the problem's place in the run
    while not result.done:
        result = client.step(Answer(text=policy(result.observation.messages)))
    print(result.reward, result.observation.components)
"""

import itertools
from collections.abc import Iterator
from typing import Any

import click
import uvicorn
from openenv.core import EnvClient
from openenv.core.client_types import StepResult
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State
from pydantic import Field

from soliloquy.gym import Observation as Asked
from soliloquy.gym import SyncGym
from soliloquy.gym.policy import completion_of
from soliloquy.gym.sync import SyncEpisode
from soliloquy.v1.model_pb2 import Completion

# Conversations at once, each with a connection of its own.
SESSIONS = 256


class Answer(Action):  # type: ignore[misc]  # the library has no types
    text: str
    # False for an answer that broke off at a limit of tokens.
    is_complete: bool = True


class Prompt(Observation):  # type: ignore[misc]
    """A prompt of the tutor; at the end of the episode an empty one, with the reward."""

    role: str = ""
    prompt: str = ""
    messages: list[dict[str, str]] = Field(default_factory=list)
    answer_schema: str = ""
    turn: int = 0
    # The value of each component of the reward, and what speaks against a higher one.
    components: dict[str, float] = Field(default_factory=dict)
    evidence: dict[str, list[str]] = Field(default_factory=dict)


class TutoringEnvironment(Environment):  # type: ignore[misc]
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, gym: SyncGym, places: Iterator[int]) -> None:
        super().__init__()
        self._gym = gym
        self._places = places
        self._episode: SyncEpisode[str | Completion] | None = None
        self._state = State()

    def reset(self, seed: int | None = None, episode_id: str | None = None, **_: Any) -> Prompt:
        """Begins the episode about the problem at a place of the run, the next one if none is named."""
        self.close()
        place = next(self._places) if seed is None else seed
        self._state = State(episode_id=episode_id or str(place))
        self._episode = self._gym.episode(place)
        return self._prompt(self._episode, self._episode.reset())

    def step(self, action: Answer, timeout_s: float | None = None, **_: Any) -> Prompt:
        if self._episode is None:
            raise ValueError("no episode has begun: call reset first")
        self._state.step_count += 1
        answer = completion_of(action.text, is_complete=action.is_complete)
        return self._prompt(self._episode, self._episode.step(answer))

    @property
    def state(self) -> State:
        return self._state

    def close(self) -> None:
        episode, self._episode = self._episode, None
        if episode is not None:
            episode.close()

    def _prompt(self, episode: SyncEpisode[str | Completion], asked: Asked | None) -> Prompt:
        if asked is None:
            parts = episode.reward.components
            return Prompt(
                done=True,
                reward=episode.reward.total,
                components={name: part.value for name, part in parts.items()},
                evidence={name: list(part.evidence) for name, part in parts.items()},
            )
        return Prompt(
            role=asked.role,
            prompt=asked.prompt,
            messages=[dict(message) for message in asked.messages],
            answer_schema=asked.schema,
            turn=asked.turn,
        )


class TutoringClient(EnvClient[Answer, Prompt, State]):  # type: ignore[misc]
    def _step_payload(self, action: Answer) -> dict[str, Any]:
        return {"text": action.text, "is_complete": action.is_complete}

    def _parse_result(self, payload: dict[str, Any]) -> Any:
        done, reward = payload.get("done", False), payload.get("reward")
        observation = Prompt(**{**payload["observation"], "done": done, "reward": reward})
        return StepResult(observation=observation, reward=reward, done=done)

    def _parse_state(self, payload: dict[str, Any]) -> Any:
        return State(**payload)


def served(gym: SyncGym) -> Any:
    """Returns the ASGI application of a gym that is open."""
    places = itertools.count()
    return create_fastapi_app(
        lambda: TutoringEnvironment(gym, places), Answer, Prompt, max_concurrent_envs=SESSIONS, env_name="soliloquy"
    )


@click.command(context_settings={"show_default": True})
@click.option("--recipe", default="soliloquy", help="The paper whose tutor is trained.")
@click.option("--problems", default="physics", help="A bank, or a file of problems.")
@click.option("--seed", default=0, help="The run that the episodes are of.")
@click.option("--host", default="127.0.0.1", help="The address to listen at.")
@click.option("--port", default=8000, help="The port to listen at.")
def main(recipe: str, problems: str, seed: int, host: str, port: int) -> None:
    """Serve the gym to clients of OpenEnv."""
    with SyncGym(recipe, problems, seed) as gym:
        uvicorn.run(served(gym), host=host, port=port)


if __name__ == "__main__":
    main()
