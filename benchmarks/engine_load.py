"""Puts callers on an engine in this process: tokens a second, and how long the first one takes."""

import asyncio
import itertools
import statistics
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from soliloquy.v1.model_pb2 import GenerateRequest, Message, Sampling

if TYPE_CHECKING:
    from soliloquy_services.model.backend import ModelBackend
    from soliloquy_services.model.engines.tokenizer import ChatTokenizer
    from soliloquy_services.model.engines.vllm.engine import VllmEngine

_PROMPT = "A block slides down an incline. What is its acceleration, and how do you know? "
# Requests of each caller, one after the other, so that some begin while others end.
_REQUESTS = 2

# Yields how many tokens the answer to a request has so far.
Ask = Callable[[GenerateRequest], AsyncIterator[int]]


@dataclass(frozen=True, kw_only=True)
class Load:
    callers: int
    max_tokens: int = 64
    # How often a prompt says its sentence.
    sentences: int = 4
    # Without it all prompts begin alike, and an engine that keeps prefixes reads them once.
    begin_apart: bool = False
    # The number of the first request.
    first: int = 0

    def request(self, number: int) -> GenerateRequest:
        said = _PROMPT * self.sentences
        return GenerateRequest(
            messages=[Message(role="user", text=f"({number}) {said}" if self.begin_apart else f"{said}({number})")],
            sampling=Sampling(temperature=0.8, top_p=1.0, max_tokens=self.max_tokens),
            seed=number,
        )


@dataclass(frozen=True, kw_only=True)
class Answered:
    tokens_per_second: float
    first_token_ms: float


async def answered_by(ask: Ask, load: Load) -> Answered:
    numbers = itertools.count(load.first)
    first: list[float] = []

    async def call() -> int:
        tokens = 0
        for _ in range(_REQUESTS):
            began, generated = time.perf_counter(), 0
            async for count in ask(load.request(next(numbers))):
                if not generated and count:
                    first.append(time.perf_counter() - began)
                generated = count
            tokens += generated
        return tokens

    started = time.perf_counter()
    counts = await asyncio.gather(*(call() for _ in range(load.callers)))
    return Answered(
        tokens_per_second=sum(counts) / (time.perf_counter() - started),
        first_token_ms=1000 * statistics.median(first),
    )


def through_chat(chat: "ModelBackend", adapters: Sequence[str] = ("",)) -> Ask:
    """Asks as the model service does, each request with the next adapter."""
    names = itertools.cycle(adapters)

    async def ask(request: GenerateRequest) -> AsyncIterator[int]:
        request.adapter = next(names)
        async for delta in chat.stream(request):
            # A piece of text tells that there are tokens, not how many.
            yield delta.completion.completion_tokens or 1

    return ask


def through_vllm(engine: "VllmEngine", tokenizer: "ChatTokenizer") -> Ask:
    """Asks vLLM itself, without our engine around it."""
    from vllm import SamplingParams, TokensPrompt
    from vllm.sampling_params import RequestOutputKind

    llm, ids = engine._running(), itertools.count()

    async def ask(request: GenerateRequest) -> AsyncIterator[int]:
        sampling = SamplingParams(
            temperature=request.sampling.temperature,
            max_tokens=request.sampling.max_tokens,
            seed=request.seed,
            output_kind=RequestOutputKind.DELTA,
        )
        prompt = TokensPrompt(prompt_token_ids=tokenizer.prompt(request.messages))
        tokens = 0
        async for output in llm.generate(prompt, sampling, f"bare-{next(ids)}"):
            tokens += len(output.outputs[0].token_ids)
            yield tokens

    return ask
