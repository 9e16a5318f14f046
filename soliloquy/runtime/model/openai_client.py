"""Calls any endpoint with OpenAI's chat completions API: a hosted API, vLLM, Ollama, a fake."""

import asyncio
import json
import logging
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from soliloquy.runtime.model import ChunkReceiver, StreamListener
from soliloquy.runtime.model.agreements import Agreement, agreement_with
from soliloquy.runtime.model.dialects import UNKNOWN, Dialect, dialect_of, dialect_of_owner, dialects
from soliloquy.runtime.model.faults import EndpointRefuses, InvalidAnswer, RetryableFault, UnknownModel, Unreachable
from soliloquy.runtime.model.keys import Key
from soliloquy.runtime.model.negotiation import MOST_ADAPTATIONS, Attempt
from soliloquy.runtime.model.openai_format import (
    MOST_STREAM_BYTES,
    body_of,
    completion_of,
    encoded,
    ended,
    error_words,
    joined,
    retry_after,
    status_in,
    within,
)
from soliloquy.runtime.model.openai_http import OpenAIConnection, Reply
from soliloquy.runtime.model.remote import ServedModel
from soliloquy.runtime.model.samples import seeds_of
from soliloquy.runtime.model.schemas import SchemaForm
from soliloquy.runtime.model.settings import Endpoint
from soliloquy.runtime.thoughts import after_thoughts
from soliloquy.runtime.traces.spans import trace_headers
from soliloquy.v1.model_pb2 import Completion, GenerateRequest

# Real endpoints ignore these headers; they let a stand-in answer as the scripted model does.
PROMPT_HEADER, SEED_HEADER = "X-Soliloquy-Prompt", "X-Soliloquy-Seed"
COMPLETIONS, _MODELS = "/chat/completions", "/models"
# The fields in which lists of models tell how long a conversation may be.
_CONTEXT_FIELDS = ("max_model_len", "context_length", "context_window", "max_context_length", "inputTokenLimit")
_JSON = {"Content-Type": "application/json"}
# How long an endpoint may take to list its models, and how many of them a message names.
LIST_SECONDS = 10.0
MOST_LISTED = 12
# How much of a web page a message repeats.
MAX_PAGE = 60
# An endpoint's words for a model that it does not have, where it answers 400 instead of 404.
_UNKNOWN_MODEL = re.compile(
    r"\bmodel_not_found\b|\b(invalid|unknown|no such) model\b|\bmodel\b.{0,80}\b(not exist|not found|unknown)\b",
    re.IGNORECASE,
)
# A request for the list of models may raise these.
_UNLISTED = (TimeoutError, EndpointRefuses, RetryableFault, ValueError, KeyError, TypeError, RecursionError)

_log = logging.getLogger(__name__)


class Queue(Protocol):
    """Takes requests to an endpoint that answers them later."""

    async def reply(self, request: GenerateRequest, body: Mapping[str, Any]) -> Reply:
        """Waits for the reply, for hours if need be. Raises ModelFailed for a request that kept failing."""

    def close(self) -> None: ...


