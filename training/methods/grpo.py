"""Learns from the rewards of the gym: several episodes of one problem are compared with each other.

An episode asks the model several times, each time with a prompt of its own. TRL gets an episode as one row, whose mask
is 1 on the model's own tokens; their probabilities are computed call by call, as the model is asked in service.
"""

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import trl
from datasets import Dataset

from soliloquy.gym.rewards import weights_of
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.seeds import seed
from soliloquy_training import state
from soliloquy_training.checkpoints import Progress
from soliloquy_training.folder import Job, TrainingFolder
from soliloquy_training.methods.rollouts import Call, Played, Player, transcript
from soliloquy_training.methods.samples import Samples, generate
from soliloquy_training.methods.trainer import Tokenized, common, run
from soliloquy_training.settings import TrainingSettings
from soliloquy_training.step_log import StepLog
from soliloquy_training.templating import Template, load_tokenizer
from soliloquy_training.world import World

# TRL says so in its documentation too; the lock has its version.
warnings.filterwarnings("ignore", "You are using 'rollout_func'", UserWarning)
# Problems that are played before and after, from a place that no training reaches.
_SAMPLES = range(2**30, 2**30 + 2)


class Grpo(Tokenized, trl.GRPOTrainer):  # type: ignore[misc]
    calls: Mapping[tuple[int, ...], Sequence[Call]]

    def _get_per_token_logps_and_entropies(
        self, model: Any, input_ids: Any, attention_mask: Any, logits_to_keep: int, *_: Any, **more: Any
    ) -> tuple[Any, Any, Any]:
        rows = [tuple(ids[seen.bool()].tolist()) for ids, seen in zip(input_ids, attention_mask, strict=True)]
        calls = [call for row in rows for call in self.calls[row]]
        longest, answers = max(len(call.prompt) for call in calls), max(len(call.answer) for call in calls)
        sides = [(longest - len(call.prompt), answers - len(call.answer)) for call in calls]
        pad = self._tokenizer.pad_token_id
        ids = [
            [pad] * left + call.prompt + call.answer + [pad] * right
            for call, (left, right) in zip(calls, sides, strict=True)
        ]
        seen = [[0] * left + [1] * (longest + answers - left - right) + [0] * right for left, right in sides]
        logps, entropies, auxiliary = super()._get_per_token_logps_and_entropies(
            model,
            torch.tensor(ids, device=input_ids.device),
            torch.tensor(seen, device=input_ids.device),
            answers,
            compute_entropy=more.get("compute_entropy", False),
            compute_aux_loss=more.get("compute_aux_loss", False),
        )
        lengths = [[(len(call.prompt), len(call.answer)) for call in self.calls[row]] for row in rows]
        return (
            _in_rows(logps, lengths, logits_to_keep),
            None if entropies is None else _in_rows(entropies, lengths, logits_to_keep),
            auxiliary,
        )


def _in_rows(values: Any, lengths: Sequence[Sequence[tuple[int, int]]], width: int) -> Any:
    """Puts the values of each call's answer where it stands in its episode, and 0 elsewhere."""
    found, place = [], 0
    for calls in lengths:
        parts = []
        for number, (prompt, answer) in enumerate(calls):
            parts += [values.new_zeros(prompt if number else 0), values[place, :answer]]
            place += 1
        row = torch.cat(parts)
        found.append(torch.cat([row, row.new_zeros(width - len(row))]))
    return torch.stack(found)


