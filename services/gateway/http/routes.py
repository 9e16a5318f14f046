"""What is offered over HTTP: the rpcs of `RunService` by their places, and what a console needs besides."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from google.protobuf.descriptor import Descriptor, MethodDescriptor

from soliloquy.v1 import gateway_pb2

if TYPE_CHECKING:
    from starlette.responses import Response

    from services.gateway.http.asked import Asked

Method = Literal["GET", "POST", "DELETE"]
SERVICE = gateway_pb2.DESCRIPTOR.services_by_name["RunService"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rpc:
    """Fields in braces are of the path, the others of the query, or of the body where there is one."""

    method: Method
    path: str
    name: str
    # What each message of a stream is called.
    event: str = ""

    @property
    def described(self) -> MethodDescriptor:
        return SERVICE.methods_by_name[self.name]

    @property
    def asked(self) -> Descriptor:
        return self.described.input_type

    @property
    def answered(self) -> Descriptor:
        return self.described.output_type


@dataclass(frozen=True, kw_only=True, slots=True)
class Own:
    """What is no rpc."""

    method: Method
    path: str
    # What `roles.toml` calls it; empty where it is open to everybody.
    action: str
    summary: str
    handler: Callable[["Asked"], Awaitable["Response"]]
    # What pydantic makes schemas of; None where there is none.
    body: Any = None
    answer: Any = None
    # Of an answer that is not JSON.
    media: str = "application/json"
    status: int = 200


Route = Rpc | Own

RPCS: tuple[Rpc, ...] = (
    Rpc(method="GET", path="/v1/runs", name="ListRuns"),
    Rpc(method="POST", path="/v1/runs", name="StartRun"),
    # Before what any run is called: there is none of this name.
    Rpc(method="GET", path="/v1/runs/watch", name="WatchRuns", event="runs"),
    Rpc(method="GET", path="/v1/runs/{run}", name="GetRun"),
    Rpc(method="POST", path="/v1/runs/{run}/cancel", name="CancelRun"),
    Rpc(method="POST", path="/v1/runs/{run}/pause", name="PauseRun"),
    Rpc(method="POST", path="/v1/runs/{run}/resume", name="ResumeRun"),
    Rpc(method="GET", path="/v1/runs/{run}/watch", name="WatchRun", event="run"),
    Rpc(method="GET", path="/v1/runs/{run}/conversations", name="ListConversations"),
    Rpc(method="GET", path="/v1/runs/{run}/conversations/tail", name="TailConversations", event="conversation"),
    Rpc(method="GET", path="/v1/runs/{run}/conversations/{conversation}", name="GetConversation"),
    Rpc(method="GET", path="/v1/dead-letters", name="ListDeadLetters"),
    Rpc(method="POST", path="/v1/dead-letters/{id}/replay", name="ReplayDeadLetter"),
    Rpc(method="GET", path="/v1/pipeline", name="GetPipeline"),
)
