"""Samples each request of a batch by its own temperature, top_p, seed and grammar.

The library's processors draw all requests from one random source, so that an answer would depend on the rest of the
batch. Here each request has its own source, and the library only takes the best of the adjusted scores.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import llguidance.numpy
import numpy as np
import torch
from llguidance import LLMatcher
from transformers.generation.continuous_batching.cb_logits_processors import ContinuousBatchingLogitsProcessor

from soliloquy.v1.model_pb2 import Sampling
from soliloquy_services.model.engines.engine import TokenScore

PromptScoring = Callable[[], Sequence[TokenScore]]


class TokenSampler:
    """Chooses the tokens of one request."""

    def __init__(
        self,
        sampling: Sampling,
        seed: int,
        matcher: LLMatcher | None,
        device: torch.device,
        *,
        score_prompt: PromptScoring | None = None,
    ) -> None:
        self._temperature = sampling.temperature
        self._top_p = sampling.top_p
        self._random = torch.Generator(device).manual_seed(seed)
        self._matcher = matcher
        self._top = sampling.top_logprobs if sampling.logprobs else None
        # One for each token so far where the sampling asks for them.
        self.scores: list[TokenScore] = []
        self._score_prompt = score_prompt
        self.prompt_scores: Sequence[TokenScore] = ()
        self._unscored = ""

    @property
    def problem(self) -> str:
        """Why the answer is not what was asked for; empty if it is."""
        if self._matcher and (error := self._matcher.get_error()):
            return f"the answer could not be held to the schema: {error}"
        return self._unscored

    def adjust(self, scores: torch.Tensor) -> None:
        """Adjusts the scores of the next token in place, such that the best one is the sampled token."""
        if self._score_prompt:
            self._scored(self._score_prompt)
        before = scores.log_softmax(-1) if self._top is not None else None
        if self._matcher:
            scores.masked_fill_(_forbidden(self._matcher, scores), -torch.inf)
        if self._temperature > 0:
            self._draw(scores)
        if self._matcher:
            self._matcher.consume_token(int(scores.argmax()))
        if before is not None:
            self.scores.append(_score(int(scores.argmax()), before, self._top or 0))

    def _scored(self, score_prompt: PromptScoring) -> None:
        """Computes the prompt between two steps: the library's batches keep only the scores of what comes next."""
        self._score_prompt = None
        try:
            self.prompt_scores = score_prompt()
        except torch.OutOfMemoryError:
            self._unscored = "the scores of the prompt take more memory than is free: shorten the prompt"

    def _draw(self, scores: torch.Tensor) -> None:
        """Adds noise such that the best score is a draw from the softmax (the Gumbel trick)."""
        scores.div_(self._temperature)
        if self._top_p < 1:
            ordered, tokens = scores.softmax(-1).sort(descending=True)
            # Keeps the first token that reaches top_p.
            scores[tokens[ordered.cumsum(-1) - ordered >= self._top_p]] = -torch.inf
        scores.sub_(torch.empty_like(scores).exponential_(generator=self._random).log_())


def _score(token: int, logprobs: torch.Tensor, top: int) -> TokenScore:
    best, tokens = logprobs.topk(top)
    places = list(zip(tokens.tolist(), best.tolist(), strict=True))
    return TokenScore(token=token, logprob=float(logprobs[token]), top=places)


def _forbidden(matcher: LLMatcher, scores: torch.Tensor) -> torch.Tensor:
    mask = llguidance.numpy.allocate_token_bitmask(1, scores.shape[-1])
    llguidance.numpy.fill_next_token_bitmask(matcher, mask)
    allowed = np.unpackbits(mask.view(np.uint8), count=scores.shape[-1], bitorder="little")
    return torch.from_numpy(allowed == 0).to(scores.device)


class PerRequestSampling(ContinuousBatchingLogitsProcessor):  # type: ignore[misc]  # the library has no types
    supported_kwargs: ClassVar[dict[str, type]] = {}
    ignored_kwargs: ClassVar[tuple[str, ...]] = ()

    def __init__(self, stepped: Callable[[], None]) -> None:
        # By request id.
        self.samplers: dict[str, TokenSampler] = {}
        self._stepped = stepped
        self._next: list[TokenSampler | None] = []

    def fill_defaults(self, int32_tensor: torch.Tensor) -> None:
        int32_tensor.zero_()

    def prepare_tensor_args(self, requests_with_new_token: Sequence[Any]) -> torch.Tensor:
        """Notes which request each row of the next scores belongs to; an abandoned request has no sampler."""
        self._next = [self.samplers.get(request.state.request_id) for request in requests_with_new_token]
        return torch.zeros(1, dtype=torch.int32)

    def __call__(self, scores: torch.Tensor, tensor_arg: torch.Tensor) -> torch.Tensor:
        # Rows of unfinished prompts come last and are not used.
        for row, sampler in enumerate(self._next):
            if sampler:
                sampler.adjust(scores[row])
        self._stepped()
        return scores
