"""Keeps a replica's adapters in step with the shared catalog, and adds those that the replica is asked to load."""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from typing import Protocol

from soliloquy.v1.model_pb2 import Adapter
from soliloquy_services.model.adapter_catalog import LOOK_SECONDS, ReplicaStatus
from soliloquy_services.model.backend import ModelBackend
from soliloquy_services.model.engines.engine import EngineFailed, EngineRefused, MissingWeights, UnknownAdapter

_log = logging.getLogger(__name__)
_PAUSE_SECONDS = 0.5


class CatalogUnavailable(EngineFailed):
    """The catalog is unreachable; Ray restarts it."""


class Catalog(Protocol):
    """`soliloquy_services.model.adapter_catalog.AdapterCatalog`, in this process or behind an actor handle."""

    async def follow(self, status: ReplicaStatus, patience: float) -> tuple[int, list[Adapter]]: ...

    async def put(self, adapter: Adapter) -> str: ...

    async def take(self, name: str) -> bool: ...

    async def leave(self, replica: str) -> None: ...


class SharedAdapters:
    """Loads and unloads adapters on all replicas at once."""

    def __init__(self, backend: ModelBackend, catalog: Catalog, *, replica: str) -> None:
        self._backend = backend
        self._catalog = catalog
        self._status = ReplicaStatus(replica=replica, version=0)
        self._following: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Returns when this replica has every adapter of the catalog; raises MissingWeights if one fails to load."""
        version, wanted = await self._catalog.follow(self._status, 0.0)
        await self._load(version, wanted)
        if self._status.failed:
            raise MissingWeights("; ".join(self._status.failed.values()))
        self._following = asyncio.create_task(self._follow())

    @property
    def fault(self) -> str:
        """Why this replica stopped following the catalog; empty while it follows."""
        if self._following is None or not self._following.done():
            return ""
        return f"stopped following the adapter catalog: {self._following.exception()!r}"

    async def stop(self) -> None:
        if self._following:
            self._following.cancel()
        await self._catalog.leave(self._status.replica)

    async def load_adapter(self, adapter: Adapter) -> Adapter:
        """Tries it here first: other replicas are not asked for an adapter that this engine refuses."""
        loaded = await self._backend.load_adapter(adapter)
        failure = await self._catalog.put(loaded)
        if failure:
            raise MissingWeights(f"another replica could not load the adapter: {failure}")
        return loaded

    async def unload_adapter(self, name: str) -> None:
        if not await self._catalog.take(name):
            raise UnknownAdapter(f"no adapter {name!r} is loaded; loaded are: {self._names()}")

    async def _follow(self) -> None:
        while True:
            try:
                version, wanted = await self._catalog.follow(self._status, LOOK_SECONDS)
                if version != self._status.version:
                    await self._catch_up(version, wanted)
            except CatalogUnavailable as error:
                _log.warning("%s", error)
                await asyncio.sleep(_PAUSE_SECONDS)

    async def _catch_up(self, version: int, wanted: Sequence[Adapter]) -> None:
        """Reports to the catalog meanwhile, because loading may take long."""
        loading = asyncio.create_task(self._load(version, wanted))
        while not (await asyncio.wait({loading}, timeout=LOOK_SECONDS))[0]:
            with contextlib.suppress(CatalogUnavailable):
                await self._catalog.follow(self._status, 0.0)
        loading.result()

    async def _load(self, version: int, wanted: Sequence[Adapter]) -> None:
        held = {adapter.name: adapter for adapter in self._backend.adapters()}
        failed = {}
        for name in held.keys() - {adapter.name for adapter in wanted}:
            await self._backend.unload_adapter(name)
        for adapter in wanted:
            if adapter.name in held and _same(held[adapter.name], adapter):
                continue
            try:
                await self._backend.load_adapter(adapter)
            except (EngineRefused, EngineFailed) as error:
                _log.error("cannot load adapter %s: %s", adapter.name, error)
                failed[adapter.name] = str(error)
        replica = self._status.replica
        self._status = ReplicaStatus(replica=replica, version=version, adapters=tuple(wanted), failed=failed)

    def _names(self) -> str:
        return ", ".join(sorted(adapter.name for adapter in self._backend.adapters())) or "none"


def _same(held: Adapter, wanted: Adapter) -> bool:
    return held.digest == wanted.digest if wanted.digest else held.path == wanted.path
