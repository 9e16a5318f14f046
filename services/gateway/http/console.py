"""Routes for the console alone: the pipeline as it changes, and a conversation ready to be drawn."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from starlette.responses import Response

from services.gateway.http.context import RequestContext
from services.gateway.http.responses import CachedEncoder, json_response
from services.gateway.http.routes import HttpRoute
from services.gateway.http.streams import encoded_event
from services.gateway.service import Gateway
from soliloquy.v1.gateway_pb2 import GetConversationRequest, GetConversationResponse, Pipeline


def watch_pipeline(gateway: Gateway) -> HttpRoute:
    encoder = CachedEncoder()

    async def events() -> AsyncIterator[bytes]:
        async with aclosing(gateway.watch_pipeline()) as snapshots:
            async for snapshot in snapshots:
                yield encoded_event("pipeline", encoder(snapshot))

    async def watch(context: RequestContext) -> Response:
        return await context.stream(events())

    return HttpRoute(
        "GET",
        "/v1/pipeline/watch",
        "WatchPipeline",
        "What waits where, once a second.",
        watch,
        answer=Pipeline.DESCRIPTOR,
        media="text/event-stream",
    )


def conversation_view(gateway: Gateway) -> HttpRoute:
    async def show_view(context: RequestContext) -> Response:
        request = GetConversationRequest(
            run=context.path_parameter("run"), conversation=context.path_parameter("conversation")
        )
        response = await gateway.get_conversation(request)
        return json_response(await asyncio.to_thread(_view, response))

    return HttpRoute(
        "GET",
        "/v1/runs/{run}/conversations/{conversation}/view",
        "ViewConversation",
        "A finished conversation as the console draws it.",
        show_view,
    )


def _view(response: GetConversationResponse) -> dict[str, Any]:
    # Imported here because it loads Arrow, which no start should wait for.
    from soliloquy.dataset import view

    conversation = response.conversation
    reasons = None if response.accepted else response.reasons
    return {
        "recipe": conversation.run.recipe,
        "conversation": view.conversation_view(conversation, reasons=reasons, flags=response.flags),
    }
