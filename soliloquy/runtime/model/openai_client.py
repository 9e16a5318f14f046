"""Calls any endpoint with OpenAI's chat completions API: a hosted API, vLLM, Ollama, a fake."""

import asyncio
import json
import logging
import re
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp.http_exceptions import LineTooLong

from soliloquy.runtime.model import ChunkReceiver, ModelRefused, StreamListener
from soliloquy.runtime.model.agreements import Agreement, agreement_with
from soliloquy.runtime.model.dialects import UNKNOWN, Dialect, dialect_of, dialect_of_owner
from soliloquy.runtime.model.faults import (
    EndpointRefuses,
    Failing,
    InvalidAnswer,
    Overloaded,
    Throttled,
    TimedOut,
    UnknownModel,
    Unreachable,
)
from soliloquy.runtime.model.negotiation import MOST_ADAPTATIONS, Attempt
from soliloquy.runtime.model.openai_format import (
    MAX_WORDS,
    MOST_ANSWER_BYTES,
    MOST_STREAM_BYTES,
    body_of,
    completion_of,
    ended,
    error_words,
    joined,
    retry_after,
    status_in,
    within,
)
from soliloquy.runtime.model.samples import seeds_of
from soliloquy.runtime.model.settings import Endpoint, Key, described
from soliloquy.runtime.thoughts import after_thoughts
from soliloquy.runtime.traces.spans import trace_headers
from soliloquy.v1.model_pb2 import Completion, GenerateRequest

# Real endpoints ignore these headers; they let a stand-in answer as the scripted model does.
PROMPT_HEADER, SEED_HEADER = "X-Soliloquy-Prompt", "X-Soliloquy-Seed"
CONNECT_SECONDS = 10.0
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
# What asking for the list of models may raise.
_UNLISTED = (TimeoutError, aiohttp.ClientError, InvalidAnswer, ValueError, KeyError, TypeError, RecursionError)
_UNKNOWN_HOST = {socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)}

_log = logging.getLogger(__name__)


