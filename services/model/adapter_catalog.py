"""The catalog of adapters that every replica must have, and the adapters that a replica holds."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from soliloquy.v1.model_pb2 import Adapter
from soliloquy_services.model.backend import ModelBackend
from soliloquy_services.model.engines.engine import EngineFailed, EngineRefused, MissingWeights, UnknownAdapter

# An idle replica asks again after this long; one that has been silent for much longer counts as gone.
LOOK_SECONDS = 2.0
GONE_SECONDS = 10.0
_PAUSE_SECONDS = 0.5

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplicaStatus:
    """A replica's report: the catalog version that it has, and the adapters that it could not load."""

    replica: str
    version: int
    # An empty digest accepts whatever weights the path holds.
    adapters: Sequence[Adapter] = ()
    # Adapter name to error message.
    failed: Mapping[str, str] = field(default_factory=dict)


class AdapterCatalog:
    """Runs as its own actor: a call to any replica changes it, and all replicas then load or unload accordingly."""

    def __init__(self, adapters: Sequence[Adapter], clock: Callable[[], float] = time.monotonic) -> None:
        self._version = 1
        self._adapters = {adapter.name: adapter for adapter in adapters}
        self._clock = clock
        self._statuses: dict[str, tuple[float, ReplicaStatus]] = {}
        self._changed = asyncio.Condition()

    async def follow(self, status: ReplicaStatus, patience: float = LOOK_SECONDS) -> tuple[int, list[Adapter]]:
        """Returns version and adapters: at once if the replica is behind, otherwise on a change or after `patience`."""
        async with self._changed:
            if status.version > self._version:
                # This actor was restarted and is empty; the replica still knows the catalog.
                self._version, self._adapters = status.version, {adapter.name: adapter for adapter in status.adapters}
            self._statuses[status.replica] = (self._clock(), status)
            self._changed.notify_all()
            await self._wait(lambda: self._version > status.version, patience)
            return self._version, list(self._adapters.values())

    async def put(self, adapter: Adapter) -> str:
        """Returns "" once every replica has the adapter, or an error after all have reverted."""
        before = self._adapters.get(adapter.name)
        failure = await self._change(adapter.name, adapter)
        if failure:
            await self._change(adapter.name, before)
        return failure

    async def take(self, name: str) -> bool:
        """Returns once no replica has the adapter; False if it was not in the catalog."""
        if name not in self._adapters:
            return False
        await self._change(name, None)
        return True

    async def leave(self, replica: str) -> None:
        """Forgets a replica that shuts down, so that nothing waits for it."""
        async with self._changed:
            self._statuses.pop(replica, None)
            self._changed.notify_all()

    async def _change(self, name: str, adapter: Adapter | None) -> str:
        async with self._changed:
            if adapter:
                self._adapters[name] = adapter
            else:
                self._adapters.pop(name, None)
            self._version += 1
            version = self._version
            self._changed.notify_all()
            while not self._caught_up(version):
                # A dead replica does not report its death: it counts as gone after a silence.
                await self._wait(lambda: self._caught_up(version), LOOK_SECONDS)
            return next((status.failed[name] for status in self._present() if name in status.failed), "")

    def _caught_up(self, version: int) -> bool:
        return all(status.version >= version for status in self._present())

    def _present(self) -> list[ReplicaStatus]:
        now = self._clock()
        return [status for seen, status in self._statuses.values() if now - seen < GONE_SECONDS]

    async def _wait(self, condition: Callable[[], bool], patience: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self._changed.wait_for(condition)


class CatalogUnavailable(EngineFailed):
    """The catalog is unreachable; Ray restarts it."""


class SharedAdapters:
    """Loads and unloads adapters on all replicas at once; the catalog may be behind the handle of an actor."""

    def __init__(self, backend: ModelBackend, catalog: AdapterCatalog, *, replica: str) -> None:
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
