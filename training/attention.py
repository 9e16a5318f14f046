"""Attention over packed samples: each attends only to itself, with the same result as if it were alone."""

from itertools import pairwise
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface

NAME = "packed"


def packed_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: None,
    *,
    borders: torch.Tensor,
    scaling: float | None = None,
    dropout: float = 0.0,
    sliding_window: int | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Called by transformers in each layer; `borders` is passed through from the call of the model."""
    if query.is_cuda and query.dtype in (torch.bfloat16, torch.float16) and not dropout:
        return _varlen(query, key, value, borders, scaling, sliding_window), None
    edges = borders.tolist()
    shared = query.shape[1] != key.shape[1]
    parts = [
        scaled_dot_product_attention(
            query[:, :, start:end],
            key[:, :, start:end],
            value[:, :, start:end],
            attn_mask=_window(end - start, sliding_window, query.device),
            is_causal=sliding_window is None or end - start <= sliding_window,
            dropout_p=dropout,
            scale=scaling,
            enable_gqa=shared,
        )
        for start, end in pairwise(edges)
    ]
    return torch.cat(parts, dim=2).transpose(1, 2).contiguous(), None


def _varlen(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    borders: torch.Tensor,
    scaling: float | None,
    sliding_window: int | None,
) -> torch.Tensor:
    """Computes all samples in one kernel."""
    from torch.nn.attention.varlen import varlen_attn

    flat = [states[0].transpose(0, 1).contiguous() for states in (query, key, value)]
    longest = int(borders.diff().max())
    attended = varlen_attn(
        *flat,
        borders,
        borders,
        longest,
        longest,
        scale=scaling,
        window_size=(-1 if sliding_window is None else sliding_window - 1, 0),
        enable_gqa=query.shape[1] != key.shape[1],
    )
    assert isinstance(attended, torch.Tensor)
    return attended[None]


def _window(length: int, sliding_window: int | None, device: torch.device) -> torch.Tensor | None:
    if sliding_window is None or length <= sliding_window:
        return None
    at = torch.arange(length, device=device)
    back = at[:, None] - at[None, :]
    return (back >= 0) & (back < sliding_window)


AttentionInterface.register(NAME, packed_attention)
