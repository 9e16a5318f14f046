"""The picture of the pipeline, once a second for as long as somebody looks."""

from collections.abc import AsyncIterator
from contextlib import aclosing

from starlette.responses import Response

from services.gateway.http.answers import Encoder
from services.gateway.http.asked import Asked
from services.gateway.http.routes import Own
from services.gateway.http.streams import event_of
from services.gateway.service import Gateway
from soliloquy.v1.gateway_pb2 import Pipeline


def watching_pipeline(gateway: Gateway) -> Own:
    encoded = Encoder()

    async def events() -> AsyncIterator[bytes]:
        async with aclosing(gateway.watch_pipeline()) as pictures:
            async for picture in pictures:
                yield event_of("pipeline", encoded(picture))

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
