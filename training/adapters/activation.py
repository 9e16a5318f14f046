"""Activates an adapter: tries it with canaries, loads it on every replica, then records it; and rolls back."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

from soliloquy.runtime.answers import Answer, Unreadable
from soliloquy.runtime.ask import Prompt
from soliloquy.v1.model_pb2 import Adapter, GenerateRequest, Sampling
from soliloquy_training.adapters.registry import Active, NotActivated, Registry, activation_of
from soliloquy_training.adapters.serving import ModelService
from soliloquy_training.adapters.version import Version

_MAX_TOKENS = 600


@dataclass(frozen=True, kw_only=True, slots=True)
class Canary:
    role: str
    prompt: Prompt
    answer: type[Answer]

    def request(self, adapter: str) -> GenerateRequest:
        return GenerateRequest(
            role=self.role,
            prompt=self.prompt.name,
            messages=self.prompt.messages,
            schema=self.answer.json_schema(),
            sampling=Sampling(temperature=0.0, top_p=1.0, max_tokens=_MAX_TOKENS),
            adapter=adapter,
        )

    def complaint(self, text: str) -> str:
        """Returns why an answer is unusable, or an empty string."""
        try:
            self.answer.read(text)
        except Unreadable as unreadable:
            return f"{self.prompt.name}: {unreadable}"
        return ""


@dataclass(frozen=True, kw_only=True)
class Activation:
    registry: Registry
    service: ModelService
    # A folder that all replicas read, for copies from a registry in an object store.
    cache: Path | None = None

    async def activate(self, version: Version, canaries: Sequence[Canary], *, readable: float) -> Active:
        """Activates a version; `readable` is the share of the canaries' answers that must be readable."""
        before = self.registry.active().get(version.name)
        if before and before.version == version.id:
            following = before
        else:
            following = activation_of(version, (*before.before, before.version) if before else ())
        await self._check_base(version)
        adapter = self._adapter(version)
        tried = deepcopy(adapter)
        # Only the canaries ask for it by this name.
        tried.name += ".canary"
        await self.service.load(tried)
        try:
            await self._run_canaries(tried, version, canaries, readable)
        finally:
            await self.service.unload(tried.name)
        await self._switch(adapter, version.name, following, before)
        return following

    async def roll_back(self, name: str) -> Active:
        """Returns to the version that was active before, which was tried at that time."""
        active = self.registry.active().get(name)
        if active is None or not active.before:
            raise NotActivated(f"no earlier version of {name!r} to roll back to")
        version = self.registry.find(active.before[-1])
        following = activation_of(version, active.before[:-1])
        await self._switch(self._adapter(version), name, following, active)
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
            raise NotActivated(
                f"{version.id} was trained on the base {version.base_digest[:12]}; the model service serves {served}"
            )

    async def _run_canaries(
        self, tried: Adapter, version: Version, canaries: Sequence[Canary], readable: float
    ) -> None:
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
                f"{version.id}: {sound} of {len(canaries)} canary answers were readable, fewer than {readable:.0%}; "
                f"the first unreadable one: {complaints[0]}"
            )

    async def _switch(self, adapter: Adapter, name: str, following: Active, before: Active | None) -> None:
        """Loads the adapter everywhere, then records it; if that fails, reloads the adapter that was active before."""
        await self.service.load(adapter)
        try:
            self.registry.activate(name, following, instead_of=before)
        except BaseException:
            if before:
                await self.service.load(self._adapter(self.registry.find(before.version)))
            else:
                await self.service.unload(name)
            raise
