"""Opens the models that the settings name, routes each role's requests to its endpoint, and counts them."""

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from soliloquy.runtime.failure import Failure
from soliloquy.runtime.metrics import series
from soliloquy.runtime.model import ModelRefused, Reserve, StreamingModel, StreamListener, metrics
from soliloquy.runtime.model.costs import bill_of, disjoint
from soliloquy.runtime.model.keys import key_of
from soliloquy.runtime.model.recording import RecordedModel, Recording
from soliloquy.runtime.model.remote import EndpointClient, RemoteModel
from soliloquy.runtime.model.settings import Endpoint, Models
from soliloquy.runtime.model.span_attributes import request_attributes
from soliloquy.runtime.model.spending import Spending
from soliloquy.runtime.model.status import EndpointStatus
from soliloquy.runtime.retry import Refused
from soliloquy.runtime.traces import spans
from soliloquy.v1.model_pb2 import Completion, GenerateRequest, Sampling

# How long, and how many, calls of an endpoint may wait that is asked in batches.
BATCH_SECONDS = 30 * 86_400.0
MOST_WAITING = 1_000_000


class CountedModel:
    """Counts the time, tokens and cost of calls by role."""

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
            series(metrics.CALLS, *labels, outcome).inc()
            series(metrics.CALL, *labels).observe(time.perf_counter() - began, spans.exemplar())
            spans.note(outcome=outcome)
        used, cost, unpriced = bill_of(self._endpoint, completion)
        for kind, tokens in disjoint(used).items():
            series(metrics.TOKENS, *labels, kind).inc(tokens)
        series(metrics.COST, *labels).inc(cost)
        series(metrics.UNPRICED, *labels).inc(unpriced)
        return completion


class ModelByRole:
    """Answers each role and prompt at its endpoint with its adapter and sampling; calls wait while it is gone."""

    def __init__(
        self, models: Models, answering: Mapping[str, StreamingModel], remotes: Sequence[RemoteModel] = ()
    ) -> None:
        """`answering` maps the name of each endpoint in use to its model."""
        self._models = models
        self._answering = answering
        self._remotes = remotes

    @property
    def fault(self) -> str:
        """Why calls wait; empty while none do."""
        return "; ".join(remote.fault for remote in self._remotes if remote.fault)

    def reserve(self, role: str, conversation: str) -> Reserve:
        drawn = self._models.drawn(role, conversation)
        return Reserve(best_of=drawn.best_of, fallback=bool(drawn.fallback))

    @property
    def statuses(self) -> Sequence[EndpointStatus]:
        return [remote.status for remote in self._remotes]

    async def generate(self, request: GenerateRequest, stream_listener: StreamListener | None = None) -> Completion:
        role, draw_key = request.role, request.draw_key
        if role not in self._models.roles:
            known = ", ".join(self._models.roles)
            raise ModelRefused(f"nothing says how the role {role!r} is asked; there are: {known}")
        settings = self._models.drawn(role, draw_key)
        if recommended := request.sampling.temperature:
            # The recipe's own for this prompt.
            settings = replace(settings, temperature=recommended)
        settings = self._models.for_prompt(settings, request.prompt)
        if request.more_seeds and not settings.temperature:
            where = f'set a higher one in [prompts."{request.prompt}"] of the model settings'
            many = f"{1 + len(request.more_seeds)} answers to the prompt {request.prompt!r}"
            raise ModelRefused(f"{many} would be the same at temperature 0: {where}")
        if request.fallback:
            settings = replace(settings, endpoint=settings.fallback, adapter="")
            request.fallback = False
        request.adapter = settings.adapter
        request.sampling.CopyFrom(
            Sampling(
                temperature=settings.temperature,
                top_p=settings.top_p,
                max_tokens=settings.max_tokens << request.extra_room,
                reasoning_effort=settings.reasoning_effort,
            )
        )
        endpoint = self._models.endpoints[settings.endpoint]
        if spans.recording():
            spans.note(endpoint=settings.endpoint, **request_attributes(request, endpoint))
        if not endpoint.takes_records:
            request.ClearField("record")
        completion = await self._answering[settings.endpoint].generate(request, stream_listener)
        if not self._models.is_usual(role, settings.endpoint):
            for sample in (completion, *completion.more):
                sample.endpoint = settings.endpoint
        return completion


@asynccontextmanager
async def open_models(
    models: Models,
    scripted: Callable[[], StreamingModel],
    record: Path | None,
    *,
    holds: bool = False,
    findings: Path | None = None,
    spending: Path | None = None,
) -> AsyncIterator[ModelByRole]:
    """Raises Failure for a missing key. `holds` lets calls wait while an endpoint refuses them all.

    `record` is a folder for requests with their answers, `findings` a file for what the processes of a run learn about
    endpoints, `spending` one for what they are billed.
    """
    answering: dict[str, StreamingModel] = {}
    remotes: list[RemoteModel] = []
    async with AsyncExitStack() as at_hand:
        recording = Recording(record) if record else None
        if recording:
            at_hand.callback(recording.close)
        account = Spending(spending) if spending else None
        if account:
            at_hand.callback(account.close)
        for name, endpoint in models.used.items():
            if endpoint.engine == "scripted":
                answering[name] = CountedModel(scripted(), name, endpoint)
                continue
            if endpoint.batch:
                remote = _in_batches(name, endpoint, findings, account, holds=holds)
            else:
                client = client_for(name, endpoint, findings)
                remote = RemoteModel(name, endpoint, client, holds=holds, spending=account)
            at_hand.push_async_callback(remote.close)
            remotes.append(remote)
            counted = CountedModel(remote, name, endpoint)
            answering[name] = (
                RecordedModel(counted, name, endpoint, remote.identity, recording) if recording else counted
            )
        yield ModelByRole(models, answering, remotes)


def _in_batches(
    name: str, endpoint: Endpoint, findings: Path | None, account: Spending | None, *, holds: bool
) -> RemoteModel:
    """Returns a model whose calls wait in a queue, any number of them; whoever takes in a reply counts it."""
    from soliloquy.runtime.model.batch_queue import BatchQueue
    from soliloquy.runtime.model.batch_table import BatchTable
    from soliloquy.runtime.model.openai_client import OpenAIClient

    if account is None:
        raise Failure(f"{name}: batch is for `soliloquy generate` without --kafka: remove it from the endpoint")
    queue = BatchQueue(name, endpoint, BatchTable(account))
    client = OpenAIClient(name, endpoint, key_of(endpoint, name), findings, queue)
    unlimited = replace(endpoint, timeout=BATCH_SECONDS, max_concurrency=MOST_WAITING)
    return RemoteModel(name, unlimited, client, holds=holds)


def client_for(name: str, endpoint: Endpoint, findings: Path | None = None) -> EndpointClient:
    """Imports a client library only when an endpoint needs it."""
    if endpoint.engine == "ray":
        from soliloquy.runtime.model.model_service_client import ModelServiceClient

        return ModelServiceClient(name, endpoint)
    from soliloquy.runtime.model.openai_client import OpenAIClient

    return OpenAIClient(name, endpoint, key_of(endpoint, name), findings)
