"""Batches the requests to one model step by step, on its own thread."""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import llguidance
import torch
from transformers import ContinuousBatchingConfig, GenerationConfig
from transformers.generation import LogitsProcessorList
from transformers.generation.continuous_batching.cb_logits_processors import ContinuousBatchingLogitsProcessorList
from transformers.generation.continuous_batching.requests import RequestStatus

from soliloquy.v1.model_pb2 import Finish
from soliloquy_services.model.engines.engine import EngineFailed, InvalidRequest, TokenDelta, TokenRequest, TokenScore
from soliloquy_services.model.engines.grammar import grammar
from soliloquy_services.model.engines.settings import EngineSettings
from soliloquy_services.model.engines.transformers.sampling import PerRequestSampling, PromptScoring, TokenSampler

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


PAGE_TOKENS = 32
# Prompt tokens per step, so that running answers do not wait for long prompts.
STEP_TOKENS = 256
_STOP_SECONDS = 5.0


@dataclass(kw_only=True, slots=True)
class _ActiveRequest:
    sampler: TokenSampler
    outputs: asyncio.Queue[Any] = field(default_factory=asyncio.Queue)
    answered: int = 0
    finish: Finish = Finish.FINISH_UNSPECIFIED


class Batcher:
    def __init__(
        self, model: Any, end_tokens: Sequence[int], tokenizer: llguidance.LLTokenizer, settings: EngineSettings
    ) -> None:
        self._model = model
        self._end_tokens = list(end_tokens)
        self._tokenizer = tokenizer
        self._stall_seconds = settings.stall_seconds
        self._active: dict[str, _ActiveRequest] = {}
        self._last_step = time.monotonic()
        self._idle = asyncio.Event()
        self._idle.set()
        self._stopping: asyncio.Task[None] | None = None
        self._sampling = PerRequestSampling(self._stepped)
        self._requests = model.init_continuous_batching(
            generation_config=GenerationConfig(do_sample=False, eos_token_id=self._end_tokens),
            continuous_batching_config=ContinuousBatchingConfig(
                page_size=PAGE_TOKENS,
                num_blocks=settings.cache_tokens // PAGE_TOKENS,
                max_batch_tokens=max(STEP_TOKENS, settings.batch),
                max_requests_per_batch=settings.batch,
                per_request_processors=True,
                # Tokens are sampled in Python, step by step.
                use_async_batching=False,
                use_cuda_graph=False,
            ),
        )
        self._requests.logit_processor = _only(self._sampling)

    @property
    def fault(self) -> str:
        if not self._requests.is_running():
            return "the thread that runs the model has ended"
        still = time.monotonic() - self._last_step
        if self._active and still > self._stall_seconds:
            return f"no step for {still:.0f} s with {len(self._active)} requests in progress"
        return ""

    def start(self) -> None:
        self._requests.warmup()
        self._requests.start()

    async def stop(self) -> None:
        """Fails the requests in progress; abandons a thread that is stuck."""
        for request in self._active.values():
            request.outputs.put_nowait(None)
        # Only once, even if a caller is cancelled while the thread ends.
        if self._stopping is None and self._requests.is_running():
            ending = asyncio.to_thread(self._requests.stop, timeout=_STOP_SECONDS, hard_stop=True)
            self._stopping = asyncio.create_task(ending)
        if self._stopping:
            await asyncio.shield(self._stopping)

    async def idle(self) -> None:
        await self._idle.wait()

    async def generate(self, request: TokenRequest) -> AsyncGenerator[TokenDelta, None]:
        matcher = llguidance.LLMatcher(self._tokenizer, grammar(request.json_schema)) if request.json_schema else None
        active = _ActiveRequest(
            sampler=TokenSampler(
                request.sampling,
                request.seed,
                matcher,
                self._model.device,
                score_prompt=prompt_scoring(self._model, request) if request.sampling.prompt_logprobs else None,
            )
        )
        self._begin(request.id, active)
        try:
            self._send(request, active)
            while not active.finish:
                answered = active.answered
                tokens = self._new_tokens(active, await active.outputs.get())
                scores = active.sampler.scores[answered : answered + len(tokens)]
                prompt_scores = active.sampler.prompt_scores if not answered else ()
                yield TokenDelta(tokens=tokens, scores=scores, prompt_scores=prompt_scores, finish=active.finish)
        finally:
            self._end(request.id, active)

    def _begin(self, id: str, active: _ActiveRequest) -> None:
        if not self._active:
            self._last_step = time.monotonic()
        self._idle.clear()
        self._active[id] = active
        self._sampling.samplers[id] = active.sampler

    def _send(self, request: TokenRequest, active: _ActiveRequest) -> None:
        self._requests.register_result_handler(request.id, active.outputs.put_nowait)
        sent = self._requests.add_request(
            list(request.tokens),
            request_id=request.id,
            max_new_tokens=request.sampling.max_tokens,
            eos_token_id=self._end_tokens,
            streaming=True,
        )
        if sent is None:
            raise EngineFailed("the engine accepts no more requests: try again")

    def _new_tokens(self, active: _ActiveRequest, output: Any) -> Sequence[int]:
        """Returns the tokens that are new since the last call."""
        if output is None or output.status == RequestStatus.FAILED:
            reason = output.error if output else "it is stopping"
            raise EngineFailed(f"the engine gave up a request ({reason}): try again")
        tokens: list[int] = output.generated_tokens[active.answered :]
        active.answered += len(tokens)
        if output.status != RequestStatus.FINISHED:
            return tokens
        if problem := active.sampler.problem:
            raise InvalidRequest(problem)
        ended = bool(tokens) and tokens[-1] in self._end_tokens
        active.finish = Finish.FINISH_STOP if ended else Finish.FINISH_LENGTH
        return tokens[:-1] if ended else tokens

    def _end(self, id: str, active: _ActiveRequest) -> None:
        """Removes the request, whether it was answered or abandoned."""
        if not active.finish:
            self._requests.cancel_request(id)
            self._requests.output_router.result_handlers.pop(id, None)
        del self._sampling.samplers[id]
        del self._active[id]
        if not self._active:
            self._idle.set()

    def _stepped(self) -> None:
        self._last_step = time.monotonic()


def _only(sampling: PerRequestSampling) -> ContinuousBatchingLogitsProcessorList:
    """Replaces the library's own processors."""
    processors = ContinuousBatchingLogitsProcessorList(LogitsProcessorList([sampling]))
    processors.tensors_required = 1
    return processors
