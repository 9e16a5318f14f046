"""A gateway over a transport, and services beside it that finish a conversation as soon as it starts."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager

import soliloquy_services.curriculum.app
from soliloquy.runs.gateway import Plans
from soliloquy.runtime.events import Outcome, emit, first_event
from soliloquy.runtime.handling import Service
from soliloquy.runtime.model.settings_file import shipped_models
from soliloquy.runtime.reading import messages
from soliloquy.runtime.retry import Refused
from soliloquy.runtime.topics import TOPIC_OF
from soliloquy.runtime.transports.port import Transport
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Summary, TokenUse
from soliloquy.v1.events_pb2 import CallAudited, ConversationCollected, ConversationStarted, RunChanged, RunStored
from soliloquy.v1.gateway_pb2 import GetRunRequest, RunStatus, StartRunRequest
from soliloquy.v1.runs_pb2 import RunRequest
from soliloquy_services.gateway.service import Gateway
from soliloquy_services.gateway.settings import GatewaySettings
from tests.integration.transport.support import serving

# Why a conversation is rejected; empty for an accepted one.
Judge = Callable[[Conversation], list[str]]

PLANS = Plans(models=shipped_models(), noise="none", files=None)


def asked(request_id: str = "one", conversations: int = 6, max_attempts: int = 0) -> StartRunRequest:
    request = RunRequest(
        recipe="soliloquy",
        problems="arithmetic",
        conversations=conversations,
        in_flight=4,
        max_attempts=max_attempts,
    )
    return StartRunRequest(request=request, request_id=request_id)


@asynccontextmanager
async def opened(transport: Transport, settings: GatewaySettings | None = None) -> AsyncIterator[Gateway]:
    """A gateway that has taken up where everything stands, and drives."""
    gateway = Gateway(transport, PLANS, settings or GatewaySettings())
    async with gateway.at_work():
        yield gateway


class Collecting:
    """Stands for all services between the curriculum and whoever hears of what was collected."""

    def __init__(self, judge: Judge = lambda conversation: []) -> None:
        self._judge = judge
        self.seen: list[tuple[int, int]] = []
        # Problems whose conversations nobody can go through.
        self.broken: set[int] = set()
        # Conversations wait while it is not set.
        self.open = asyncio.Event()
        self.open.set()
        # No dataset is announced while it is not set.
        self.stored = asyncio.Event()
        self.stored.set()

    async def collect(self, event: ConversationStarted) -> Outcome:
        conversation = event.conversation
        await self.open.wait()
        if conversation.ordinal in self.broken:
            raise Refused(f"problem {conversation.ordinal} breaks whatever touches it")
        self.seen.append((conversation.ordinal, conversation.attempt))
        reasons = self._judge(conversation)
        judged = Conversation()
        judged.CopyFrom(conversation)
        judged.ending = Ending.ENDING_SOLVED
        summary = Summary(
            topic=conversation.problem.topic,
            question=conversation.problem.question,
            turns=3,
            python_turns=1,
            flags=len(reasons),
            tokens={"tutor": TokenUse(prompt=10, completion=2)},
            calls=5,
            seconds=3.0,
        )
        return emit(ConversationCollected(conversation=judged, accepted=not reasons, reasons=reasons, summary=summary))

    async def store(self, transport: Transport) -> None:
        """Announces that datasets hold all that their runs count."""
        async with aclosing(messages(transport.follow(TOPIC_OF[RunChanged].name))) as changes:
            async for _, changed in changes:
                assert isinstance(changed, RunChanged)
                if changed.HasField("progress"):
                    await self.stored.wait()
                    held = changed.progress.accepted + changed.progress.rejected
                    stored = RunStored(run=changed.run, conversations=held)
                    await transport.publish([first_event(stored, source="test", time=time.time())])


@asynccontextmanager
async def growing(transport: Transport, collecting: Collecting) -> AsyncIterator[None]:
    collector = Service(name="collector", handlers={ConversationStarted: collecting.collect}, max_in_flight=8)
    curriculum = soliloquy_services.curriculum.app.service()
    async with AsyncExitStack() as stages:
        for service in (curriculum, collector):
            await stages.enter_async_context(serving(service, transport, grace=0.0))
        storing = asyncio.create_task(collecting.store(transport))
        yield
        storing.cancel()
        await asyncio.wait([storing])


def audited(number: int) -> CallAudited:
    return CallAudited(at=time.time(), who=f"caller {number}", what="CancelRun", target="a-run", outcome="done")


async def status_of(gateway: Gateway, run_id: str) -> RunStatus:
    return await gateway.get_run(GetRunRequest(run=run_id))
