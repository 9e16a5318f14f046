"""Answers as JSON, and refusals as the one sentence and the status that they are."""

import json
import logging
import math
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from starlette.responses import Response

from services.gateway.http.reading import TooSlow
from services.gateway.refusals import HTTP_STATUS, Code, Refusal

# The status where a body does not come in time.
TOO_SLOW = 408
_KEPT = 64

_log = logging.getLogger(__name__)


def as_json(message: Message) -> dict[str, Any]:
    """Every field that has a value without being set is there: 0, "", an empty list."""
    return MessageToDict(message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)


def encoded(content: Any) -> bytes:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


class Encoder:
    """All who watch the same are sent the same message: it is encoded for the first of them."""

    def __init__(self) -> None:
        # By identity; the message is kept, so that its identity stays its own.
        self._kept: OrderedDict[int, tuple[Message, bytes]] = OrderedDict()

    def __call__(self, message: Message) -> bytes:
        if (known := self._kept.get(id(message))) is None:
            known = self._kept[id(message)] = (message, encoded(as_json(message)))
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return known[1]


def answered(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A message of the contract, or what JSON can hold."""
    plain = as_json(content) if isinstance(content, Message) else content
    return Response(encoded(plain), status, {"cache-control": "no-store", **(headers or {})}, "application/json")


def refused(error: Exception) -> Response:
    match error:
        case Refusal():
            return _told(HTTP_STATUS[error.code], error.code, error.message, _headers(error))
        case TooSlow():
            return _told(TOO_SLOW, Code.INVALID, str(error), {"connection": "close"})
        case _:
            _log.error("a call failed in the gateway itself", exc_info=error)
            return _told(500, "failed", "the gateway failed: its log says why", {})


def no_such_path(method: str, path: str, allowed: str = "") -> Response:
    offered = f"{allowed} is" if allowed else "GET /openapi.json says what is"
    line = f"{method} {path[:200]} is not offered: {offered}"
    return _told(405 if allowed else 404, Code.UNKNOWN, line, {"allow": allowed} if allowed else {})


def _told(status: int, code: str, message: str, headers: Mapping[str, str]) -> Response:
    return answered({"error": {"code": code, "message": message}}, status, headers)


def _headers(refusal: Refusal) -> dict[str, str]:
    headers = {"retry-after": str(math.ceil(refusal.retry_after))} if refusal.retry_after else {}
    if refusal.code is Code.UNAUTHENTICATED:
        headers["www-authenticate"] = "Bearer"
    return headers
