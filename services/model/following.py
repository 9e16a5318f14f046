"""A replica's part in the shared adapters: it holds what is on the shelf, and puts there what it is asked to load."""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from typing import Protocol

from services.model.answering import Answering
from services.model.engines.engine import EngineFailed, EngineRefused, MissingWeights, UnknownAdapter
from services.model.shelf import LOOK_SECONDS, Kept, Standing
from soliloquy.v1.model_pb2 import Adapter

_log = logging.getLogger(__name__)
_PAUSE_SECONDS = 0.5


class ShelfAway(EngineFailed):
    """The shelf cannot be reached; it is started again by itself."""


class OnShelf(Protocol):
    """`services.model.shelf.Shelf`, in this process or another; ShelfAway where it cannot be reached."""

    async def follow(self, standing: Standing, patience: float) -> tuple[int, list[Kept]]: ...

    async def put(self, adapter: Kept) -> str: ...

    async def take(self, name: str) -> bool: ...

    async def leave(self, replica: str) -> None: ...


class SharedAdapters:
    """Loads and unloads for all replicas at once."""

    def __init__(self, answering: Answering, shelf: OnShelf, *, replica: str) -> None:
        self._answering = answering
        self._shelf = shelf
        self._standing = Standing(replica=replica, version=0)
        self._following: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Returns when this replica has every adapter on the shelf; raises what keeps it from one of them."""
        version, kept = await self._shelf.follow(self._standing, 0.0)
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
        await self._shelf.leave(self._standing.replica)

    async def load_adapter(self, adapter: Adapter) -> Adapter:
        """Tried here first: what this engine refuses, no other replica is asked to load."""
        loaded = await self._answering.load_adapter(adapter)
        failure = await self._shelf.put(Kept(name=loaded.name, path=loaded.path, digest=loaded.digest))
        if failure:
            raise MissingWeights(f"another replica could not load it: {failure}")
        return loaded

    async def unload_adapter(self, name: str) -> None:
        if not await self._shelf.take(name):
            raise UnknownAdapter(f"no adapter {name!r} is loaded; loaded are: {self._names()}")

    async def _follow(self) -> None:
        while True:
            try:
                version, kept = await self._shelf.follow(self._standing, LOOK_SECONDS)
                if version != self._standing.version:
                    await self._catch_up(version, kept)
            except ShelfAway as error:
                _log.warning("%s", error)
                await asyncio.sleep(_PAUSE_SECONDS)

    async def _catch_up(self, version: int, kept: Sequence[Kept]) -> None:
        """Says meanwhile that it is still there: loading may take long."""
        holding = asyncio.create_task(self._hold(version, kept))
        while not (await asyncio.wait({holding}, timeout=LOOK_SECONDS))[0]:
            with contextlib.suppress(ShelfAway):
                await self._shelf.follow(self._standing, 0.0)
        holding.result()

    async def _hold(self, version: int, kept: Sequence[Kept]) -> None:
        held = {adapter.name: adapter for adapter in self._answering.adapters()}
        failed = {}
        for name in held.keys() - {adapter.name for adapter in kept}:
            await self._answering.unload_adapter(name)
        for adapter in kept:
            if adapter.name in held and _same(held[adapter.name], adapter):
                continue
            try:
                wanted = Adapter(name=adapter.name, path=adapter.path, digest=adapter.digest)
                await self._answering.load_adapter(wanted)
            except (EngineRefused, EngineFailed) as error:
                _log.error("adapter %s cannot be loaded: %s", adapter.name, error)
                failed[adapter.name] = str(error)
        replica = self._standing.replica
        self._standing = Standing(replica=replica, version=version, kept=tuple(kept), failed=failed)

    def _names(self) -> str:
        return ", ".join(sorted(adapter.name for adapter in self._answering.adapters())) or "none"


def _same(held: Adapter, kept: Kept) -> bool:
    return held.digest == kept.digest if kept.digest else held.path == kept.path
