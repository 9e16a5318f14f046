"""Helpers of the engine tests: requests, and an engine that runs the small model."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY

from soliloquy.v1.model_pb2 import Completion, GenerateRequest, Message, Sampling
from soliloquy_services.model.backend import ModelBackend, final_completion
from soliloquy_services.model.engines.settings import EngineSettings


def request(text: str = "Why does the cart slow down?", **asked: Any) -> GenerateRequest:
    """Returns a greedy request for 24 tokens, unless the arguments say otherwise."""
    sampling = {name: asked.pop(name) for name in ("temperature", "top_p", "max_tokens") if name in asked}
    return GenerateRequest(
        messages=[Message(role="system", text="You are a tutor."), Message(role="user", text=text)],
        sampling=Sampling(**{"max_tokens": 24, "top_p": 1.0, **sampling}),
        **asked,
    )


async def answer(answering: ModelBackend, asked: GenerateRequest) -> Completion:
    return await final_completion(answering.stream(asked))


def requests(state: str) -> float | None:
    """Returns the gauge of running or waiting requests."""
    return REGISTRY.get_sample_value(f"soliloquy_model_{state}", {"engine": "transformers"})


@asynccontextmanager
async def started(base: Path, **settings: Any) -> AsyncIterator[Any]:
    from soliloquy_services.model.in_process import running_backend

    async with running_backend(EngineSettings(**{"model": base, "cache_tokens": 8192, **settings})) as chat:
        yield chat


def scoring(tokens: Sequence[int], **asked: Any) -> GenerateRequest:
    """Asks how probable each token of a prompt is, as the route for evaluation harnesses does."""
    sampling = Sampling(max_tokens=1, top_p=1.0, logprobs=True, top_logprobs=3, prompt_logprobs=True)
    return GenerateRequest(raw_tokens=tokens, sampling=sampling, **asked)


def check_scores(told: Completion, base: Path, adapter: str, tokens: Sequence[int]) -> None:
    """Compares the scores of a prompt with the library's own log-softmax."""
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model: Any = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    if adapter:
        model = PeftModel.from_pretrained(model, adapter)
    with torch.inference_mode():
        logprobs = model(torch.tensor([list(tokens)])).logits[0].log_softmax(-1)
    tokenizer = AutoTokenizer.from_pretrained(base)
    first, *rest = told.prompt_logprobs
    assert (first.token, first.logprob, len(first.top)) == (tokenizer.decode(tokens[:1]), 0.0, 0)
    assert [one.token for one in rest] == [tokenizer.decode([token]) for token in tokens[1:]]
    expected = [float(logprobs[place, token]) for place, token in enumerate(tokens[1:])]
    assert [one.logprob for one in rest] == pytest.approx(expected, abs=1e-4)
    for one, best in zip((*rest, *told.logprobs), logprobs.topk(3).values.tolist(), strict=True):
        assert [each.logprob for each in one.top] == pytest.approx(best, abs=1e-4)
