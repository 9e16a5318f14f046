"""A model behind an endpoint: calls wait while the endpoint is gone, and are retried where that may help."""

import asyncio
import random
import time
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from soliloquy.runtime.model import ModelRefused, StreamListener, metrics
from soliloquy.runtime.model.faults import EndpointRefuses, Held, ModelFailed, RetryableFault, TimedOut
from soliloquy.runtime.model.gate import Gate, Permit
from soliloquy.runtime.model.settings import Endpoint, described
from soliloquy.runtime.model.spending import Spending, billed
from soliloquy.runtime.model.status import EndpointStatus
from soliloquy.runtime.traces import spans
from soliloquy.v1.model_pb2 import Completion, GenerateRequest

# Attempts for a call that may itself break the endpoint.
TRIES = 6
PAUSE_SECONDS = 0.2
PAUSE_CAP_SECONDS = 10.0
# Random extra share of a wait that the endpoint asks for, so that waiting calls do not return together.
SPREAD = 0.25
# After this many consecutive refusals we assume that the endpoint refuses every call.
REFUSALS = 10


class ServedModel(NamedTuple):
    """The model that an endpoint serves, as it says itself."""

    # Empty if it has several, or answers only under their names.
    name: str = ""
    # 0 if it does not say.
    context_tokens: int = 0


class EndpointClient(Protocol):
    """One protocol for calling an endpoint."""

    async def ask(
        self, request: GenerateRequest, seconds: float, stream_listener: StreamListener | None = None
    ) -> Completion:
        """Raises RetryableFault, ModelRefused, EndpointRefuses or TimeoutError."""

    async def identity(self, adapter: str) -> str:
        """Returns what tells the weights that answer from others of the same name; empty if that is unknown."""

    def manners(self, request: GenerateRequest) -> Sequence[str]:
        """Returns how such a request is sent and taken, in a few words each, by what is known so far."""

    async def served(self) -> ServedModel:
        """Returns what it says of its model; nothing if it does not answer."""

    async def close(self) -> None: ...


class RemoteModel:
    """`holds` lets calls wait while the endpoint refuses them all, as services do; otherwise they fail.

    `spending` counts what every request is billed, and refuses those that a budget has no room for.
    """

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        client: EndpointClient,
        *,
        holds: bool = False,
        spending: Spending | None = None,
    ) -> None:
        self.where = described(name, endpoint)
        self._endpoint = endpoint
        self._client = client
        self._holds = holds
        self._spending = spending
        self._seconds = endpoint.timeout
        self._gate = Gate(self.where, endpoint.max_concurrency)
        self._refusals = 0
        self._name = name
        metrics.IN_FLIGHT.labels(name).set_function(lambda: self._gate.in_flight)
        metrics.WIDTH.labels(name).set_function(lambda: self._gate.width)
        metrics.SHUT.labels(name).set_function(lambda: self._gate.is_shut)

    @property
    def fault(self) -> str:
        """Why calls wait; empty while none do."""
        if not self._gate.is_shut:
            return ""
        status = self.status
        return status.error if status.refused else f"waits for the model at {self.where}: {status.error}"

    @property
    def status(self) -> EndpointStatus:
        return self._gate.status

    async def identity(self, adapter: str) -> str:
        return await self._client.identity(adapter)

    async def generate(self, request: GenerateRequest, stream_listener: StreamListener | None = None) -> Completion:
        with self._gate.call():
            return await self._answer(request, stream_listener)

    async def _answer(self, request: GenerateRequest, stream_listener: StreamListener | None) -> Completion:
        tries, pause = 0, PAUSE_SECONDS
        while True:
            fault = await self._attempt(request, stream_listener)
            if not isinstance(fault, RetryableFault):
                return fault
            metrics.FAULTS.labels(self._name, fault.kind).inc()
            spans.event("fault", kind=fault.kind)
            if fault.against_call and not self._gate.is_shut:
                tries += 1
                if tries == TRIES:
                    raise ModelFailed(f"{self.where} failed at the same call {tries} times: {fault}") from fault
            pushback = fault.after * (1 + SPREAD * random.random())
            await asyncio.sleep(pushback or pause * random.uniform(0.5, 1.0))
            pause = min(PAUSE_CAP_SECONDS, 2 * pause)

    async def _attempt(
        self, request: GenerateRequest, stream_listener: StreamListener | None
    ) -> Completion | RetryableFault:
        permit = await self._gate.enter()
        try:
            with billed(self._spending, self._name, self._endpoint, request) as bill:
                async with asyncio.timeout(self._seconds):
                    completion = await self._client.ask(request, self._seconds, stream_listener)
                bill(completion)
        except TimeoutError:
            told = f"no answer within {time.monotonic() - permit.began:.3g} s"
            fault: RetryableFault = TimedOut(f"{told}; for a slower model, set timeout in --model-settings")
        except RetryableFault as passing:
            fault = passing
        except ModelRefused as refused:
            self._refusals += 1
            if self._refusals < REFUSALS:
                self._gate.answered(permit)
                raise
            fault = self._refused(
                permit, EndpointRefuses(f"{self.where} refused {self._refusals} calls in a row: {refused}")
            )
        except EndpointRefuses as refused:
            fault = self._refused(permit, refused)
        except BaseException:
            self._gate.abandon(permit)
            raise
        else:
            self._gate.answered(permit)
            self._refusals = 0
            return completion
        self._gate.failed(permit, fault)
        return fault

    def _refused(self, permit: Permit, refused: EndpointRefuses) -> Held:
        if self._holds:
            return Held(str(refused))
        self._gate.abandon(permit)
        raise refused

    async def close(self) -> None:
        await self._client.close()
