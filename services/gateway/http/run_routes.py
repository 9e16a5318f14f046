"""The routes of runs: the RPCs of `RunService`, and two for the console alone."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from functools import partial
from typing import Any

from google.protobuf.descriptor import MethodDescriptor
from starlette.datastructures import QueryParams
from starlette.responses import Response

from soliloquy.v1.gateway_pb2 import (
    GetConversationRequest,
    GetConversationResponse,
    Pipeline,
    RunForecast,
    StartRunRequest,
)
from soliloquy_services.gateway.access.access import target_of
from soliloquy_services.gateway.grpc_server import SERVICE, method_name
from soliloquy_services.gateway.http.answers import CachedEncoder, Stream, encoded_event, event, json_response
from soliloquy_services.gateway.http.openapi import comments
from soliloquy_services.gateway.http.parsing import parse_message
from soliloquy_services.gateway.http.routes import DRY_RUN, HttpRoute, Method, RequestContext
from soliloquy_services.gateway.refusals import Code, Refusal, answered
from soliloquy_services.gateway.service import Gateway
from soliloquy_services.gateway.watching import Skipped

# The method, path and name of each RPC, and the event name of a stream's messages. Fields in braces come from the path,
# the others from the body or, for a GET, from the query.
_RPCS: tuple[tuple[Method, str, str, str], ...] = (
    ("GET", "/v1/runs", "ListRuns", ""),
    ("POST", "/v1/runs", "StartRun", ""),
    # Comes before {run}: no run has this id.
    ("GET", "/v1/runs/watch", "WatchRuns", "runs"),
    ("GET", "/v1/runs/{run}", "GetRun", ""),
    ("DELETE", "/v1/runs/{run}", "DeleteRun", ""),
    ("POST", "/v1/runs/{run}/cancel", "CancelRun", ""),
    ("POST", "/v1/runs/{run}/pause", "PauseRun", ""),
    ("POST", "/v1/runs/{run}/resume", "ResumeRun", ""),
    ("GET", "/v1/runs/{run}/watch", "WatchRun", "run"),
    ("GET", "/v1/runs/{run}/conversations", "ListConversations", ""),
    ("GET", "/v1/runs/{run}/conversations/tail", "TailConversations", "conversation"),
    ("GET", "/v1/runs/{run}/conversations/{conversation}", "GetConversation", ""),
    ("GET", "/v1/dead-letters", "ListDeadLetters", ""),
    ("GET", "/v1/dead-letters/causes", "ListDeadLetterCauses", ""),
    ("POST", "/v1/dead-letters/replay", "ReplayDeadLetters", ""),
    ("POST", "/v1/dead-letters/{id}/replay", "ReplayDeadLetter", ""),
    ("GET", "/v1/pipeline", "GetPipeline", ""),
    ("GET", "/v1/audit", "ListAudit", ""),
    ("GET", "/v1/templates", "ListTemplates", ""),
)


_DRY = {"": True, "true": True, "false": False}


class RunRoutes:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._encode = CachedEncoder()

    def all(self) -> Iterator[HttpRoute]:
        for method, path, name, event_name in _RPCS:
            rpc = SERVICE.methods_by_name[name]
            yield HttpRoute(
                method,
                path,
                name,
                partial(self._call, rpc, event_name),
                body=rpc.input_type if method == "POST" and "{" not in path else None,
                answer=rpc.output_type,
                query=rpc.input_type if method == "GET" else None,
                media=str(Stream.media_type) if event_name else "application/json",
                event=event_name,
                statuses=(201, 200) if name == "StartRun" else (200,),
                dry_answer=RunForecast.DESCRIPTOR if name == "StartRun" else None,
                summary=comments().get(f"RunService.{name}", ""),
            )
        watched, events = Pipeline.DESCRIPTOR, str(Stream.media_type)
        yield HttpRoute(
            "GET", "/v1/pipeline/watch", "WatchPipeline", self._watch_pipeline, answer=watched, media=events
        )
        view = "/v1/runs/{run}/conversations/{conversation}/view"
        yield HttpRoute("GET", view, "ViewConversation", self._show_view)

    async def _call(self, rpc: MethodDescriptor, event_name: str, context: RequestContext) -> Response:
        request, is_post = context.request, context.request.method == "POST"
        is_dry = is_post and _only_dry_run(request.query_params, may_be_dry=rpc.name == "StartRun")
        body = await context.body() if is_post else {}
        message = parse_message(rpc.input_type, body, request.path_params, None if is_post else request.query_params)
        context.audit.target = context.audit.target or target_of(message)
        call = getattr(self._gateway, method_name(rpc.name))
        if event_name:
            return await context.stream(self._events(event_name, call(message)))
        async with answered():
            if isinstance(message, StartRunRequest) and is_dry:
                context.audit.what = "ForecastRun"
                return json_response(await self._gateway.forecast_run(message))
            if isinstance(message, StartRunRequest):
                status, is_new = await self._gateway.begin_run(message)
                return json_response(status, 201 if is_new else 200)
            return json_response(await call(message))

    async def _watch_pipeline(self, context: RequestContext) -> Response:
        """Streams once a second how many events wait at each service."""
        return await context.stream(self._events("pipeline", self._gateway.watch_pipeline()))

    async def _events(self, name: str, messages: Any) -> AsyncIterator[bytes]:
        async with aclosing(messages):
            async for message in messages:
                if isinstance(message, Skipped):
                    yield event("skipped", {"number": message.number})
                else:
                    yield encoded_event(name, self._encode(message))
        yield event("end", {})

    async def _show_view(self, context: RequestContext) -> dict[str, Any]:
        """A finished conversation as the console draws it."""
        run, conversation_id = context.path_parameter("run"), context.path_parameter("conversation")
        request = GetConversationRequest(run=run, conversation=conversation_id)
        async with answered():
            return await asyncio.to_thread(_view, await self._gateway.get_conversation(request))


def _only_dry_run(query: QueryParams, *, may_be_dry: bool) -> bool:
    """Whether a POST is a dry run; raises Refusal for anything else in its query."""
    for name in query:
        if name != DRY_RUN or not may_be_dry:
            raise Refusal(Code.INVALID, f"{name[:80]!r} is in the query: send it in the body")
    values = query.getlist(DRY_RUN)
    if len(values) > 1 or not set(values) <= _DRY.keys():
        raise Refusal(Code.INVALID, f"dry_run is {', '.join(values)[:80]!r}: send dry_run=true, once")
    return any(_DRY[value] for value in values)


def _view(found: GetConversationResponse) -> dict[str, Any]:
    # Imported here because it loads Arrow, which no start should wait for.
    from soliloquy.dataset.view import conversation_view

    reasons = None if found.accepted else found.reasons
    view = conversation_view(found.conversation, reasons=reasons, flags=found.flags)
    return {"recipe": found.conversation.run.recipe, "conversation": view}
