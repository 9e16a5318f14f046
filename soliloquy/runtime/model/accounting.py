"""Counts the time, tokens and cost of model calls by role."""

import time

from soliloquy.runtime.model import StreamingModel, StreamListener, metrics
from soliloquy.runtime.model.costs import add_use, cost_of, disjoint, use_of
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
        used: dict[str, float] = {}
        for sample in samples:
            add_use(used, use_of(sample))
        for kind, tokens in disjoint(used).items():
            metrics.TOKENS.labels(*labels, kind).inc(tokens)
        cost = cost_of(self._endpoint, used)
        metrics.COST.labels(*labels).inc(cost or 0.0)
        metrics.UNPRICED.labels(*labels).inc(used.get("prompt", 0) + used.get("completion", 0) if cost is None else 0)
        return completion
