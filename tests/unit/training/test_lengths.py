"""The configs of the papers leave no sample of their recipe's conversations out, however finely an encoding divides."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import cache

import pytest

from soliloquy.dataset.prompt_reuse import tokens_in
from soliloquy.recipes.packages import folder, known_recipes
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy_training.data import Sample, samples, split
from soliloquy_training.schedule import learning_rate
from soliloquy_training.settings import TrainingSettings, read_settings
from tests.unit.papers.mathwell.writing import commissions, made
from tests.unit.scripted.dialling import dialled
from tests.unit.scripted.growing import grown
from tests.unit.scripted.scaffolding import scaffolded

COUNT, SEED = 6, 7
# What a chat template adds to each message.
FRAME = 5
# Byte pairs learned from the prompts alone take up to 1.4 times the estimate, of programs above all.
FINELY = 1.4
# BART has no more positions: the last replies of long dialogues do not fit.
BOUNDED = "mathdial-seq2seq"
CONFIGS = {
    path.stem: (recipe, path)
    for recipe in known_recipes()
    for path in sorted((folder(recipe) / "configs").glob("*.yaml"))
}


async def _soliloquy() -> list[Conversation]:
    return [await grown(ordinal, seed=SEED) for ordinal in range(COUNT)]


async def _mathdial() -> list[Conversation]:
    return [one async for one in dialled(COUNT, problems=COUNT, seed=SEED) if one.turns]


async def _scaffold() -> list[Conversation]:
    return [one async for one in scaffolded(COUNT, seed=SEED)]


async def _mathwell() -> list[Conversation]:
    return [await made(commissions().problem(SEED, ordinal)) for ordinal in range(COUNT)]


PLAYED: dict[str, Callable[[], Coroutine[None, None, list[Conversation]]]] = {
    "soliloquy": _soliloquy,
    "mathdial": _mathdial,
    "scaffold": _scaffold,
    "mathwell": _mathwell,
}


def length(sample: Sample) -> int:
    return sum(tokens_in(message.text) + FRAME for message in sample)


@cache
def played(recipe: str) -> list[Conversation]:
    return asyncio.run(PLAYED[recipe]())


def sampled(name: str) -> tuple[TrainingSettings, list[Sample]]:
    recipe, file = CONFIGS[name]
    settings = read_settings(file)
    return settings, [
        sample for one in played(recipe) for sample in samples(one, settings.layout, settings.given, settings.manual)
    ]


@pytest.mark.parametrize("name", sorted(CONFIGS.keys() - {BOUNDED}))
def test_the_longest_sample_of_a_config_fits_into_its_sequence(name: str) -> None:
    settings, found = sampled(name)
    if settings.layout == "dialogue":
        # Raises for a turn that is too long; a chat is divided between turns.
        found = [part for chat in found for part in split(chat, settings.sequence_length, _finely)]
    assert max(map(_finely, found)) <= settings.sequence_length


def test_nearly_all_replies_fit_into_the_positions_of_bart() -> None:
    settings, found = sampled(BOUNDED)
    fitting = sum(length(sample) <= settings.sequence_length for sample in found)
    # The configuration says how many do not: up to 1 in 15.
    assert fitting >= 14 / 15 * len(found) > 25


def _finely(sample: Sample) -> int:
    return round(FINELY * length(sample))


def rates(**settings: object) -> list[float]:
    """Returns the learning rates of four steps, from 1.0."""
    chosen = TrainingSettings.model_validate({"learning_rate": 1.0, **settings})
    return [learning_rate(chosen, step, 4) for step in range(1, 5)]


def test_along_a_line_the_rate_falls_by_the_same_at_each_step() -> None:
    assert rates(decay="linear", warmup_share=0.0) == [1.0, 0.75, 0.5, 0.25]


def test_along_a_cosine_it_falls_most_in_the_middle_and_down_to_the_final_share() -> None:
    found = rates(warmup_share=0.0, final_share=0.1)
    assert found == pytest.approx([1.0, 0.1 + 0.9 * (1 + 0.5**0.5) / 2, 0.55, 0.1 + 0.9 * (1 - 0.5**0.5) / 2])
