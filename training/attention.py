"""Attention over packed samples: each attends only to itself, with the same result as if it were alone."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import dropout as dropped
from torch.nn.functional import scaled_dot_product_attention
from transformers import MODEL_FOR_CAUSAL_LM_MAPPING, AttentionInterface, AutoConfig

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.weights import FOLDER_ONLY

NAME = "packed"
# Kinds of layers that see no more of a sample than attention with an optional window does.
_LAYERS = {"full_attention", "sliding_attention"}
# Models pass these on, and they change nothing here: positions are in the queries and keys, and nothing is cached.
_NEUTRAL = {"position_ids", "cache_position", "use_cache", "output_router_logits"}


def check_architecture(base: Path) -> None:
    """Raises Failure for a model whose layers would mix packed samples without an error."""
    try:
        config = AutoConfig.from_pretrained(base, **FOLDER_ONLY)
        model = MODEL_FOR_CAUSAL_LM_MAPPING[type(config)]
    except (OSError, ValueError, KeyError) as error:
        raise Failure(f"{base} holds no model that transformers can train: {error}") from error
    strange = sorted({*(getattr(config.get_text_config(), "layer_types", None) or ())} - _LAYERS)
    if strange or not model._supports_attention_backend:
        own = f"layers of {', '.join(strange)}" if strange else "an attention of its own"
        raise Failure(
            f"{base}: {model.__name__} has {own}, which would mix samples that are packed into one sequence: "
            "tune a model with full or sliding attention"
        )


def packed_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: None,
    *,
    borders: torch.Tensor | None = None,
    places: torch.Tensor | None = None,
    ends: torch.Tensor | None = None,
    longest: int | None = None,
    scaling: float | None = None,
    dropout: float = 0.0,
    sliding_window: int | None = None,
    softcap: float | None = None,
    s_aux: torch.Tensor | None = None,
    **further: Any,
) -> tuple[torch.Tensor, None]:
    """Called by transformers in each layer; `borders`, `places` and `ends` of the row are passed through by the model.

    No sample has more tokens than `longest`. `softcap` bounds the scores, as in Gemma 2; `s_aux` is a score a head that
    takes attention off the sample, as in gpt-oss.
    """
    if strange := sorted(name for name, set_to in further.items() if name not in _NEUTRAL and _counts(name, set_to)):
        raise Failure(f"{type(module).__name__} computes attention with {', '.join(strange)}, which packing does not")
    if borders is None or places is None or ends is None:
        raise Failure(f"{type(module).__name__} does not pass on where packed samples begin: tune another model")
    if torch.is_autocast_enabled(query.device.type):
        # The angles of weights in fp32 make queries and keys fp32 again, for which no kernel takes all samples at once.
        query, key, value = (states.to(torch.get_autocast_dtype(query.device.type)) for states in (query, key, value))
    # A sample's own tokens attend to all of it, of which other samples may have the beginning too.
    key, value = key.index_select(2, places), value.index_select(2, places)
    half = query.dtype in (torch.bfloat16, torch.float16)
    if query.is_cuda and half and not dropout and softcap is None and s_aux is None:
        from torch.nn.attention.varlen import varlen_attn

        # Computes all samples in one kernel.
        most = longest or query.shape[2]
        attended = varlen_attn(
            *(states[0].transpose(0, 1).contiguous() for states in (query, key, value)),
            borders,
            ends,
            most,
            most,
            scale=scaling,
            window_size=(-1 if sliding_window is None else sliding_window - 1, 0),
            enable_gqa=query.shape[1] != key.shape[1],
        )
        assert isinstance(attended, torch.Tensor)
        return attended[None], None
    return _sample_by_sample(query, key, value, borders, ends, scaling, dropout, sliding_window, softcap, s_aux), None


def _counts(name: str, value: Any) -> bool:
    """Whether an argument asks for something other than plain causal attention."""
    return value is False if name == "is_causal" else value is not None and value is not False


# Compiled, it would be so anew for every length of a sample.
@torch.compiler.disable  # type: ignore[untyped-decorator]
def _sample_by_sample(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    borders: torch.Tensor,
    ends: torch.Tensor,
    scaling: float | None,
    dropout: float,
    sliding_window: int | None,
    softcap: float | None,
    s_aux: torch.Tensor | None,
) -> torch.Tensor:
    parts = []
    for (start, end), (first, last) in zip(pairwise(borders.tolist()), pairwise(ends.tolist()), strict=True):
        one = (query[:, :, start:end], key[:, :, first:last], value[:, :, first:last])
        plain = softcap is None and s_aux is None
        # Torch knows by itself what all tokens of a sample see.
        known = plain and end - start == last - first and (sliding_window is None or last - first <= sliding_window)
        seen = None if known else _seen(end - start, last - first, sliding_window, query.device)
        if plain:
            parts.append(
                scaled_dot_product_attention(
                    *one,
                    attn_mask=seen,
                    is_causal=known,
                    dropout_p=dropout,
                    scale=scaling,
                    enable_gqa=query.shape[1] != key.shape[1],
                )
            )
        else:
            parts.append(_with_changed_scores(*one, seen, scaling, dropout, softcap, s_aux))
    return torch.cat(parts, dim=2).transpose(1, 2).contiguous()


def _with_changed_scores(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    seen: torch.Tensor,
    scaling: float | None,
    dropout: float,
    softcap: float | None,
    s_aux: torch.Tensor | None,
) -> torch.Tensor:
    """Computes one sample step by step: no kernel of torch caps scores or knows of a score outside the sample."""
    heads, size = query.shape[1], query.shape[3]
    shared = heads // key.shape[1]
    key, value = key.repeat_interleave(shared, dim=1), value.repeat_interleave(shared, dim=1)
    scores = query @ key.transpose(2, 3) * (size**-0.5 if scaling is None else scaling)
    if softcap is not None:
        scores = torch.tanh(scores / softcap) * softcap
    scores = scores.masked_fill(~seen, torch.finfo(scores.dtype).min)
    if s_aux is not None:
        elsewhere = s_aux.to(scores.dtype).reshape(1, heads, 1, 1).expand(len(scores), -1, scores.shape[2], -1)
        scores = torch.cat([scores, elsewhere], dim=-1)
    weights = scores.softmax(dim=-1, dtype=torch.float32).to(value.dtype)
    return dropped(weights[..., : key.shape[2]], dropout) @ value


def _seen(new: int, length: int, sliding_window: int | None, device: torch.device) -> torch.Tensor:
    """Returns which tokens of a sample each of its last `new` ones sees."""
    at = torch.arange(length, device=device)
    back = at[length - new :, None] - at[None, :]
    return (back >= 0) & (back < (sliding_window or length))


AttentionInterface.register(NAME, packed_attention)
