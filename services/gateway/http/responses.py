"""JSON answers, and each refusal as its status and one sentence."""

import json
import logging
import math
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from pydantic_core import to_jsonable_python
from starlette.responses import Response

from soliloquy_services.gateway.http.parsing import BodyTooSlow
from soliloquy_services.gateway.validation import Code, Refusal

REQUEST_TIMEOUT = 408
_MOST_CACHED = 64

_log = logging.getLogger(__name__)


def to_json(content: Any) -> bytes:
    """Writes messages of the contract, dataclasses, pydantic's models, and anything that JSON can hold."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=_plain)
    return text.encode("utf-8", "backslashreplace")


def _plain(content: Any) -> Any:
    if not isinstance(content, Message):
        return to_jsonable_python(content)
    # Includes every field that has a value without being set: 0, "", an empty list.
    return MessageToDict(content, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)


class CachedEncoder:
    """Encodes a message once for all watchers that are sent the same object."""

    def __init__(self) -> None:
        # Keyed by identity; holding the message keeps its identity from being reused.
        self._cached: OrderedDict[int, tuple[Message, bytes]] = OrderedDict()

    def __call__(self, message: Message) -> bytes:
        if (cached := self._cached.get(id(message))) is None:
            cached = self._cached[id(message)] = (message, to_json(message))
            if len(self._cached) > _MOST_CACHED:
                self._cached.popitem(last=False)
        return cached[1]


def json_response(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(to_json(content), status, {"cache-control": "no-store", **(headers or {})}, "application/json")


def error_response(error: Exception) -> Response:
    match error:
        case Refusal():
            return _error(error.code.http_status, error.code, error.message, _headers(error))
        case BodyTooSlow():
            return _error(REQUEST_TIMEOUT, Code.INVALID, str(error), {"connection": "close"})
        case _:
            _log.error("a call failed in the gateway itself", exc_info=error)
            return _error(500, "failed", "the gateway failed: see its log", {})


def not_offered(method: str, path: str, allowed: str = "") -> Response:
    offered = f"use {allowed}" if allowed else "see GET /openapi.json"
    line = f"{method} {path[:200]} is not offered: {offered}"
    return _error(405 if allowed else 404, Code.UNKNOWN, line, {"allow": allowed} if allowed else {})


def _error(status: int, code: str, message: str, headers: Mapping[str, str]) -> Response:
    return json_response({"error": {"code": code, "message": message}}, status, headers)


def _headers(refusal: Refusal) -> dict[str, str]:
    headers = {"retry-after": str(math.ceil(refusal.retry_after))} if refusal.retry_after else {}
    if refusal.code is Code.UNAUTHENTICATED:
        headers["www-authenticate"] = "Bearer"
    return headers
