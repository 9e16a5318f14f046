"""Plays episodes of the gym with the model that is trained, many at once, and keeps the tokens of each call."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from soliloquy.gym import Episode, EpisodeFailed, Gym, Observation, Reward
from soliloquy.gym.policy import completion_of
from soliloquy.runtime.seeds import digest
from soliloquy.v1.model_pb2 import Completion
from soliloquy_training.settings import TrainingSettings
from soliloquy_training.templating import Template

# Returns the tokens of an answer to each prompt.
Answer = Callable[[Sequence[list[int]]], Sequence[list[int]]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    prompt: list[int]
    answer: list[int]


@dataclass(kw_only=True, slots=True)
class Played:
    """An episode, and what the model was asked and answered in it."""

    ordinal: int
    episode: Episode
    calls: list[Call] = field(default_factory=list)
    # Why there is no reward.
    failure: str = ""

    @property
    def reward(self) -> Reward | None:
        return self.episode.reward if self.episode.is_over and not self.failure else None

    @property
    def prompt(self) -> list[int]:
        return self.calls[0].prompt

    @property
    def tokens(self) -> list[int]:
        """Returns what follows the first prompt: answers, with the further prompts between them."""
        return [id for call in self.calls for id in (*call.prompt, *call.answer)][len(self.prompt) :]

    @property
    def own(self) -> list[int]:
        """Returns 1 for each of these tokens that the model wrote, and 0 for the others."""
        return list(chain.from_iterable([0] * len(call.prompt) + [1] * len(call.answer) for call in self.calls))[
            len(self.prompt) :
        ]


def gym_of(settings: TrainingSettings) -> Gym:
    chosen = settings.rollouts
    return Gym(
        chosen.recipe,
        chosen.problems,
        settings.seed,
        models=Path(chosen.models) if chosen.models else None,
        roles=chosen.roles,
        weights=chosen.weights,
    )


def digest_of(settings: TrainingSettings) -> str:
    """Identifies the episodes: recipe, problems, prompts, the environment's models and the seed."""
    return digest(gym_of(settings).run.id)


class Player:
    """Its gym is open while it is entered."""

    def __init__(self, settings: TrainingSettings, template: Template) -> None:
        self._gym = gym_of(settings)
        self._template = template
        self._longest = settings.sequence_length - settings.rollouts.max_tokens

    def __enter__(self) -> "Player":
        # The loop stands still while the model computes.
        self._runner = asyncio.Runner()
        self._runner.run(self._gym.__aenter__())
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._gym.__aexit__())
        self._runner.close()

    def play(self, ordinals: Sequence[int], answer: Answer) -> list[Played]:
        """Plays an episode for each place; the model answers all that wait at once."""
        playing = [Played(ordinal=ordinal, episode=self._gym.episode(ordinal)) for ordinal in ordinals]
        waiting = self._runner.run(_all(self._next(one, one.episode.reset()) for one in playing))
        while asked := [(one, prompt) for one, prompt in zip(playing, waiting, strict=True) if prompt]:
            answers = iter(answer([prompt for _, prompt in asked]))
            steps = []
            for one, prompt in zip(playing, waiting, strict=True):
                if prompt:
                    one.calls.append(Call(prompt=prompt, answer=next(answers)))
                    steps.append(self._next(one, one.episode.step(self._completion(one.calls[-1]))))
                else:
                    steps.append(_nothing())
            waiting = self._runner.run(_all(steps))
        for one in playing:
            # An episode that ended without a word of the tutor still needs a row; it earns nothing.
            one.calls = one.calls or [Call(prompt=self._template.prompt([]), answer=[self._template.end])]
        return playing

    async def _next(self, one: Played, step: Any) -> list[int] | None:
        """Returns the tokens of the next prompt; None once the episode is over."""
        try:
            observation: Observation | None = await step
        except EpisodeFailed as error:
            one.failure = str(error)
            return None
        if observation is None:
            return None
        prompt = self._template.prompt(observation.messages)
        if len(prompt) > self._longest:
            await one.episode.close()
            one.failure = f"a prompt has {len(prompt)} tokens, and sequence_length leaves {self._longest}"
            return None
        return prompt

    def _completion(self, call: Call) -> Completion:
        text, ended = self._template.answer(call.answer)
        return completion_of(text, is_complete=ended)


async def _all(steps: Any) -> list[list[int] | None]:
    return list(await asyncio.gather(*steps))


async def _nothing() -> None:
    pass


def transcript(one: Played) -> str:
    """Returns the conversation, and what it earned."""
    said = [
        f"{speaker}: {text}"
        for turn in one.episode.conversation.turns
        for speaker, text in (("Student", turn.student.text), ("Tutor", turn.tutor.text))
        if text
    ]
    if (reward := one.reward) is None:
        return "\n".join([*said, f"no reward: {one.failure}"])
    parts = ", ".join(f"{name} {part.value:.2f}" for name, part in reward.components.items())
    return "\n".join([*said, f"reward {reward.total:.3f}: {parts}"])
