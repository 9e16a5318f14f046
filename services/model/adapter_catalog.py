"""The catalog of adapters that every replica must have; each replica follows it."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from soliloquy.v1.model_pb2 import Adapter

# An idle replica asks again after this long; one that has been silent for much longer counts as gone.
LOOK_SECONDS = 2.0
GONE_SECONDS = 10.0


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
