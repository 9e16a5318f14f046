"""Routes each role's requests to its endpoint with its adapter and sampling settings."""

from collections.abc import Mapping

from soliloquy.runtime.model.port import ModelRefused, StreamingModel, StreamListener
from soliloquy.runtime.model.settings import Models
from soliloquy.v1.model_pb2 import Completion, GenerateRequest, Sampling


class ModelByRole:
    def __init__(self, models: Models, answering: Mapping[str, StreamingModel]) -> None:
        """`answering` maps the name of each endpoint in use to its model."""
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

    async def generate(self, request: GenerateRequest, stream_listener: StreamListener | None = None) -> Completion:
        try:
            model, manner = self._cast[request.role]
        except KeyError:
            known = ", ".join(self._cast)
            raise ModelRefused(f"nothing says how the role {request.role!r} is asked; there are: {known}") from None
        own = request.sampling.temperature
        request.MergeFrom(manner)
        request.sampling.temperature = own or manner.sampling.temperature
        return await model.generate(request, stream_listener)
