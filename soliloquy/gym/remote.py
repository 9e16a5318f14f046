"""Thousands of episodes at once: the services of a gateway play them, and ask the policy over gRPC.

    async with RemoteGym("127.0.0.1:8081", policy, listen="127.0.0.1:50070") as gym:
        async for conversation, reward in gym.episodes(1000, problems="physics", seed=17):
            print(conversation.id, reward.total)

The services have model settings that send the tutor's roles to the policy's address (engine "ray"). Their calls are
repeated until they are answered, and one that comes again gets the answer that it had: a killed worker, gateway or
policy costs no more than time.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

from soliloquy.client import AsyncRuns, is_over
from soliloquy.gym.episode import Observation
from soliloquy.gym.gym import TUTOR
from soliloquy.gym.policy import completion_of
from soliloquy.gym.rewards import Reward, reward_of, weights_of
from soliloquy.runtime.grpc_server import GrpcServer
from soliloquy.runtime.retry import Transient
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.model_pb2 import Completion, GenerateRequest
from soliloquy.v1.model_pb2_grpc import add_ModelServiceServicer_to_server

# Answers an observation.
RemotePolicy = Callable[[Observation], Awaitable[str | Completion]]
_SERVICE = "soliloquy.v1.ModelService"
_MOST_BYTES = 4 * 1024 * 1024
# Latest first, a list repeats what was seen before; some may still come between.
_SEEN_IN_A_ROW = 200


class FinishedEpisode(NamedTuple):
    conversation: Conversation
    reward: Reward


@dataclass(frozen=True, slots=True)
class _PolicyModel:
    policy: RemotePolicy

    async def generate(self, request: GenerateRequest) -> Completion:
        try:
            return completion_of(await self.policy(Observation.of(request)))
        except Exception as error:
            # The service asks again.
            raise Transient(f"the policy failed: {type(error).__name__}: {error}") from error


class RemoteGym:
    def __init__(
        self,
        gateway: str,
        policy: RemotePolicy,
        *,
        listen: str = "127.0.0.1:50070",
        token: str = "",
        roles: Collection[str] = TUTOR,
        weights: Mapping[str, float] | Path | None = None,
    ) -> None:
        self._policy = policy
        self._listen = listen
        self._runs = AsyncRuns(gateway, token=token)
        self._roles = roles
        self._weights = weights_of(weights)
        self._opened = AsyncExitStack()

    async def __aenter__(self) -> Self:
        from soliloquy_services.model.backend import ScriptedBackend
        from soliloquy_services.model.handler import ModelHandler
        from soliloquy_services.model.servicer import ModelServicer

        servicer = ModelServicer(ModelHandler(ScriptedBackend(_PolicyModel(self._policy), name="policy")))
        server = GrpcServer(
            _SERVICE,
            lambda grpc: add_ModelServiceServicer_to_server(servicer, grpc),
            lambda: None,
            most_bytes=_MOST_BYTES,
        )
        # The address on which the services reach the policy.
        self.address = await server.start(self._listen)
        self._opened.push_async_callback(server.stop)
        await self._opened.enter_async_context(self._runs)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._opened.aclose()

    async def episodes(
        self,
        conversations: int,
        *,
        problems: str,
        recipe: str = "",
        language: str = "",
        seed: int = 0,
        in_flight: int = 256,
    ) -> AsyncGenerator[FinishedEpisode, None]:
        """Starts a run and yields so many conversations as they end, whether their recipe accepts them or not."""
        run = await self._runs.start(
            recipe=recipe,
            problems=problems,
            language=language,
            conversations=conversations,
            seed=seed,
            in_flight=min(in_flight, conversations),
            max_attempts=1,
        )
        seen = set[str]()
        try:
            async with aclosing(self._runs.watch(run.id)) as statuses:
                async for _ in statuses:
                    async with aclosing(self._finished(run.id, seen)) as finished:
                        async for episode in finished:
                            yield episode
                            if len(seen) == conversations:
                                return
        finally:
            if not is_over(await self._runs.get(run.id)):
                await self._runs.cancel(run.id)

    async def _finished(self, run: str, seen: set[str]) -> AsyncGenerator[FinishedEpisode, None]:
        repeated = 0
        async with aclosing(self._runs.conversations(run)) as listed:
            async for one in listed:
                repeated = repeated + 1 if one.id in seen else 0
                if repeated > _SEEN_IN_A_ROW:
                    return
                if one.id not in seen:
                    seen.add(one.id)
                    whole = (await self._runs.conversation(run, one.id)).conversation
                    yield FinishedEpisode(whole, reward_of(whole, self._roles, self._weights))
