"""Computes how probable each token of a prompt is."""

from collections.abc import Iterator
from typing import Any

import torch

from soliloquy_services.model.engines.engine import InvalidRequest, TokenRequest, TokenScore
from soliloquy_services.model.engines.transformers.sampling import PromptScoring

# Positions whose probabilities are computed at once: each takes as many numbers as the model knows tokens.
_POSITIONS = 256
_NEEDS_BATCHES = "paged"


def prompt_scoring(model: Any, request: TokenRequest) -> PromptScoring:
    """Returns the computation for the thread that runs the model, which changes its own settings in each step."""
    attention = str(model.config._attn_implementation)
    if attention.startswith(_NEEDS_BATCHES):
        raise InvalidRequest(f"prompt_logprobs is not supported with the attention {attention!r}: use the engine vllm")

    def scores() -> list[TokenScore]:
        tokens = torch.tensor([request.tokens], device=model.device)
        with torch.inference_mode():
            logits = model(tokens, use_cache=False).logits[0, :-1]
            parts = zip(logits.split(_POSITIONS), tokens[0, 1:].split(_POSITIONS), strict=True)
            return [score for part, chosen in parts for score in _scores(part, chosen, request.sampling.top_logprobs)]

    return scores


def _scores(logits: torch.Tensor, tokens: torch.Tensor, top: int) -> Iterator[TokenScore]:
    """Yields the score of each token after the first."""
    logprobs = logits.float().log_softmax(-1)
    best = logprobs.topk(top)
    own = logprobs.gather(-1, tokens[:, None])[:, 0]
    for token, logprob, places, values in zip(
        tokens.tolist(), own.tolist(), best.indices.tolist(), best.values.tolist(), strict=True
    ):
        yield TokenScore(token=token, logprob=logprob, top=list(zip(places, values, strict=True)))
