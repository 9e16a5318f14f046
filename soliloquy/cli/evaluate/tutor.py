"""The tutor under evaluation: a model behind an endpoint, weights in this process, or the scripted model."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from soliloquy.cli.command import gathered, setting
from soliloquy.cli.model_options import MODELS, RECORD
from soliloquy.cli.options import COUNT, RESOLVED_FOLDER, WAIT
from soliloquy.cli.service_options import NOISE
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runtime.extensions import check_installed
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.model import ModelRefused, StreamingModel, StreamListener
from soliloquy.runtime.model.checking import require_endpoints
from soliloquy.runtime.model.faults import ModelFailed
from soliloquy.runtime.model.opening import ModelByRole, open_models
from soliloquy.runtime.model.settings import Models
from soliloquy.runtime.weights import is_encoder_decoder
from soliloquy.v1.model_pb2 import Adapter, Completion, GenerateRequest

if TYPE_CHECKING:
    from soliloquy_services.model.backend import ModelBackend

_ADAPTER = "evaluated"


class WeightsModel:
    """Answers every role with one engine."""

    def __init__(self, backend: "ModelBackend", adapter: str, *, free: bool) -> None:
        """A free one is not held to the schemas of its answers."""
        self._backend = backend
        self._adapter = adapter
        self._free = free

    async def generate(self, request: GenerateRequest, stream_listener: StreamListener | None = None) -> Completion:
        """Never streams, so the listener receives nothing."""
        from soliloquy_services.model.backend import final_completion
        from soliloquy_services.model.engines.engine import EngineFailed, EngineRefused

        request.adapter = self._adapter or request.adapter
        if self._free:
            request.schema = ""
        try:
            return await final_completion(self._backend.stream(request))
        except EngineRefused as refused:
            raise ModelRefused(str(refused)) from refused
        except EngineFailed as failed:
            raise ModelFailed(str(failed)) from failed


ROLES = ("tutor", "codegen", "composer")


@dataclass(frozen=True, kw_only=True, slots=True)
class Tutor:
    models: Models
    record: Path | None = None
    noise: str = "none"
    problems: str
    # Whether to wait for an endpoint that does not answer.
    wait: bool = False
    # The folders of weights that answer in place of the models, and of an adapter on top of them.
    weights: Path | None = None
    adapter: Path | None = None
    # Without constraining answers to their schema.
    free: bool = False

    def check_weights(self) -> None:
        from soliloquy_services.model.engines.weights import check_base, read_adapter

        assert self.weights
        check_installed("serve", "torch", "transformers")
        check_base(self.weights)
        if is_encoder_decoder(self.weights) and (self.adapter or self.free):
            raise Failure(f"{self.weights} is an encoder-decoder model: leave out --adapter and --free")
        if self.adapter:
            read_adapter(Adapter(name=_ADAPTER, path=str(self.adapter)))

    def identity(self) -> dict[str, Any]:
        if self.weights is None:
            return self.models.identity() | ({"noise": self.noise} if self.noise != "none" else {})
        return {
            "model": self.weights.name,
            "engine": "transformers",
            **({"adapter": str(self.adapter)} if self.adapter else {}),
            **({"schema": "none"} if self.free else {}),
        }

    @property
    def name(self) -> str:
        if self.weights:
            return self.weights.name + (f" + {self.adapter.name}" if self.adapter else "")
        members = (member for members in self.models.roles.values() for member in members)
        adapters = sorted({member.adapter for member in members if member.adapter})
        noise = f", noise {self.noise}" if self.noise != "none" else ""
        return " + ".join([self.models.identity()["model"], *adapters]) + noise

    @asynccontextmanager
    async def running(self) -> AsyncIterator[ModelByRole]:
        if self.weights:
            async with self._running_weights(self.weights) as weights:
                yield ModelByRole(self.models, dict.fromkeys(self.models.used, weights))
            return
        await require_endpoints(self.models, self.record)
        noisy = ModelSettings(problems=[self.problems], noise=self.noise)
        async with open_models(self.models, lambda: scripted_model(noisy), self.record) as models:
            yield models

    @asynccontextmanager
    async def _running_weights(self, weights: Path) -> AsyncIterator[StreamingModel]:
        if is_encoder_decoder(weights):
            from soliloquy_training.evaluation.encoder_decoder import EncoderDecoderModel

            yield EncoderDecoderModel(weights)
            return
        from soliloquy_services.model.engines.settings import EngineSettings
        from soliloquy_services.model.in_process import running_backend

        async with running_backend(EngineSettings(model=weights)) as chat:
            if self.adapter:
                await chat.load_adapter(Adapter(name=_ADAPTER, path=str(self.adapter)))
            yield WeightsModel(chat, _ADAPTER if self.adapter else "", free=self.free)


_ADAPTER_OPTION = setting(
    "The tutor's adapter: its name at the endpoint, or a folder with --weights.", metavar="NAME|DIR"
)
_WEIGHTS = setting("Evaluate these weights in this process instead of a --model.", type=RESOLVED_FOLDER)


def _tutor(
    *,
    models: Models = MODELS,
    record: Path | None = RECORD,
    problems: str,
    weights: Path | None = _WEIGHTS,
    adapter: str | None = _ADAPTER_OPTION,
    free: bool = setting("Do not constrain the answers of --weights to their schema."),
    max_tokens: int | None = setting("Maximum tokens of an answer, if lower than in the settings.", type=COUNT),
    noise: str = NOISE,
    wait: bool = WAIT,
) -> Tutor:
    """Returns the tutor of these options; raises UsageError if they contradict each other."""
    context = click.get_current_context()
    if any(member.best_of > 1 for members in models.roles.values() for member in members):
        raise click.UsageError("--model-settings: an evaluation is of single answers: remove best_of")
    if max_tokens:
        models = at_most(models, max_tokens)
    if weights:
        for name in ("model", "model_settings", "noise"):
            if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                raise click.UsageError(f"--weights cannot be used with --{name.replace('_', '-')}")
        folder = Path(adapter) if adapter else None
        tutor = Tutor(models=models, problems=problems, weights=weights, adapter=folder, free=free)
        tutor.check_weights()
        return tutor
    if free:
        raise click.UsageError("--free requires --weights: for an endpoint, set `schema` in its settings")
    models = _with_adapter(models, adapter)
    return Tutor(models=models, record=record, noise=noise, problems=problems, wait=wait)


TUTOR = gathered(_tutor)


def at_most(models: Models, max_tokens: int) -> Models:
    """Returns models whose answers have at most this many tokens."""
    limited = models.changed(lambda role: replace(role, max_tokens=min(max_tokens, role.max_tokens)))
    prompts = {
        name: replace(own, max_tokens=min(max_tokens, own.max_tokens)) if own.max_tokens else own
        for name, own in models.prompts.items()
    }
    return replace(limited, prompts=prompts)


def _with_adapter(models: Models, adapter: str | None) -> Models:
    if adapter is None:
        return models
    if any(endpoint.engine == "scripted" for role in ROLES for endpoint in models.asked(role)):
        raise click.UsageError(f"--adapter {adapter}: the scripted model has no weights: choose another --model")
    return models.changed(lambda role: replace(role, adapter=adapter), ROLES)
