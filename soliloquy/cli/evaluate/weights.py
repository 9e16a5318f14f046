"""Runs weights in this process, so that an evaluation needs no service."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from soliloquy.runtime.extensions import check_installed
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model import ModelRefused, StreamingModel, StreamListener
from soliloquy.runtime.model.faults import ModelFailed
from soliloquy.runtime.weights import is_encoder_decoder
from soliloquy.v1.model_pb2 import Adapter, Completion, GenerateRequest

if TYPE_CHECKING:
    from soliloquy_services.model.backend import ModelBackend

_ADAPTER = "evaluated"


@dataclass(frozen=True, kw_only=True, slots=True)
class Weights:
    folder: Path
    # The folder of an adapter on top of them.
    adapter: Path | None
    # Without constraining answers to their schema.
    free: bool

    def check(self) -> None:
        from soliloquy_services.model.engines.weights import check_base, read_adapter

        check_installed("serve", "torch", "transformers")
        check_base(self.folder)
        if is_encoder_decoder(self.folder) and (self.adapter or self.free):
            raise Failure(f"{self.folder} is an encoder-decoder model: leave out --adapter and --free")
        if self.adapter:
            read_adapter(Adapter(name=_ADAPTER, path=str(self.adapter)))

    def identity(self) -> dict[str, Any]:
        return {
            "model": self.folder.name,
            "engine": "transformers",
            **({"adapter": str(self.adapter)} if self.adapter else {}),
            **({"schema": "none"} if self.free else {}),
        }


class WeightsModel:
    """Answers every role with one engine."""

    def __init__(self, backend: "ModelBackend", weights: Weights) -> None:
        self._backend = backend
        self._weights = weights

    async def generate(self, request: GenerateRequest, stream_listener: StreamListener | None = None) -> Completion:
        """Never streams, so the listener receives nothing."""
        from soliloquy_services.model.backend import final_completion
        from soliloquy_services.model.engines.engine import EngineFailed, EngineRefused

        if self._weights.adapter:
            request.adapter = _ADAPTER
        if self._weights.free:
            request.schema = ""
        try:
            return await final_completion(self._backend.stream(request))
        except EngineRefused as refused:
            raise ModelRefused(str(refused)) from refused
        except EngineFailed as failed:
            raise ModelFailed(str(failed)) from failed


@asynccontextmanager
async def running_weights(weights: Weights) -> AsyncIterator[StreamingModel]:
    if is_encoder_decoder(weights.folder):
        from soliloquy_training.evaluation.encoder_decoder import EncoderDecoderModel

        yield EncoderDecoderModel(weights.folder)
        return
    from soliloquy_services.model.engines.settings import EngineSettings
    from soliloquy_services.model.in_process import running_backend

    async with running_backend(EngineSettings(model=weights.folder)) as chat:
        if weights.adapter:
            await chat.load_adapter(Adapter(name=_ADAPTER, path=str(weights.adapter)))
        yield WeightsModel(chat, weights)
