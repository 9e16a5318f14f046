"""Packed samples fill their sequences, and give the same results as each alone."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soliloquy_training.packing import computed, pack, row

LENGTHS = (5, 17, 300, 64)


@pytest.fixture(scope="module")
def samples() -> list[tuple[Any, Any]]:
    draw = np.random.default_rng(0)
    return [(draw.integers(3, 1000, length), np.arange(length) > length // 2) for length in LENGTHS]


def model(base: Path, attention: str) -> Any:
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(base, attn_implementation=attention).eval()


def test_packed_samples_have_the_very_scores_that_each_has_alone(base: Path, samples: list[tuple[Any, Any]]) -> None:
    import torch

    from soliloquy_training.attention import NAME

    together = row(samples)
    with torch.no_grad():
        packed = model(base, NAME)(**together.asked()).logits
        plain = model(base, "sdpa")
        alone = [plain(input_ids=row([sample]).ids, use_cache=False).logits[:, row([sample]).at] for sample in samples]
    torch.testing.assert_close(packed, torch.cat(alone, dim=1), rtol=0, atol=1e-6)


def test_what_another_sample_says_changes_nothing(base: Path, samples: list[tuple[Any, Any]]) -> None:
    import torch

    from soliloquy_training.attention import NAME

    packed = model(base, NAME)

    def scores(first: Any) -> Any:
        together = row([(first, samples[0][1]), *samples[1:]])
        with torch.no_grad():
            return packed(**together.asked() | {"logits_to_keep": 0}).logits[:, LENGTHS[0] :]

    assert torch.equal(scores(samples[0][0]), scores(samples[0][0][::-1].copy()))


def test_a_window_of_attention_is_kept_within_a_sample() -> None:
    import torch

    from soliloquy_training.attention import packed_attention

    query, key, value = (torch.randn(1, 2, 12, 4) for _ in range(3))
    borders = torch.tensor([0, 12], dtype=torch.int32)
    whole: Any = {"borders": borders, "places": torch.arange(12), "ends": borders, "sliding_window": 3}
    attend = torch.nn.Module()
    near, _ = packed_attention(attend, query, key, value, None, **whole)
    key[:, :, 0], value[:, :, 0] = 9.0, 9.0
    changed, _ = packed_attention(attend, query, key, value, None, **whole)
    assert torch.equal(near[:, 3:], changed[:, 3:])
    assert not torch.equal(near[:, :3], changed[:, :3])


def test_every_sample_is_in_one_sequence_and_next_to_nothing_is_empty() -> None:
    draw = random.Random(0)
    samples = [np.full(draw.randint(400, 2800), number, dtype=np.int32) for number in range(2000)]
    packed = pack(range(2000), samples.__getitem__, 4096, draw)
    assert sorted(number for one in packed for number in one) == list(range(2000))
    rows = [computed([samples[number] for number in one]) for one in packed]
    assert max(rows) <= 4096
    assert sum(rows) == sum(map(len, samples)) > 0.95 * 4096 * len(packed)


def test_a_beginning_that_samples_share_is_computed_once_a_row() -> None:
    draw = np.random.default_rng(0)
    # Ten prompts with rules of their own, each about 60 conversations, each with a few answers.
    samples = [
        np.concatenate([rules, told, draw.integers(3, 1000, 25)]).astype(np.int32)
        for rules in draw.integers(3, 1000, (10, 400))
        for told in draw.integers(3, 1000, (60, 200))
        for _ in range(4)
    ]
    packed = pack(range(2400), samples.__getitem__, 4096, random.Random(0))
    rows = [[samples[number] for number in one] for one in packed]
    assert sum(map(computed, rows)) < 0.25 * sum(map(len, samples))
    assert sum(map(computed, rows)) > 0.9 * 4096 * len(packed)
    for one in rows:
        together = row([(ids, np.ones(len(ids), dtype=bool)) for ids in one])
        assert together.ids.shape[1] == computed(one) <= 4096
        # As many tokens are learned as without sharing.
        assert len(together.targets) == sum(len(ids) - 1 for ids in one)
        assert together.ids[0, together.places].tolist() == np.concatenate(one).tolist()


def test_nothing_is_learned_from_the_sample_before(samples: list[tuple[Any, Any]]) -> None:
    everything = [(ids, np.ones(len(ids), dtype=bool)) for ids, _ in samples]
    together = row(everything)
    assert len(together.targets) == sum(LENGTHS) - len(LENGTHS)
    assert not set((together.at + 1).tolist()) & set(together.borders.tolist())
