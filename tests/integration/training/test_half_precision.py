"""Training in bf16: what it computes with, and that it learns what fp32 does."""

from collections.abc import Callable
from typing import Any

import pytest


@pytest.mark.parametrize("tune", ["lora", pytest.param("full", marks=pytest.mark.thorough)])
def test_attention_is_computed_in_half_precision_whatever_the_weights_are_kept_in(
    loop: Callable[..., Any], tune: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    seen: set[torch.dtype] = set()

    def watched(*states: torch.Tensor, **further: Any) -> torch.Tensor:
        seen.update(one.dtype for one in states)
        return scaled_dot_product_attention(*states, **further)

    monkeypatch.setattr("soliloquy_training.attention.scaled_dot_product_attention", watched)
    _, made = loop(tune=tune, precision="bf16")
    made.learn(1, made.schedule.sequences_of(1), 1e-4)
    assert seen == {torch.bfloat16}


def test_lora_reads_half_precision_without_a_copy_in_full(loop: Callable[..., Any]) -> None:
    import torch

    model, made = loop(tune="lora", precision="bf16")
    read: set[torch.dtype] = set()
    for name, module in model.named_modules():
        if name.endswith("lora_A.default"):
            module.register_forward_pre_hook(lambda _, given: read.add(given[0].dtype))
    made.learn(1, made.schedule.sequences_of(1), 1e-4)
    assert read == {torch.bfloat16}
    assert {one.dtype for one in model.parameters() if one.requires_grad} == {torch.float32}


@pytest.mark.parametrize("tune", [pytest.param("lora", marks=pytest.mark.thorough), "full"])
def test_half_precision_starts_from_the_loss_of_full_precision(loop: Callable[..., Any], tune: str) -> None:
    losses = []
    for precision in ("bf16", "fp32"):
        _, made = loop(tune=tune, precision=precision)
        losses.append(made.learn(1, made.schedule.sequences_of(1), 1e-4)[0])
    assert losses[0] == pytest.approx(losses[1], rel=0.01)
