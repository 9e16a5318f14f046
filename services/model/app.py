"""Wires the model service: one Ray Serve deployment that answers gRPC and HTTP."""

from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from typing import Any, cast

import ray
from ray import serve
from ray.exceptions import RayError

from soliloquy.runtime.traces.opening import TraceSettings, recorded_traces
from soliloquy.v1.model_pb2 import Adapter
from soliloquy_services.model import openai
from soliloquy_services.model.adapter_catalog import AdapterCatalog, CatalogUnavailable, SharedAdapters
from soliloquy_services.model.backend import ModelBackend
from soliloquy_services.model.engines.engine import EngineFailed
from soliloquy_services.model.handler import ModelHandler
from soliloquy_services.model.servicer import ModelServicer
from soliloquy_services.model.settings import ServingSettings
from soliloquy_services.model.shared_metrics import replica_environment

_NAME = "model"
# On top of the health check's interval: on a busy machine an engine step delays the answer.
_HEALTH_PATIENCE_SECONDS = 10.0
_WAIT_LOOP_SECONDS = 0.2
# Requests go to the least busy replica: one that refused them at once would soon attract all of them.
_FAULT_SECONDS = 1.0


class ModelReplica(ModelServicer):
    async def __init__(  # type: ignore[misc]
        self, build: Callable[[], ModelBackend], adapters: list[Adapter], traces: TraceSettings
    ) -> None:
        self._recording = ExitStack()
        self._recording.enter_context(recorded_traces(traces))
        self._backend = build()
        await self._backend.start()
        replica = serve.get_replica_context().replica_id.unique_id
        catalog = cast(AdapterCatalog, _CatalogActor(adapters))
        self._shared = SharedAdapters(self._backend, catalog, replica=replica)
        await self._shared.start()
        super().__init__(ModelHandler(self._backend, self._shared, fault_seconds=_FAULT_SECONDS))

    def __serve_build_asgi_app__(self) -> Any:
        return openai.application(self._handler, self._stop)

    def check_health(self) -> None:
        if fault := self._backend.fault or self._shared.fault:
            raise EngineFailed(fault)

    async def _stop(self) -> None:
        await self._shared.stop()
        await self._backend.stop()
        self._recording.close()


class _CatalogActor:
    """Calls the adapter catalog, a Ray actor that all replicas share and the first of them starts."""

    def __init__(self, adapters: list[Adapter]) -> None:
        catalog: Any = ray.remote(AdapterCatalog)
        self._actor = catalog.options(
            name="adapters",
            namespace="soliloquy",
            get_if_exists=True,
            lifetime="detached",
            num_cpus=0,
            max_restarts=-1,
            # Each replica keeps a call open nearly all the time.
            max_concurrency=1000,
        ).remote(adapters)

    def __getattr__(self, method: str) -> Callable[..., Awaitable[Any]]:
        async def call(*arguments: Any) -> Any:
            try:
                return await getattr(self._actor, method).remote(*arguments)
            except RayError as error:
                raise CatalogUnavailable(
                    f"the shared list of adapters cannot be reached ({type(error).__name__}); ask again"
                ) from error

        return call


def application(build: Callable[[], ModelBackend], settings: ServingSettings) -> Any:
    """Returns the deployment; each replica calls `build` for its own backend."""
    deployment: Any = serve.deployment(
        name=_NAME,
        **_replicas(settings),
        max_ongoing_requests=settings.max_ongoing,
        max_queued_requests=settings.max_queued,
        backpressure_config={"status_code": 429, "retry_after_s": 1},
        graceful_shutdown_timeout_s=settings.grace,
        graceful_shutdown_wait_loop_s=_WAIT_LOOP_SECONDS,
        health_check_period_s=settings.health_seconds,
        health_check_timeout_s=settings.health_seconds + _HEALTH_PATIENCE_SECONDS,
        ray_actor_options={"num_cpus": 1, "num_gpus": settings.gpus, **replica_environment()},
        # An error that keeps the first replica from starting would stop all of them.
        max_constructor_retry_count=1,
        logging_config={"enable_access_log": False},
    )
    adapters = [Adapter(name=name, path=path) for name, path in settings.adapters.items()]
    ingress: Any = serve.ingress()
    return deployment(ingress(ModelReplica)).bind(build, adapters, settings.traces)


def _replicas(settings: ServingSettings) -> dict[str, Any]:
    if settings.min_replicas == settings.max_replicas:
        return {"num_replicas": settings.min_replicas}
    return {
        "autoscaling_config": {
            "min_replicas": settings.min_replicas,
            "max_replicas": settings.max_replicas,
            "target_ongoing_requests": settings.target_ongoing,
        }
    }
