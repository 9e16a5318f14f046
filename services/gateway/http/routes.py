"""The routes over HTTP: the RPCs of `RunService` by their paths, and others."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from google.protobuf.descriptor import Descriptor, MethodDescriptor

from soliloquy.v1 import gateway_pb2

if TYPE_CHECKING:
    from starlette.responses import Response

    from services.gateway.http.context import RequestContext

Method = Literal["GET", "POST", "DELETE"]
SERVICE = gateway_pb2.DESCRIPTOR.services_by_name["RunService"]


@dataclass(frozen=True, slots=True)
class RpcRoute:
    """Takes the fields in braces from the path, the others from the body or, for a GET, from the query."""

    method: Method
    path: str
    name: str
    # The event name of a stream's messages.
    event: str = ""

    @property
    def descriptor(self) -> MethodDescriptor:
        return SERVICE.methods_by_name[self.name]

    @property
    def request_type(self) -> Descriptor:
        return self.descriptor.input_type

    @property
    def response_type(self) -> Descriptor:
        return self.descriptor.output_type


@dataclass(frozen=True, slots=True)
class HttpRoute:
    """A route that is no RPC."""

    method: Method
    path: str
    # Its name in `roles.toml`; empty for a route that is open to everybody.
    action: str
    summary: str
    handler: Callable[["RequestContext"], Awaitable["Response"]]
    # Types that pydantic makes schemas of, or descriptors; None for no body and for an undescribed answer.
    body: Any = None
    answer: Any = None
    media: str = "application/json"
    status: int = 200


Route = RpcRoute | HttpRoute

RPC_ROUTES: tuple[RpcRoute, ...] = (
    RpcRoute("GET", "/v1/runs", "ListRuns"),
    RpcRoute("POST", "/v1/runs", "StartRun"),
    # Comes before {run}: no run has this id.
    RpcRoute("GET", "/v1/runs/watch", "WatchRuns", event="runs"),
    RpcRoute("GET", "/v1/runs/{run}", "GetRun"),
    RpcRoute("POST", "/v1/runs/{run}/cancel", "CancelRun"),
    RpcRoute("POST", "/v1/runs/{run}/pause", "PauseRun"),
    RpcRoute("POST", "/v1/runs/{run}/resume", "ResumeRun"),
    RpcRoute("GET", "/v1/runs/{run}/watch", "WatchRun", event="run"),
    RpcRoute("GET", "/v1/runs/{run}/conversations", "ListConversations"),
    RpcRoute("GET", "/v1/runs/{run}/conversations/tail", "TailConversations", event="conversation"),
    RpcRoute("GET", "/v1/runs/{run}/conversations/{conversation}", "GetConversation"),
    RpcRoute("GET", "/v1/dead-letters", "ListDeadLetters"),
    RpcRoute("POST", "/v1/dead-letters/{id}/replay", "ReplayDeadLetter"),
    RpcRoute("GET", "/v1/pipeline", "GetPipeline"),
)
