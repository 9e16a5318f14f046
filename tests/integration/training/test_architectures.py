"""Packed training computes what each architecture computes without packing, and refuses those that it would change."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from soliloquy.runtime.failure import Failure
from soliloquy_training.packing import row

LENGTHS = (5, 17, 100, 64)
TOKENS, WINDOW = 300, 16
SMALL = {
    "vocab_size": TOKENS,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
WINDOWED = SMALL | {"sliding_window": WINDOW}
ROPE = {"rope_type": "default", "rope_theta": 1e4}
EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}
# A low bound on scores, so that leaving it out shows.
EXACT: dict[str, dict[str, Any]] = {
    "LlamaConfig": SMALL,
    "Qwen2Config": WINDOWED | {"use_sliding_window": True, "max_window_layers": 2},
    "Qwen3Config": SMALL | {"head_dim": 16},
    "MistralConfig": WINDOWED,
    "Gemma2Config": WINDOWED | {"head_dim": 16, "query_pre_attn_scalar": 16, "attn_logit_softcapping": 2.0},
    "Gemma3TextConfig": WINDOWED | {"head_dim": 16, "query_pre_attn_scalar": 16},
    "Phi3Config": WINDOWED,
    "GptOssConfig": WINDOWED | EXPERTS | {"head_dim": 16, "rope_parameters": ROPE},
    "Olmo2Config": SMALL,
    "SmolLM3Config": SMALL,
}
HIDDEN = {"vocab_size": TOKENS, "hidden_size": 64, "num_hidden_layers": 2}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "BloomConfig": ({"vocab_size": TOKENS, "hidden_size": 64, "n_layer": 1, "n_head": 4}, "an attention of its own"),
    "FalconConfig": (HIDDEN | {"num_attention_heads": 4}, "an attention of its own"),
    "MambaConfig": (HIDDEN, "layers of linear_attention"),
    "Llama4TextConfig": (SMALL | {"head_dim": 16, "intermediate_size_mlp": 96}, "layers of chunked_attention"),
}


@pytest.fixture(scope="module")
def config() -> Callable[[str, dict[str, Any]], Any]:
    import transformers

    return lambda name, settings: getattr(transformers, name)(**settings)


@pytest.mark.parametrize("name", EXACT)
def test_scores_and_gradients_of_packed_samples_are_those_without_packing(
    name: str, config: Callable[[str, dict[str, Any]], Any]
) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    from soliloquy_training.attention import NAME

    torch.manual_seed(1)
    model = AutoModelForCausalLM.from_config(config(name, EXACT[name]), attn_implementation="eager").eval()
    for weights in model.parameters():
        # Larger than a fresh model's, so that every part of attention tells.
        torch.nn.init.normal_(weights, std=0.3 if weights.dim() > 1 else 1.0)
    draw = np.random.default_rng(0)
    samples = [(draw.integers(3, TOKENS, length), np.arange(length) > length // 2) for length in LENGTHS]
    # The next begins as the last one does, beyond a window; another is the same; the last begins as both.
    branch = np.concatenate([samples[-1][0][:40], draw.integers(3, TOKENS, 30)])
    samples += [(branch, np.arange(70) > 30), (branch, np.arange(70) > 60), (branch[:45], np.arange(45) > 20)]
    rows = [row([sample]) for sample in samples]
    embeddings = model.get_input_embeddings().weight

    alone = torch.cat([model(input_ids=one.ids, use_cache=False).logits[:, one.at] for one in rows], dim=1)
    targets = torch.cat([one.targets for one in rows])
    [gradient] = torch.autograd.grad(torch.nn.functional.cross_entropy(alone[0], targets), embeddings)

    model.set_attn_implementation(NAME)
    together = row(samples)
    packed = model(**together.asked()).logits
    [same] = torch.autograd.grad(torch.nn.functional.cross_entropy(packed[0], together.targets), embeddings)
    torch.testing.assert_close(packed, alone, rtol=0, atol=1e-4)
    torch.testing.assert_close(same, gradient, rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", REFUSED)
def test_a_model_that_would_mix_packed_samples_is_refused_before_it_is_loaded(
    name: str, config: Callable[[str, dict[str, Any]], Any], tmp_path: Path
) -> None:
    from soliloquy_training.attention import check_architecture

    settings, reason = REFUSED[name]
    config(name, settings).save_pretrained(tmp_path)
    with pytest.raises(Failure, match=f"has {reason}, which would mix samples"):
        check_architecture(tmp_path)


def test_an_argument_of_attention_that_is_not_understood_is_refused() -> None:
    import torch

    from soliloquy_training.attention import packed_attention

    query, key, value = (torch.randn(1, 2, 6, 4) for _ in range(3))
    borders = torch.tensor([0, 6], dtype=torch.int32)
    whole: Any = {"borders": borders, "places": torch.arange(6), "ends": borders}
    with pytest.raises(Failure, match="Module computes attention with position_bias, which packing does not"):
        packed_attention(torch.nn.Module(), query, key, value, None, **whole, position_bias=torch.zeros(1))
    with pytest.raises(Failure, match="does not pass on where packed samples begin"):
        packed_attention(torch.nn.Module(), query, key, value, None)