class OpenAIClient:
    """Must be created inside the event loop that uses it."""

    def __init__(self, name: str, endpoint: Endpoint, key: Key, findings: Path | None = None) -> None:
        """`findings` is a file in which the processes of a run keep what they learn about endpoints."""
        self.where = described(name, endpoint)
        self._endpoint = endpoint
        self._dialect = dialect_of(endpoint.dialect, endpoint.base_url, endpoint.model)
        self._findings = findings
        # Asks for the list of models; all calls wait for the same one.
        self._listing: asyncio.Task[list[dict[str, Any]]] | None = None
        # Whether it has ever answered: its host then exists, even when a name server forgets it.
        self._was_reached = False
        self._key = key
        self._url = _at(endpoint.base_url, "/chat/completions")
        self._list_url = _at(endpoint.base_url, "/models")
        # Compressed answers could be far larger than what arrives.
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if key.secret:
            bearer = "Bearer " if self._dialect.key_header == "Authorization" else ""
            headers[self._dialect.key_header] = bearer + key.secret
        self._session = aiohttp.ClientSession(
            headers=headers,
            # The gate limits concurrency.
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
        )

    async def ask(
        self, request: GenerateRequest, seconds: float, stream_listener: StreamListener | None = None
    ) -> Completion:
        agreement = self._agreement(request.adapter)
        if not agreement.is_recognized:
            await self._recognize(agreement)
        attempt = Attempt(agreement, request)
        for _ in range(MOST_ADAPTATIONS):
            receive = None if "stream" in attempt.without or not stream_listener else stream_listener(request)
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
        model = adapter or self._endpoint.model
        return agreement_with(self._url, model, self._dialect, self._endpoint.schema, self._findings)

    async def _recognize(self, agreement: Agreement) -> None:
        """Learns the dialect from the list of models, where neither the settings nor the address tell it."""
        if not self._endpoint.dialect and self._dialect.name == UNKNOWN:
            self._listing = self._listing or asyncio.create_task(self._models())
            try:
                # A call that is cancelled must not cancel what the others wait for.
                listed = await asyncio.shield(self._listing)
            except aiohttp.ClientConnectorError:
                # It is gone for the moment: this call will say so.
                self._listing = None
                return
            except _UNLISTED:
                listed = []
            model = self._endpoint.model
            owners = {entry.get("owned_by") for entry in listed if entry["id"] == model or len(listed) == 1}
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
        async with asyncio.timeout(LIST_SECONDS), self._session.get(self._list_url, allow_redirects=False) as response:
            _require_plain(response)
            return [{**entry, "id": str(entry["id"])} for entry in json.loads(await _content(response))["data"]]

    async def silence(self) -> str:
        try:
            async with asyncio.timeout(LIST_SECONDS), self._session.get(self._list_url, allow_redirects=False):
                return ""
        except TimeoutError:
            return "it accepts connections and answers nothing"
        except aiohttp.ClientError as error:
            return str(error) or type(error).__name__

    async def close(self) -> None:
        if self._listing:
            self._listing.cancel()
        await self._session.close()

    async def _post(
        self, request: GenerateRequest, attempt: Attempt, receive: ChunkReceiver | None
    ) -> Completion | None:
        """Returns None if the endpoint refuses a part of the request that the next one leaves out."""
        form = attempt.form
        body = body_of(request, self._endpoint.model, attempt, stream=receive is not None)
        seeds = ",".join(map(str, seeds_of(request)))
        headers = {PROMPT_HEADER: request.prompt, SEED_HEADER: seeds, **trace_headers()}
        try:
            async with self._session.post(
                self._url, data=_encoded(body), headers=headers, allow_redirects=False
            ) as response:
                self._was_reached = True
                _require_plain(response)
                # An endpoint without streaming may send the complete answer.
                if receive and response.status == 200 and response.content_type == "text/event-stream":
                    lines = within(response.content, MOST_STREAM_BYTES)
                    content = await joined((self._key.without(line) async for line in lines), form.receiver(receive))
                else:
                    content = self._key.without(await _content(response))
        except (aiohttp.InvalidURL, UnicodeError) as error:
            raise EndpointRefuses(f"{self.where} has an invalid address: check it ({error})") from error
        except (aiohttp.ClientSSLError, aiohttp.ClientConnectorDNSError) as error:
            raise self._unreachable(error) from error
        except aiohttp.ClientConnectorError as error:
            raise Unreachable(_connection(error)) from error
        except aiohttp.ServerTimeoutError as error:
            raise Unreachable(str(error)) from error
        except (aiohttp.ClientError, LineTooLong) as error:
            raise InvalidAnswer(f"the connection broke ({type(error).__name__})") from error
        status = response.status
        if status == 200 and content.lstrip()[:8].startswith(b'{"error"'):
            status = status_in(content)
        if response.content_type == "text/html" and status < 500:
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
        raise self._error(status, details, retry_after(response.headers, time.time()))

    async def _offer(self) -> str:
        """Returns the models that the endpoint lists, as the end of a message."""
        listed = [entry["id"] for entry in await self.listed()]
        more = f" and {len(listed) - MOST_LISTED} more" if len(listed) > MOST_LISTED else ""
        return f"; it offers {', '.join(sorted(listed)[:MOST_LISTED])}{more}" if listed else ""

    def _path_advice(self) -> str:
        """Returns what an address without a path may lack, as the end of a message."""
        lacks_path = not urlsplit(self._endpoint.base_url).path.strip("/")
        return "; the address of most such APIs ends in /v1" if lacks_path else ""

    def _unreachable(self, error: aiohttp.ClientConnectorError) -> Exception:
        """Returns a fault that passes if the endpoint was reached before."""
        if self._was_reached:
            return Unreachable(_connection(error))
        if isinstance(error, aiohttp.ClientSSLError):
            return EndpointRefuses(f"{self.where} cannot be reached: check https and its certificate ({error})")
        if error.errno in _UNKNOWN_HOST:
            return EndpointRefuses(f"{self.where} cannot be found: check the host's name ({_connection(error)})")
        return Unreachable(_connection(error))

    def _error(self, status: int, details: str, after: float) -> Exception:
        match status:
            case 401 | 403 if self._key.secret:
                return EndpointRefuses(f"{self.where} refuses the key in {self._key.place} ({details})")
            case 401 | 403:
                return EndpointRefuses(f"{self.where} requires a key: put it in {self._key.place} ({details})")
            case 402 | 429 if status == 402 or "insufficient_quota" in details:
                return EndpointRefuses(
                    f"{self.where}: quota exhausted ({details}): add credit to the account or switch endpoints"
                )
            case 405 | 501 | 300 | 301 | 302 | 303 | 307 | 308:
                return EndpointRefuses(f"{self.where} serves no chat completions ({details}): check the address")
            case 429:
                return Throttled(details, after)
            case 408:
                return TimedOut(details, after)
            case 503 | 529:
                return Overloaded(details, after)
            case _ if 400 <= status < 500 and status not in (409, 425):
                return ModelRefused(f"{self.where} refused ({details})")
            case _:
                return Failing(details, after)


def _require_plain(response: aiohttp.ClientResponse) -> None:
    if encoding := response.headers.get("Content-Encoding", "").replace("identity", ""):
        raise InvalidAnswer(f"the answer is compressed ({encoding[:MAX_WORDS]}) without a request for it")


async def _content(response: aiohttp.ClientResponse) -> bytes:
    return b"".join([piece async for piece in within(response.content.iter_any(), MOST_ANSWER_BYTES)])


def _at(base_url: str, path: str) -> str:
    """Returns the URL of a path; Azure's addresses end in a query."""
    base, question, query = base_url.partition("?")
    return base.rstrip("/") + path + question + query


def _encoded(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode()


def _connection(error: aiohttp.ClientConnectorError) -> str:
    reason = error.os_error.strerror or str(error.os_error) or "it closed the connection"
    return f"cannot connect to {error.host}:{error.port}: {reason}"
