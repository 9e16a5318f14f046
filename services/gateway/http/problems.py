"""Problem files that people bring: checked line by line, and kept beside those of the gateway."""

import asyncio
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from soliloquy_services.gateway.access.tenants import TENANT
from soliloquy_services.gateway.http.parsing import KnownLanguage, parse_body
from soliloquy_services.gateway.http.routes import HttpRoute, RequestContext
from soliloquy_services.gateway.planning import CheckedFile
from soliloquy_services.gateway.refusals import answered
from soliloquy_services.gateway.service import Gateway

MOST_BYTES = 8 * 1024**2


class AddProblems(BaseModel):
    """A problem file: a line of JSON for each problem."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}\.(jsonl|ndjson|json)$")]
    text: str = Field(repr=False)
    # The language of the problems; empty for English.
    language: KnownLanguage = ""


def problems(gateway: Gateway) -> HttpRoute:
    async def add(context: RequestContext) -> CheckedFile:
        """Check a problem file, and keep it if it has no faults. A name keeps its content."""
        asked = parse_body(AddProblems, await context.body(MOST_BYTES))
        context.audit.target = asked.name
        async with answered():
            return await asyncio.to_thread(gateway.planning.add, asked.name, asked.text, TENANT.get(), asked.language)

    return HttpRoute("POST", "/v1/problems", "AddProblems", add, body=AddProblems, answer=CheckedFile)
