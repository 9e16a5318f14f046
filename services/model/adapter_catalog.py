"""The adapters that all replicas are to have, kept in one place that each of them follows."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

# A replica that has nothing to learn asks again after so long; one that is not heard of for much longer is gone.
LOOK_SECONDS = 2.0
GONE_SECONDS = 10.0


@dataclass(frozen=True, kw_only=True, slots=True)
class CatalogEntry:
    """An adapter on the shelf; an empty digest is that of whatever lies at the path."""

    name: str
    path: str
    digest: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplicaStatus:
    """What a replica tells of itself: up to which version of the shelf it is, and what it could not load of that."""

    replica: str
    version: int
    kept: Sequence[CatalogEntry] = ()
    # Name to the line that says why.
    failed: Mapping[str, str] = field(default_factory=dict)


class AdapterCatalog:
    """Lives as an actor of its own: a call to one replica changes it, and all replicas come to hold what is on it."""

    def __init__(self, kept: Sequence[CatalogEntry], clock: Callable[[], float] = time.monotonic) -> None:
        self._version = 1
        self._kept = {adapter.name: adapter for adapter in kept}
        self._clock = clock
        self._standings: dict[str, tuple[float, ReplicaStatus]] = {}
        self._changed = asyncio.Condition()

    async def follow(self, standing: ReplicaStatus, patience: float = LOOK_SECONDS) -> tuple[int, list[CatalogEntry]]:
        """The version, and what is on the shelf: at once where the replica is behind, else when that changes."""
        async with self._changed:
            if standing.version > self._version:
                # This shelf was lost and is another; a replica remembers what was on it.
                self._version, self._kept = standing.version, {adapter.name: adapter for adapter in standing.kept}
            self._standings[standing.replica] = (self._clock(), standing)
            self._changed.notify_all()
            await self._wait(lambda: self._version > standing.version, patience)
            return self._version, list(self._kept.values())

    async def put(self, adapter: CatalogEntry) -> str:
        """Returns when every replica has it; or why one cannot, and then all have what they had before."""
        before = self._kept.get(adapter.name)
        failure = await self._change(adapter.name, adapter)
        if failure:
            await self._change(adapter.name, before)
        return failure

    async def take(self, name: str) -> bool:
        """Returns when no replica has it any more; False where none had it."""
        if name not in self._kept:
            return False
        await self._change(name, None)
        return True

    async def leave(self, replica: str) -> None:
        """Of a replica that ends: nobody is to wait for it."""
        async with self._changed:
            self._standings.pop(replica, None)
            self._changed.notify_all()

    async def _change(self, name: str, adapter: CatalogEntry | None) -> str:
        async with self._changed:
            if adapter:
                self._kept[name] = adapter
            else:
                self._kept.pop(name, None)
            self._version += 1
            version = self._version
            self._changed.notify_all()
            while not self._caught_up(version):
                # Nobody tells of a replica that died: it is gone when it has not been heard of.
                await self._wait(lambda: self._caught_up(version), LOOK_SECONDS)
            return next((standing.failed[name] for standing in self._present() if name in standing.failed), "")

    def _caught_up(self, version: int) -> bool:
        return all(standing.version >= version for standing in self._present())

    def _present(self) -> list[ReplicaStatus]:
        now = self._clock()
        return [standing for seen, standing in self._standings.values() if now - seen < GONE_SECONDS]

    async def _wait(self, condition: Callable[[], bool], patience: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self._changed.wait_for(condition)
