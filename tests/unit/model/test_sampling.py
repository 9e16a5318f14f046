"""Tokens are sampled by temperature, top_p and seed."""

from collections import Counter
from typing import Any

import pytest

from soliloquy.v1.model_pb2 import Sampling
from tests.models import needs_torch

pytestmark = needs_torch

PROBABILITIES = (0.5, 0.3, 0.15, 0.05)
DRAWS = 1500


def drawn(seed: int, *, temperature: float = 1.0, top_p: float = 1.0) -> int:
    import torch

    from soliloquy_services.model.engines.transformers.sampling import TokenSampler

    scores = torch.tensor(PROBABILITIES).log()
    TokenSampler(Sampling(temperature=temperature, top_p=top_p), seed, None, torch.device("cpu")).adjust(scores)
    return int(scores.argmax())


def shares(**asked: Any) -> list[float]:
    counts = Counter(drawn(seed, **asked) for seed in range(DRAWS))
    return [counts[token] / DRAWS for token in range(len(PROBABILITIES))]


def test_tokens_are_drawn_as_often_as_they_are_likely() -> None:
    assert shares() == pytest.approx(PROBABILITIES, abs=0.05)


def test_a_temperature_makes_the_likely_likelier() -> None:
    squared = [p**2 for p in PROBABILITIES]
    assert shares(temperature=0.5) == pytest.approx([p / sum(squared) for p in squared], abs=0.05)


def test_top_p_leaves_the_fewest_tokens_that_reach_it() -> None:
    assert shares(top_p=0.6) == pytest.approx([0.625, 0.375, 0, 0], abs=0.05)
    assert shares(top_p=0.01) == [1, 0, 0, 0]


def test_without_a_temperature_the_likeliest_is_taken() -> None:
    assert {drawn(seed, temperature=0.0) for seed in range(20)} == {0}


def test_a_seed_draws_the_same_token_again() -> None:
    assert all(drawn(seed) == drawn(seed) for seed in (0, 7, 2**64 - 1))
