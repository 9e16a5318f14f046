"""Metrics of an engine that runs weights; an adapter's name is a label only while it is loaded."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from soliloquy.runtime.metrics import counter, gauge, histogram
from soliloquy.v1.model_pb2 import Finish
from soliloquy_services.model.engines.engine import Engine, EngineRefused

PROMPT_TOKENS = counter("soliloquy_model_prompt_tokens_total")
COMPLETION_TOKENS = counter("soliloquy_model_completion_tokens_total")
ENDED = counter("soliloquy_model_requests_ended_total")
REFUSED = counter("soliloquy_model_requests_refused_total")
FIRST_TOKEN = histogram("soliloquy_model_first_token_seconds")
ANSWER = histogram("soliloquy_model_answer_seconds")
RUNNING = gauge("soliloquy_model_running")
WAITING = gauge("soliloquy_model_waiting")
ADAPTERS = gauge("soliloquy_model_adapters")

_ENDS = {Finish.FINISH_STOP: "stop", Finish.FINISH_LENGTH: "length"}


class EngineMetrics:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._requests: set[RequestMetrics] = set()

    @property
    def waiting(self) -> int:
        """The number of requests of this process that have no token yet."""
        return sum(not request.begun for request in self._requests)

    def open(self) -> None:
        for metric in (RUNNING, WAITING, ADAPTERS):
            metric.labels(self._engine.name).set(0)

    def adapters(self, number: int) -> None:
        ADAPTERS.labels(self._engine.name).set(number)

    def close(self) -> None:
        for metric in (RUNNING, WAITING, ADAPTERS):
            metric.remove(self._engine.name)

    def forget(self, adapter: str) -> None:
        """Drops the series of an unloaded adapter."""
        for metric in (PROMPT_TOKENS, COMPLETION_TOKENS, FIRST_TOKEN, ANSWER):
            metric.remove(self._engine.name, adapter)
        for end in (*_ENDS.values(), "failed", "aborted"):
            ENDED.remove(self._engine.name, adapter, end)

    @contextmanager
    def request(self, adapter: str) -> Iterator["RequestMetrics"]:
        """Counts how a request ends."""
        request = RequestMetrics(self._engine.name, adapter)
        self._requests.add(request)
        WAITING.labels(self._engine.name).inc()
        try:
            yield request
        except EngineRefused as refused:
            REFUSED.labels(self._engine.name, type(refused).__name__).inc()
            raise
        except Exception:
            request.count("failed")
            raise
        except BaseException:
            request.count("aborted")
            raise
        finally:
            self._requests.remove(request)
            request.close()


class RequestMetrics:
    def __init__(self, engine: str, adapter: str) -> None:
        self._labels = (engine, adapter)
        self._asked = time.monotonic()
        self.begun = False

    def prompt(self, tokens: int) -> None:
        PROMPT_TOKENS.labels(*self._labels).inc(tokens)

    def generated(self, tokens: int) -> None:
        if not self.begun:
            self.begun = True
            # Looked up once: it counts at every token.
            self._completion_tokens = COMPLETION_TOKENS.labels(*self._labels)
            FIRST_TOKEN.labels(*self._labels).observe(time.monotonic() - self._asked)
            RUNNING.labels(self._labels[0]).inc()
            WAITING.labels(self._labels[0]).dec()
        self._completion_tokens.inc(tokens)

    def ended(self, finish: Finish) -> None:
        ANSWER.labels(*self._labels).observe(time.monotonic() - self._asked)
        self.count(_ENDS[finish])

    def close(self) -> None:
        (RUNNING if self.begun else WAITING).labels(self._labels[0]).dec()

    def count(self, end: str) -> None:
        ENDED.labels(*self._labels, end).inc()
