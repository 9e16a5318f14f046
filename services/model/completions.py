"""What OpenAI's chat completions ask for, as requests to a model."""

import json
import uuid
from typing import Any, Literal

from pydantic import BaseModel, Field

from services.model.engines.engine import InvalidRequest
from soliloquy.runtime.completions import ChatAsked
from soliloquy.v1.model_pb2 import GenerateRequest, Message, Sampling

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}


class _Schema(BaseModel):
    schema_: dict[str, Any] = Field(alias="schema")


class _Format(BaseModel):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: _Schema | None = None

    def schema_text(self) -> str:
        match self.type:
            case "text":
                return ""
            case "json_object":
                return '{"type": "object"}'
            case _ if self.json_schema is None:
                raise InvalidRequest("response_format is json_schema and has none: set response_format.json_schema")
            case _:
                return json.dumps(self.json_schema.schema_)


class ChatRequest(ChatAsked):
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, ge=1, lt=2**31)
    max_completion_tokens: int | None = Field(default=None, ge=1, lt=2**31)
    seed: int | None = Field(default=None, ge=-(2**63), lt=2**63)
    response_format: _Format | None = None
    # Of "role" and "prompt": what a request of ours has beyond OpenAI's.
    metadata: dict[str, str] | None = None

    def request(self, adapter: str, request_id: str) -> GenerateRequest:
        """Raises InvalidRequest where it asks for what is not offered."""
        if flaw := self.not_offered():
            raise InvalidRequest(flaw)
        metadata = self.metadata or {}
        return GenerateRequest(
            role=metadata.get("role", ""),
            prompt=metadata.get("prompt", ""),
            messages=[Message(role=_ROLES[message.role], text=message.text) for message in self.messages],
            schema=self.response_format.schema_text() if self.response_format else "",
            sampling=Sampling(
                temperature=1.0 if self.temperature is None else self.temperature,
                top_p=1.0 if self.top_p is None else self.top_p,
                # None: up to the engine's limit.
                max_tokens=self.max_completion_tokens or self.max_tokens or 0,
            ),
            # Without a seed every answer is another one, as OpenAI's clients expect.
            seed=uuid.uuid4().int % 2**64 if self.seed is None else self.seed % 2**64,
            adapter=adapter,
            id=request_id,
        )
