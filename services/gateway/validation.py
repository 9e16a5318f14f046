"""Validates a request for a run against the recipes and `limits.toml`."""

import re

from soliloquy.recipes.packages import known_recipes
from soliloquy.runtime.beside import table_beside
from soliloquy.v1.gateway_pb2 import StartRunRequest
from soliloquy.v1.runs_pb2 import RunRequest
from soliloquy_services.gateway.names import LONGEST_NAME
from soliloquy_services.gateway.refusals import Code, Refusal

RUN_LIMITS: dict[str, dict[str, int]] = table_beside(__file__, "limits.toml")
REQUEST_ID = "[A-Za-z0-9_.:-]{1,128}"


def validated(start: StartRunRequest) -> RunRequest:
    """Returns the request with the usual values where it names none; raises Refusal for an invalid one."""
    if re.fullmatch(REQUEST_ID, start.request_id) is None:
        raise _invalid("request_id", start.request_id, "send a unique id of up to 128 letters, digits and .:_-")
    if not start.HasField("request"):
        raise Refusal(Code.INVALID, "request is missing: send at least recipe, problems and conversations")
    request = RunRequest()
    request.CopyFrom(start.request)
    request.name = request.name.strip()
    if request.recipe not in known_recipes():
        raise _invalid("recipe", request.recipe, f"use one of {', '.join(known_recipes())}")
    if len(request.name) > LONGEST_NAME or not request.name.isprintable():
        raise _invalid("name", request.name, f"send up to {LONGEST_NAME} printable characters on one line")
    for name, bounds in RUN_LIMITS.items():
        given = getattr(request, name)
        value = bounds.get("usual", given) if given == 0 else given
        if not bounds["least"] <= value <= bounds["most"]:
            raise _invalid(name, given, f"send {bounds['least']} to {bounds['most']}")
        setattr(request, name, value)
    return request


def _invalid(name: str, value: object, advice: str) -> Refusal:
    shown = repr(value[:80]) if isinstance(value, str) else value
    return Refusal(Code.INVALID, f"invalid {name} {shown}: {advice}")
