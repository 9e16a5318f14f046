"""A replica's part in the shared adapters: it holds what is on the shelf, and puts there what it is asked to load."""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from typing import Protocol

from services.model.adapter_catalog import LOOK_SECONDS, CatalogEntry, ReplicaStatus
from services.model.backend import ModelBackend
from services.model.engines.engine import EngineFailed, EngineRefused, MissingWeights, UnknownAdapter
from soliloquy.v1.model_pb2 import Adapter

_log = logging.getLogger(__name__)
_PAUSE_SECONDS = 0.5


class CatalogUnavailable(EngineFailed):
    """The shelf cannot be reached; it is started again by itself."""


class Catalog(Protocol):
    """`services.model.adapter_catalog.AdapterCatalog`, in this process or behind an actor handle."""

    async def follow(self, standing: ReplicaStatus, patience: float) -> tuple[int, list[CatalogEntry]]: ...

    async def put(self, adapter: CatalogEntry) -> str: ...

    async def take(self, name: str) -> bool: ...

    async def leave(self, replica: str) -> None: ...


class SharedAdapters:
    """Loads and unloads for all replicas at once."""

    def __init__(self, backend: ModelBackend, catalog: Catalog, *, replica: str) -> None:
        self._backend = backend
        self._catalog = catalog
        self._standing = ReplicaStatus(replica=replica, version=0)
        self._following: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Returns when this replica has every adapter on the shelf; raises what keeps it from one of them."""
        version, kept = await self._catalog.follow(self._standing, 0.0)
        await self._hold(version, kept)
        if self._standing.failed:
            raise MissingWeights("; ".join(self._standing.failed.values()))
        self._following = asyncio.create_task(self._follow())

    @property
    def fault(self) -> str:
        """Why this replica does not hear of adapters any more; empty while it does."""
        if self._following is None or not self._following.done():
            return ""
        return f"the shared adapters are not followed any more: {self._following.exception()!r}"

    async def stop(self) -> None:
        if self._following:
            self._following.cancel()
        await self._catalog.leave(self._standing.replica)

    async def load_adapter(self, adapter: Adapter) -> Adapter:
        """Tried here first: what this engine refuses, no other replica is asked to load."""
        loaded = await self._backend.load_adapter(adapter)
        failure = await self._catalog.put(CatalogEntry(name=loaded.name, path=loaded.path, digest=loaded.digest))
        if failure:
            raise MissingWeights(f"another replica could not load it: {failure}")
        return loaded

    async def unload_adapter(self, name: str) -> None:
        if not await self._catalog.take(name):
            raise UnknownAdapter(f"no adapter {name!r} is loaded; loaded are: {self._names()}")

    async def _follow(self) -> None:
        while True:
            try:
                version, kept = await self._catalog.follow(self._standing, LOOK_SECONDS)
                if version != self._standing.version:
                    await self._catch_up(version, kept)
            except CatalogUnavailable as error:
                _log.warning("%s", error)
                await asyncio.sleep(_PAUSE_SECONDS)

    async def _catch_up(self, version: int, kept: Sequence[CatalogEntry]) -> None:
        """Says meanwhile that it is still there: loading may take long."""
        holding = asyncio.create_task(self._hold(version, kept))
        while not (await asyncio.wait({holding}, timeout=LOOK_SECONDS))[0]:
            with contextlib.suppress(CatalogUnavailable):
                await self._catalog.follow(self._standing, 0.0)
        holding.result()

    async def _hold(self, version: int, kept: Sequence[CatalogEntry]) -> None:
        held = {adapter.name: adapter for adapter in self._backend.adapters()}
        failed = {}
        for name in held.keys() - {adapter.name for adapter in kept}:
            await self._backend.unload_adapter(name)
        for adapter in kept:
            if adapter.name in held and _same(held[adapter.name], adapter):
                continue
            try:
                wanted = Adapter(name=adapter.name, path=adapter.path, digest=adapter.digest)
                await self._backend.load_adapter(wanted)
            except (EngineRefused, EngineFailed) as error:
                _log.error("adapter %s cannot be loaded: %s", adapter.name, error)
                failed[adapter.name] = str(error)
        replica = self._standing.replica
        self._standing = ReplicaStatus(replica=replica, version=version, kept=tuple(kept), failed=failed)

    def _names(self) -> str:
        return ", ".join(sorted(adapter.name for adapter in self._backend.adapters())) or "none"


def _same(held: Adapter, kept: CatalogEntry) -> bool:
    return held.digest == kept.digest if kept.digest else held.path == kept.path
