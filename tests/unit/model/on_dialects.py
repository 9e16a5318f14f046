"""Whole conversations with a stand-in that has the dialect and the manners of a real endpoint."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.endpoint.server import FakeEndpoint
from benchmarks.endpoint.settings import EndpointSettings
from soliloquy.runtime.answers import is_refusal
from soliloquy.runtime.model.agreements import agreement_with
from soliloquy.runtime.model.opening import ModelByRole
from soliloquy.runtime.model.settings_file import shipped_models
from soliloquy.v1.conversation_pb2 import Conversation, Ending
from soliloquy.v1.events_pb2 import ConversationStarted
from soliloquy.v1.sandbox_pb2 import STATUS_ERROR, Execution, Job
from soliloquy_services.model.engines.noise import noise_of
from soliloquy_services.model.engines.scripted import ScriptedEngine
from tests.unit.model.hosted import asking
from tests.unit.scripted.growing import Desk, begun, finished

SEED = 11
AT_ONCE = 64


class Sandbox(Desk):
    """Says what is wrong with code that fails."""

    async def execute(self, job: Job) -> Execution:
        try:
            return await super().execute(job)
        except Exception as error:
            return Execution(status=STATUS_ERROR, error=f"{type(error).__name__}: {error}")


@dataclass(frozen=True, kw_only=True)
class Figures:
    conversations: int
    # Conversations that did not come to an end, or ended because of the model.
    lost: int
    why_lost: Sequence[str]
    given_up: int
    calls: int
    # Requests that the endpoint refused before it was asked in its dialect.
    adaptations: int
    asked_again: int
    # Without refusals and answers that a filter stopped or that were cut off.
    for_form: int
    with_thoughts: int


async def figures(dialect: str, conversations: int, *, settings: str | None = None) -> Figures:
    """Grows conversations through a client whose settings name the dialect, or another one."""
    fake = FakeEndpoint(ScriptedEngine(), EndpointSettings(dialect=dialect), ScriptedEngine(noise=noise_of("real")))
    agreement_with.cache_clear()
    async with asking(fake, model="scripted", dialect=dialect if settings is None else settings) as remote:
        models = shipped_models()
        model = ModelByRole(models, dict.fromkeys(models.endpoints, remote))
        places = asyncio.Semaphore(AT_ONCE)

        async def grown(ordinal: int) -> Conversation:
            async with places:
                started = ConversationStarted(conversation=begun(ordinal, seed=SEED))
                return await finished(started, engine=model, sandbox=Sandbox())

        ended = await asyncio.gather(*map(grown, range(conversations)), return_exceptions=True)
    whole = [one for one in ended if isinstance(one, Conversation)]
    calls = [call for one in whole for turn in one.turns for call in turn.calls]
    again = [raw for call in calls for raw in call.raw[:-1]]
    excused = fake.manners.seen["cut_off"] + fake.manners.seen["filtered"] + sum(map(is_refusal, again))
    return Figures(
        conversations=conversations,
        lost=len(ended) - len(whole),
        why_lost=sorted({repr(one) for one in ended if isinstance(one, BaseException)}),
        given_up=sum(one.ending == Ending.ENDING_UNPARSABLE for one in whole),
        calls=len(calls),
        adaptations=fake.refused,
        asked_again=len(again),
        for_form=len(again) - excused,
        with_thoughts=sum(any(call.reasoning) for call in calls),
    )