class OpenAIClient:
    """Must be created inside the event loop that uses it."""

    def __init__(
        self, name: str, endpoint: Endpoint, key: Key, findings: Path | None = None, queue: Queue | None = None
    ) -> None:
        """`findings` is a file in which the processes of a run keep what they learn about endpoints.

        Completions are asked of the `queue` if there is one.
        """
        self._endpoint = endpoint
        self._dialect = dialect_of(endpoint.dialect, endpoint.base_url, endpoint.model)
        self._connection = OpenAIConnection(name, endpoint, key, self._dialect)
        self.where = self._connection.where
        self._findings = findings
        self._queue = queue
        # Asks for the list of models; all calls wait for the same one.
        self._listing: asyncio.Task[list[dict[str, Any]]] | None = None
        # By its list of models.
        self._owners: Sequence[str] = ()

    async def ask(
        self, request: GenerateRequest, seconds: float, stream_listener: StreamListener | None = None
    ) -> Completion:
        agreement = self._agreement(request.adapter)
        if not agreement.is_recognized:
            await self._recognize(agreement)
        attempt = Attempt(agreement, request)
        for _ in range(MOST_ADAPTATIONS):
            is_heard = stream_listener and not self._queue and "stream" not in attempt.without
            receive = stream_listener(request) if stream_listener and is_heard else None
            if receive and attempt.may_think_first:
                receive = after_thoughts(receive)
            if completion := await self._post(request, attempt, receive):
                attempt.accepted(self.where, completion)
                return completion
        raise InvalidAnswer(f"it refused {MOST_ADAPTATIONS} forms of the request")

    def attempt(self, request: GenerateRequest) -> Attempt:
        """Returns the form in which this request would be sent, by what the endpoint has refused so far."""
        return Attempt(self._agreement(request.adapter), request)

    @property
    def dialect(self) -> Dialect:
        return self._agreement().dialect

    def _agreement(self, adapter: str = "") -> Agreement:
        model, url = adapter or self._endpoint.model, self._connection.url(COMPLETIONS)
        return agreement_with(url, model, self._dialect, self._endpoint.schema, self._findings)

    async def _recognize(self, agreement: Agreement) -> None:
        """Learns the dialect from the list of models, where neither the settings nor the address tell it."""
        if not self._endpoint.dialect and self._dialect.name == UNKNOWN:
            self._listing = self._listing or asyncio.create_task(self._models())
            try:
                # A call that is cancelled must not cancel what the others wait for.
                listed = await asyncio.shield(self._listing)
            except (Unreachable, EndpointRefuses):
                # It is gone for the moment: this call will say so.
                self._listing = None
                return
            except _UNLISTED:
                listed = []
            model = self._endpoint.model
            owners = {entry.get("owned_by") for entry in listed if entry["id"] == model or len(listed) == 1}
            self._owners = sorted(str(owner) for owner in owners if owner)
            if (name := dialect_of_owner(owners)) and agreement.learn("dialect", name):
                _log.info("%s is asked in the dialect of %s", self.where, name)
        agreement.is_recognized = True

    async def listed(self) -> list[dict[str, Any]]:
        """Returns the endpoint's entries of the models that it has; none if it lists them in no form that we know."""
        try:
            return await self._models()
        except _UNLISTED:
            return []

    async def _models(self) -> list[dict[str, Any]]:
        async with asyncio.timeout(LIST_SECONDS), self._connection.request("GET", _MODELS) as response:
            entries = json.loads(await self._connection.content(response))["data"]
            return [{**entry, "id": str(entry["id"])} for entry in entries]

    async def identity(self, adapter: str) -> str:
        """Returns the address: an endpoint tells nothing else of its weights."""
        return self._endpoint.base_url

    def manners(self, request: GenerateRequest) -> Sequence[str]:
        attempt = self.attempt(request)
        dialect, without = attempt.dialect, sorted(attempt.without)
        return [
            f"speaks {dialect.name}" if dialect.name != UNKNOWN else self._unknown_dialect(),
            f"takes {attempt.form.name.partition(' (')[0]}{'' if 'seed' in without else ' and seeds'}",
            *(["finds its cache by prompt_cache_key"] if dialect.cache_key else []),
            *(["has prompts marked for its cache"] if dialect.cache_marks else []),
            *([f"is asked without {' and '.join(without)}"] if without else []),
        ]

    def _unknown_dialect(self) -> str:
        known = ", ".join(name for name in dialects() if name != UNKNOWN)
        owner = " and ".join(self._owners) or "not told"
        return f"is asked as OpenAI's API: its address and the owner of its models ({owner}) tell none of {known}"

    async def served(self) -> ServedModel:
        listed = await self.listed()
        only = listed[0] if len(listed) == 1 else {}
        entry = next((entry for entry in listed if entry["id"] == self._endpoint.model), only)
        # Servers of one model answer under any name, and tell themselves by the owner.
        name = str(only["id"]) if only and dialect_of_owner({only.get("owned_by")}) else ""
        context = max((tokens for field in _CONTEXT_FIELDS if isinstance(tokens := entry.get(field), int)), default=0)
        return ServedModel(name, context)

    async def close(self) -> None:
        if self._listing:
            self._listing.cancel()
        if self._queue:
            self._queue.close()
        await self._connection.close()

    async def _post(
        self, request: GenerateRequest, attempt: Attempt, receive: ChunkReceiver | None
    ) -> Completion | None:
        """Returns None if the endpoint refuses a part of the request that the next one leaves out."""
        form = attempt.form
        body = body_of(request, self._endpoint.model, attempt, stream=receive is not None)
        if self._queue:
            reply = await self._queue.reply(request, body)
        else:
            reply = await self._exchange(request, body, form, receive)
        status, content = reply.status, reply.content
        if status == 200 and content.lstrip()[:8].startswith(b'{"error"'):
            status = status_in(content)
        if reply.is_page and status < 500:
            start = " ".join(content.decode("utf-8", "replace").split())[:MAX_PAGE]
            raise EndpointRefuses(f"{self.where} answers with a web page ({start!r}): check the address")
        if status == 200:
            return completion_of(content, asked=body["model"], samples=body.get("n", 1), form=form)
        words = error_words(content).removeprefix(f"{status}: ")
        details = f"{status}: {words}"
        if status in (400, 403) and (stopped := ended(content, body["model"])):
            return stopped
        if attempt.adapt(status, content, body):
            return None
        if status == 404 or (status == 400 and _UNKNOWN_MODEL.search(words)):
            raise UnknownModel(
                f"{self.where} does not serve this model ({details}): check the address and the model's name"
                + (await self._offer() or self._path_advice())
            )
        raise self._connection.fault(status, details, reply.after)

    async def _exchange(
        self, request: GenerateRequest, body: Mapping[str, Any], form: SchemaForm, receive: ChunkReceiver | None
    ) -> Reply:
        seeds = ",".join(map(str, seeds_of(request)))
        headers = {PROMPT_HEADER: request.prompt, SEED_HEADER: seeds, **_JSON, **trace_headers()}
        async with self._connection.request("POST", COMPLETIONS, data=encoded(body), headers=headers) as response:
            # An endpoint without streaming may send the complete answer.
            if receive and response.status == 200 and response.content_type == "text/event-stream":
                lines = within(response.content, MOST_STREAM_BYTES)
                without_key = (self._connection.key.without(line) async for line in lines)
                content = await joined(without_key, form.receiver(receive))
            else:
                content = await self._connection.content(response)
            return Reply(
                status=response.status,
                content=content,
                is_page=response.content_type == "text/html",
                after=retry_after(response.headers, time.time()),
            )

    async def _offer(self) -> str:
        """Returns the models that the endpoint lists, as the end of a message."""
        listed = [entry["id"] for entry in await self.listed()]
        more = f" and {len(listed) - MOST_LISTED} more" if len(listed) > MOST_LISTED else ""
        return f"; it offers {', '.join(sorted(listed)[:MOST_LISTED])}{more}" if listed else ""

    def _path_advice(self) -> str:
        """Returns what an address without a path may lack, as the end of a message."""
        lacks_path = not urlsplit(self._endpoint.base_url).path.strip("/")
        return "; the address of most such APIs ends in /v1" if lacks_path else ""
