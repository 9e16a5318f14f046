"""Counts the time, tokens and cost of model calls by role."""

import time

from soliloquy.runtime.model import StreamingModel, StreamListener, metrics
from soliloquy.runtime.model.costs import cost
from soliloquy.runtime.model.settings import Endpoint
from soliloquy.runtime.retry import Refused
from soliloquy.runtime.traces import spans
from soliloquy.v1.model_pb2 import Completion, GenerateRequest


class CountedModel:
    def __init__(self, model: StreamingModel, name: str, endpoint: Endpoint) -> None:
        self._model = model
        self._name = name
        self._endpoint = endpoint

    async def generate(self, request: GenerateRequest, stream_listener: StreamListener | None = None) -> Completion:
        labels = (self._name, request.role)
        began, outcome = time.perf_counter(), "failed"
        try:
            completion = await self._model.generate(request, stream_listener)
            outcome = "answered"
        except Refused:
            outcome = "refused"
            raise
        finally:
            metrics.CALLS.labels(*labels, outcome).inc()
            metrics.CALL.labels(*labels).observe(time.perf_counter() - began, spans.exemplar())
            spans.note(endpoint=self._name, outcome=outcome)
        samples = (completion, *completion.more)
        prompt, written = (sum(getattr(one, f"{kind}_tokens") for one in samples) for kind in ("prompt", "completion"))
        metrics.TOKENS.labels(*labels, "prompt").inc(prompt)
        metrics.TOKENS.labels(*labels, "completion").inc(written)
        told = sum(one.cost for one in samples)
        metrics.COST.labels(*labels).inc(told or cost(self._endpoint, prompt, written))
        return completion
