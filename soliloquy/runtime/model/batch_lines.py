"""Reads the lines of a batch's replies."""

import json
from collections.abc import Mapping
from typing import Any

from soliloquy.runtime.model.batch_queue import may_pass
from soliloquy.runtime.model.batch_table import ANSWERED, Line
from soliloquy.runtime.model.faults import InvalidAnswer
from soliloquy.runtime.model.openai_format import completion_of, encoded, ended

_NOT_BEGUN = ("batch_expired", "batch_cancelled")


def line_of(told: Mapping[str, Any], model: str) -> Line | None:
    """Reads a line of a batch's replies; None if it says of no request what became of it."""
    request, response = told.get("custom_id"), told.get("response")
    if not isinstance(request, str):
        return None
    if not isinstance(response, dict) or not isinstance(status := response.get("status_code"), int):
        # The batch expired or was cancelled before it came to this one, or something else kept it from that.
        error = told.get("error")
        code = error.get("code") if isinstance(error, dict) else ""
        reply = encoded({"error": error})
        return Line(request=request, status=500, reply=reply, again=True, is_try=code not in _NOT_BEGUN)
    body = response.get("body")
    reply = encoded(body) if isinstance(body, dict) else str(body).encode()
    if status == ANSWERED:
        try:
            samples = max(1, len(json.loads(reply)["choices"]))
            answer = completion_of(reply, asked=model, samples=samples)
            return Line(request=request, status=status, reply=reply, completion=answer)
        except (InvalidAnswer, ValueError, KeyError, TypeError):
            return Line(request=request, status=status, reply=reply, again=True)
    if may_pass(status):
        return Line(request=request, status=status, reply=reply, again=True, is_try=status != 429)
    return Line(request=request, status=status, reply=reply, completion=ended(reply, model))
