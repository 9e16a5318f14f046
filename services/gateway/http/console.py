"""What only the console asks for: the pipeline as it changes, and a conversation ready to be drawn."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from starlette.responses import Response

from services.gateway.http.answers import Encoder, answered
from services.gateway.http.asked import Asked
from services.gateway.http.routes import Own
from services.gateway.http.streams import event_of
from services.gateway.service import Gateway
from soliloquy.v1.gateway_pb2 import GetConversationRequest, GetConversationResponse, Pipeline


def watch_pipeline(gateway: Gateway) -> Own:
    encoded = Encoder()

    async def events() -> AsyncIterator[bytes]:
        async with aclosing(gateway.watch_pipeline()) as snapshots:
            async for snapshot in snapshots:
                yield event_of("pipeline", encoded(snapshot))

    async def watch(asked: Asked) -> Response:
        return await asked.streamed(events())

    return Own(
        method="GET",
        path="/v1/pipeline/watch",
        action="WatchPipeline",
        summary="What waits where, once a second.",
        handler=watch,
        answer=Pipeline.DESCRIPTOR,
        media="text/event-stream",
    )


def conversation_view(gateway: Gateway) -> Own:
    async def look(asked: Asked) -> Response:
        request = GetConversationRequest(run=asked.named("run"), conversation=asked.named("conversation"))
        found = await gateway.get_conversation(request)
        return answered(await asyncio.to_thread(_view, found))

    return Own(
        method="GET",
        path="/v1/runs/{run}/conversations/{conversation}/view",
        action="ViewConversation",
        summary="A finished conversation as the console draws it.",
        handler=look,
    )


def _view(found: GetConversationResponse) -> dict[str, Any]:
    # Imported here because it loads Arrow, which no start should wait for.
    from soliloquy.dataset import view

    conversation = found.conversation
    reasons = None if found.accepted else found.reasons
    return {
        "recipe": conversation.run.recipe,
        "conversation": view.conversation_view(conversation, reasons=reasons, flags=found.flags),
    }
