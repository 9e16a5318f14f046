"""Putting an adapter into service, and taking it back: tried first, then on every replica, then on record."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from soliloquy.v1.model_pb2 import Adapter
from training.adapters.canary import Canary
from training.adapters.registry import Active, Registry, first_activation
from training.adapters.serving import ModelService
from training.adapters.version import Version

# Beside the name that requests give: nobody but the canary asks for it.
_TRIED = "{name}.canary"


class NotActivated(Exception):
    """What answers is what answered before; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Activation:
    registry: Registry
    service: ModelService
    # Where copies are kept that all replicas read, for a registry that is no folder.
    cache: Path | None = None

    async def activate(self, version: Version, canaries: Sequence[Canary], *, readable: float) -> Active:
        """`readable` is the share of the canaries' answers that must be of use."""
        before = self.registry.active().get(version.name)
        if before and before.version == version.id:
            following = before
        else:
            following = before.followed_by(version) if before else first_activation(version)
        await self._check_base(version)
        adapter = self._adapter(version)
        async with self._tried(adapter) as tried:
            await self._sing(tried, version, canaries, readable)
        await self._put(adapter, version.name, following, before)
        return following

    async def roll_back(self, name: str) -> Active:
        """To what was active before; it was tried then."""
        active = self.registry.active().get(name)
        if active is None or not active.before:
            raise NotActivated(f"nothing was active as {name!r} before: there is nothing to go back to")
        version = self.registry.find(active.before[-1])
        following = Active(version=version.id, since=first_activation(version).since, before=active.before[:-1])
        await self._put(self._adapter(version), name, following, active)
        return following

    def _adapter(self, version: Version) -> Adapter:
        return Adapter(
            name=version.name,
            path=str(self.registry.path(version, self.cache).resolve()),
            digest=version.digest,
            base_digest=version.base_digest,
        )

    async def _check_base(self, version: Version) -> None:
        info = await self.service.info()
        if info.digest != version.base_digest:
            served = f"{info.model}, {info.digest[:12]}" if info.digest else f"{info.model}, which has no weights"
            raise NotActivated(f"{version.id} was trained on the base {version.base_digest[:12]}; served is {served}")

    @asynccontextmanager
    async def _tried(self, adapter: Adapter) -> AsyncIterator[Adapter]:
        """Loaded under a name of its own for as long as it is tried."""
        tried = Adapter()
        tried.CopyFrom(adapter)
        tried.name = _TRIED.format(name=adapter.name)
        await self.service.load(tried)
        try:
            yield tried
        finally:
            await self.service.unload(tried.name)

    async def _sing(self, tried: Adapter, version: Version, canaries: Sequence[Canary], readable: float) -> None:
        complaints = []
        for canary in canaries:
            answer = await self.service.ask(canary.request(tried.name))
            if answer.adapter_digest != version.digest:
                raise NotActivated(f"a canary was answered by {answer.adapter_digest[:12]}, not by {version.id}")
            if complaint := canary.complaint(answer.text):
                complaints.append(complaint)
        sound = len(canaries) - len(complaints)
        if sound < readable * len(canaries):
            raise NotActivated(
                f"{version.id}: {sound} of {len(canaries)} canary answers could be read, {readable:.0%} are wanted; "
                f"the first that could not: {complaints[0]}"
            )

    async def _put(self, adapter: Adapter, name: str, following: Active, before: Active | None) -> None:
        """Loaded everywhere, then on record; where it cannot be recorded, what answered before answers again."""
        await self.service.load(adapter)
        try:
            self.registry.activate(name, following, instead_of=before)
        except BaseException:
            if before:
                await self.service.load(self._adapter(self.registry.find(before.version)))
            else:
                await self.service.unload(name)
            raise