def explore(
    job: Job, model: Any, world: World, folder: TrainingFolder, log: StepLog
) -> tuple[Progress, dict[str, Any]]:
    """Trains from the newest checkpoint to the end; raises Diverged if the loss is not finite."""
    settings, tokenizer = job.settings, load_tokenizer(job.base)
    chosen = settings.rollouts
    assert settings.max_steps
    if chosen.weights.get("judge"):
        raise Failure("rollouts.weights.judge: a training has no judge: leave it out")
    weights = {name: weight for name, weight in weights_of(chosen.weights).items() if weight}
    problems = settings.max_steps * settings.batch // chosen.group
    arguments = trl.GRPOConfig(
        **common(settings, world, folder, steps=settings.max_steps),
        beta=settings.beta,
        num_generations=chosen.group,
        temperature=chosen.temperature,
        max_completion_length=chosen.max_tokens,
        reward_weights=list(weights.values()),
        shuffle_dataset=False,
        disable_dropout=True,
    )
    with Player(settings, Template(job.base)) as player:
        episodes = _Episodes(settings, folder.path / "rollouts", tokenizer, player, world)
        samples = Samples(folder.path, [f"problem {place}" for place in _SAMPLES], episodes.samples)
        if world.first:
            samples.before(model)
        world.wait()
        progress = run(
            Grpo,
            job,
            model,
            arguments,
            tokenizer,
            world,
            folder,
            log,
            reward_funcs=[_component(name) for name in weights],
            rollout_func=episodes.rollout,
            train_dataset=Dataset.from_dict({"prompt": [str(place) for place in range(problems)]}),
        )
        world.wait()
        return progress, {"data": episodes.summary(), "samples": samples.compared(model)} if world.first else {}


class _Episodes:
    """Plays a worker's episodes of each step, and keeps what they earned in a file of the step and the worker."""

    def __init__(self, settings: TrainingSettings, folder: Path, tokenizer: Any, player: Player, world: World) -> None:
        self._settings = settings
        self._folder = folder
        self._tokenizer = tokenizer
        self._player = player
        self._rank = world.rank

    def samples(self, model: Any) -> list[str]:
        return [transcript(one) for one in self._play(model, _SAMPLES, temperature=0.0)]

    def rollout(self, prompts: Sequence[str], trainer: Grpo) -> dict[str, Any]:
        step = trainer.state.global_step + 1
        # Draws follow from the step, as those of dropout do in our own loop.
        torch.manual_seed(seed(self._settings.seed, "rollouts", step, self._rank))
        places = [int(prompt) for prompt in prompts]
        played = self._play(trainer.model, places, temperature=self._settings.rollouts.temperature)
        trainer.calls = {(*one.prompt, *one.tokens): one.calls for one in played}
        state.write_json(self._folder / f"{step:08d}-{self._rank}.json", [_record(one) for one in played])
        rewards = [one.reward for one in played]
        return {
            "prompt_ids": [one.prompt for one in played],
            "completion_ids": [one.tokens for one in played],
            "env_mask": [one.own for one in played],
            "logprobs": None,
            "components": [
                reward and {name: part.value for name, part in reward.components.items()} for reward in rewards
            ],
        }

    def summary(self) -> dict[str, Any]:
        episodes = [one for file in sorted(self._folder.glob("*.json")) for one in json.loads(file.read_bytes())]
        return {
            "conversations": len(episodes),
            "samples": sum(one["calls"] for one in episodes),
            "tokens": sum(one["tokens"] for one in episodes),
            "learned_tokens": sum(one["own_tokens"] for one in episodes),
            "without_reward": sum(one["reward"] is None for one in episodes),
            "left_out": {},
            "longest_left_out": 0,
        }

    def _play(self, model: Any, places: Sequence[int], *, temperature: float) -> list[Played]:
        def answer(prompts: Sequence[list[int]]) -> list[list[int]]:
            most = self._settings.rollouts.max_tokens
            return generate(model, self._tokenizer, prompts, most=most, temperature=temperature)

        return self._player.play(places, answer)


def _record(one: Played) -> dict[str, Any]:
    parts = one.reward.components.items() if one.reward else ()
    return {
        "problem": one.ordinal,
        "reward": one.reward.total if one.reward else None,
        "components": {name: {"value": part.value, "evidence": part.evidence} for name, part in parts},
        "transcript": transcript(one),
        "calls": len(one.calls),
        "tokens": len(one.prompt) + len(one.tokens),
        "own_tokens": sum(one.own),
    }


def _component(name: str) -> Callable[..., list[float | None]]:
    def component(components: Sequence[Mapping[str, float] | None], **_: Any) -> list[float | None]:
        return [one[name] if one else None for one in components]

    component.__name__ = name
    return component
