"""Requests to one model, batched step by step on a thread of their own."""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Any

import llguidance
from transformers import ContinuousBatchingConfig, GenerationConfig
from transformers.generation import LogitsProcessorList
from transformers.generation.continuous_batching.cb_logits_processors import ContinuousBatchingLogitsProcessorList
from transformers.generation.continuous_batching.requests import RequestStatus

from services.model.engines.engine import EngineFailed, InvalidRequest, TokenDelta, TokenRequest
from services.model.engines.grammar import grammar
from services.model.engines.settings import EngineSettings
from services.model.engines.transformers.sampling import PerRequestSampling, TokenSampler
from soliloquy.v1.model_pb2 import Finish

PAGE_TOKENS = 32
# Prompts are taken in by so many tokens a step, so that those that are being answered do not wait for long ones.
STEP_TOKENS = 256
_STOP_SECONDS = 5.0


@dataclass(kw_only=True, slots=True)
class _Underway:
    choice: TokenSampler
    outputs: asyncio.Queue[Any] = field(default_factory=asyncio.Queue)
    answered: int = 0
    finish: Finish = Finish.FINISH_UNSPECIFIED


class Batcher:
    def __init__(self, model: Any, ends: Sequence[int], tokenizer: llguidance.LLTokenizer, settings: EngineSettings):
        self._model = model
        self._ends = list(ends)
        self._tokenizer = tokenizer
        self._stall_seconds = settings.stall_seconds
        self._underway: dict[str, _Underway] = {}
        self._moved = time.monotonic()
        self._idle = asyncio.Event()
        self._idle.set()
        self._stopping: asyncio.Task[None] | None = None
        self._steering = PerRequestSampling(self._stepped)
        self._requests = model.init_continuous_batching(
            generation_config=GenerationConfig(do_sample=False, eos_token_id=self._ends),
            continuous_batching_config=ContinuousBatchingConfig(
                page_size=PAGE_TOKENS,
                num_blocks=settings.cache_tokens // PAGE_TOKENS,
                max_batch_tokens=max(STEP_TOKENS, settings.batch),
                max_requests_per_batch=settings.batch,
                per_request_processors=True,
                # The choice of a token is made in Python, step by step.
                use_async_batching=False,
                use_cuda_graph=False,
            ),
        )
        self._requests.logit_processor = _only(self._steering)

    @property
    def fault(self) -> str:
        if not self._requests.is_running():
            return "the thread that runs the model has ended"
        still = time.monotonic() - self._moved
        if self._underway and still > self._stall_seconds:
            return f"no step for {still:.0f} s with {len(self._underway)} requests at hand"
        return ""

    @property
    def running(self) -> int:
        return sum(request.answered > 0 for request in self._underway.values())

    @property
    def waiting(self) -> int:
        return len(self._underway) - self.running

    def start(self) -> None:
        self._requests.warmup()
        self._requests.start()

    async def stop(self) -> None:
        """Requests under way fail; a thread that stands still is left behind."""
        for request in self._underway.values():
            request.outputs.put_nowait(None)
        # Once, also where whoever saw it off is cancelled while its thread ends.
        if self._stopping is None and self._requests.is_running():
            ending = asyncio.to_thread(self._requests.stop, timeout=_STOP_SECONDS, hard_stop=True)
            self._stopping = asyncio.create_task(ending)
        if self._stopping:
            await asyncio.shield(self._stopping)

    async def idle(self) -> None:
        await self._idle.wait()

    async def generate(self, request: TokenRequest) -> AsyncGenerator[TokenDelta, None]:
        matcher = llguidance.LLMatcher(self._tokenizer, grammar(request.json_schema)) if request.json_schema else None
        underway = _Underway(choice=TokenSampler(request.sampling, request.seed, matcher, self._model.device))
        self._begin(request.id, underway)
        try:
            self._send(request, underway)
            while not underway.finish:
                tokens = self._news(underway, await underway.outputs.get())
                yield TokenDelta(tokens=tokens, finish=underway.finish)
        finally:
            self._end(request.id, underway)

    def _begin(self, id: str, underway: _Underway) -> None:
        if not self._underway:
            self._moved = time.monotonic()
        self._idle.clear()
        self._underway[id] = underway
        self._steering.choices[id] = underway.choice

    def _send(self, request: TokenRequest, underway: _Underway) -> None:
        self._requests.register_result_handler(request.id, underway.outputs.put_nowait)
        sent = self._requests.add_request(
            list(request.tokens),
            request_id=request.id,
            max_new_tokens=request.sampling.max_tokens,
            eos_token_id=self._ends,
            streaming=True,
        )
        if sent is None:
            raise EngineFailed("the engine takes no further requests; ask again")

    def _news(self, underway: _Underway, output: Any) -> Sequence[int]:
        """The tokens that have come since the last news."""
        if output is None or output.status == RequestStatus.FAILED:
            reason = output.error if output else "it is being stopped"
            raise EngineFailed(f"the engine gave a request up: {reason}; ask again")
        tokens: list[int] = output.generated_tokens[underway.answered :]
        underway.answered += len(tokens)
        if output.status != RequestStatus.FINISHED:
            return tokens
        if problem := underway.choice.problem:
            raise InvalidRequest(f"the schema could not be held to until the end: {problem}")
        ended = bool(tokens) and tokens[-1] in self._ends
        underway.finish = Finish.FINISH_STOP if ended else Finish.FINISH_LENGTH
        return tokens[:-1] if ended else tokens

    def _end(self, id: str, underway: _Underway) -> None:
        """Nothing of the request is left, whether it was answered or is given up."""
        if not underway.finish:
            self._requests.cancel_request(id)
            self._requests.output_router.result_handlers.pop(id, None)
        del self._steering.choices[id]
        del self._underway[id]
        if not self._underway:
            self._idle.set()

    def _stepped(self) -> None:
        self._moved = time.monotonic()


def _only(steering: PerRequestSampling) -> ContinuousBatchingLogitsProcessorList:
    """Instead of the library's own processors."""
    processors = ContinuousBatchingLogitsProcessorList(LogitsProcessorList([steering]))
    processors.tensors_required = 1
    return processors
