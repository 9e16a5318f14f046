"""Opens the models that the settings name, and routes each role's requests to its endpoint."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from soliloquy.runtime.model import ModelRefused, StreamingModel, StreamListener
from soliloquy.runtime.model.accounting import CountedModel
from soliloquy.runtime.model.cache import AnswerCache, CachedModel
from soliloquy.runtime.model.remote import EndpointClient, RemoteModel
from soliloquy.runtime.model.settings import Endpoint, Models, key_of
from soliloquy.runtime.model.status import EndpointStatus
from soliloquy.v1.model_pb2 import Completion, GenerateRequest, Sampling


class ModelByRole:
    """Answers each role at its endpoint with its adapter and sampling settings; calls wait while it is gone."""

    def __init__(
        self, models: Models, answering: Mapping[str, StreamingModel], remotes: Sequence[RemoteModel] = ()
    ) -> None:
        """`answering` maps the name of each endpoint in use to its model."""
        self._remotes = remotes
        self._cast = {
            name: (
                answering[role.endpoint],
                GenerateRequest(
                    adapter=role.adapter,
                    sampling=Sampling(temperature=role.temperature, top_p=role.top_p, max_tokens=role.max_tokens),
                ),
            )
            for name, role in models.roles.items()
        }

    @property
    def fault(self) -> str:
        """Why calls wait; empty while none do."""
        return "; ".join(remote.fault for remote in self._remotes if remote.fault)

    @property
    def statuses(self) -> Sequence[EndpointStatus]:
        return [remote.status for remote in self._remotes]

    async def watch(self) -> None:
        """Notices endpoints that accept calls and answer nothing."""
        await asyncio.gather(*(remote.watch() for remote in self._remotes))

    async def generate(self, request: GenerateRequest, stream_listener: StreamListener | None = None) -> Completion:
        try:
            model, manner = self._cast[request.role]
        except KeyError:
            known = ", ".join(self._cast)
            raise ModelRefused(f"nothing says how the role {request.role!r} is asked; there are: {known}") from None
        own = request.sampling.temperature
        request.MergeFrom(manner)
        request.sampling.temperature = own or manner.sampling.temperature
        request.sampling.max_tokens <<= request.extra_room
        return await model.generate(request, stream_listener)


@asynccontextmanager
async def open_models(
    models: Models, scripted: Callable[[], StreamingModel], cache_folder: Path | None, *, holds: bool = False
) -> AsyncIterator[ModelByRole]:
    """Raises Failure for a missing key. `holds` lets calls wait while an endpoint refuses them all."""
    answering: dict[str, StreamingModel] = {}
    remotes: list[RemoteModel] = []
    async with AsyncExitStack() as at_hand:
        cache = AnswerCache(cache_folder) if cache_folder else None
        if cache:
            at_hand.callback(cache.close)
        for name, endpoint in models.used.items():
            if endpoint.engine == "scripted":
                answering[name] = CountedModel(scripted(), name, endpoint)
                continue
            remote = RemoteModel(name, endpoint, client_for(name, endpoint), holds=holds)
            at_hand.push_async_callback(remote.close)
            remotes.append(remote)
            counted = CountedModel(remote, name, endpoint)
            answering[name] = CachedModel(counted, name, endpoint, cache) if cache else counted
        yield ModelByRole(models, answering, remotes)


def client_for(name: str, endpoint: Endpoint) -> EndpointClient:
    """Imports a client library only when an endpoint needs it."""
    if endpoint.engine == "ray":
        from soliloquy.runtime.model.model_service_client import ModelServiceClient

        return ModelServiceClient(name, endpoint)
    from soliloquy.runtime.model.openai_client import OpenAIClient

    return OpenAIClient(name, endpoint, key_of(endpoint, name))
