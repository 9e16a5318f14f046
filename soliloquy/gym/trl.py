"""The gym as an environment of TRL's GRPOTrainer, for a policy that plays a whole conversation in one chat with tools.

    with SyncGym("soliloquy", "physics", seed=17) as gym:
        GRPOTrainer(model, train_dataset=rows(200), environment_factory=lambda: TutoringEnvironment(gym), ..).train()

The first message has the whole prompt; later ones have what is new in each further prompt.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from datasets import Dataset

from soliloquy.gym import Observation, Reward, SyncGym, ToolCall
from soliloquy.gym.sync import SyncEpisode

# The reward of an episode that the policy left: less than a finished one earns by the weights as they are.
LEFT = -1.0
_ENDED = "The conversation has ended: say nothing more."
_HOW = "Answer by calling `reply`, once you have called `python` for what has to be calculated."


def rows(problems: int) -> Dataset:
    """Returns a row for each of a run's first problems."""
    prompt = [{"role": "user", "content": ""}]
    return Dataset.from_list([{"prompt": prompt, "place": place} for place in range(problems)])


class TutoringEnvironment:
    """Its public methods are the tools, as TRL has it; their descriptions are what the policy reads."""

    def __init__(self, gym: SyncGym) -> None:
        self._gym = gym
        self._episode: SyncEpisode[str | ToolCall] | None = None
        self._is_over = False

    def reset(self, place: int, **_: Any) -> str:
        if self._episode is not None:
            self._episode.close()
        self._episode = self._gym.tool_episode(place)
        asked = self._episode.reset()
        self._is_over = asked is None
        return _said([*asked.messages, {"content": _HOW}]) if asked else _ENDED

    def python(self, code: str, result_variables: list[str], description: str = "") -> str:
        """
        Run a Python program and read the values of its result variables.

        Args:
            code: The program.
            result_variables: The variables whose values are to be read.
            description: The calculation in words, and the values that it starts from.

        Returns:
            The values, or why there are none.
        """
        return self._step(ToolCall(code=code, result_variables=result_variables, description=description))

    def reply(self, answer: str) -> str:
        """
        Reply to the student.

        Args:
            answer: The reply, in the form that the first message asks for.

        Returns:
            The conversation with the student's next message, or why the reply is sent back.
        """
        return self._step(answer)

    def get_reward(self) -> float:
        reward = self._reward
        return reward.total if reward else LEFT

    @property
    def components(self) -> Mapping[str, float]:
        """The value of each component of the reward, for reward functions that log them."""
        reward = self._reward
        return {name: part.value for name, part in reward.components.items()} if reward else {}

    @property
    def _reward(self) -> Reward | None:
        return self._episode.reward if self._episode and self._is_over else None

    def _step(self, answer: str | ToolCall) -> str:
        if self._episode is None or self._is_over:
            return _ENDED
        asked: Observation | None = self._episode.step(answer)
        self._is_over = asked is None
        return _said(asked.messages[-1:]) if asked else _ENDED


def _said(messages: Sequence[Mapping[str, str]]) -> str:
    return "\n\n".join(message["content"] for message in messages)
