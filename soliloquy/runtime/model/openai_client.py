"""Calls any endpoint with OpenAI's chat completions API: a hosted API, vLLM, Ollama, a fake."""

import functools
import json
import re
import time
from collections.abc import AsyncIterable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp

from soliloquy.runtime.model import ChunkReceiver, ModelRefused, StreamListener
from soliloquy.runtime.model.faults import EndpointRefuses, InvalidAnswer, Overloaded, Throttled, TimedOut, Unreachable
from soliloquy.runtime.model.settings import Endpoint, Key
from soliloquy.runtime.traces.spans import trace_headers
from soliloquy.v1.model_pb2 import Completion, Finish, GenerateRequest

# Real endpoints ignore these headers; they let a stand-in answer as the scripted model does.
PROMPT_HEADER, SEED_HEADER = "X-Soliloquy-Prompt", "X-Soliloquy-Seed"
CONNECT_SECONDS = 10.0
# Longest excerpt of an endpoint's error message.
MAX_WORDS = 300
# The weaker way to enforce a schema, for an endpoint that rejects a stronger one.
_WEAKER = {"json_schema": "json_object", "json_object": "none"}
_BOUND, _OTHER_BOUND = "max_tokens", "max_completion_tokens"
# Longer waits that an endpoint asks for are cut to this.
MOST_SECONDS = 600.0
_FINISHES = {"stop": Finish.FINISH_STOP, "length": Finish.FINISH_LENGTH}


class OpenAIClient:
    """Must be created inside the event loop that uses it."""

    def __init__(self, name: str, endpoint: Endpoint, key: Key) -> None:
        self._where = f"{name} ({endpoint.base_url})"
        self._endpoint = endpoint
        self._schema: str = endpoint.schema
        # The name of the limit on an answer's tokens; newer models accept only the other name.
        self._bound = _BOUND
        # Whether the endpoint supports streaming.
        self._streams = True
        self._key = key
        self._url = endpoint.base_url.rstrip("/") + "/chat/completions"
        headers = {"Content-Type": "application/json"}
        if key.secret:
            headers["Authorization"] = f"Bearer {key.secret}"
        self._session = aiohttp.ClientSession(
            headers=headers,
            # The gate limits concurrency.
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def ask(
        self, request: GenerateRequest, seconds: float, stream_listener: StreamListener | None = None
    ) -> Completion:
        while True:
            schema = self._schema if request.schema else "none"
            receive = stream_listener(request) if stream_listener and self._streams else None
            if completion := await self._post(request, schema, self._bound, receive):
                return completion

    async def close(self) -> None:
        await self._session.close()

    async def _post(
        self, request: GenerateRequest, schema: str, bound: str, receive: ChunkReceiver | None
    ) -> Completion | None:
        """Returns None if the endpoint does not support an option that the next request avoids."""
        body = body_of(request, self._endpoint.model, schema, bound, stream=receive is not None)
        headers = {PROMPT_HEADER: request.prompt, SEED_HEADER: str(request.seed), **trace_headers()}
        try:
            async with self._session.post(self._url, data=body, headers=headers, allow_redirects=False) as response:
                # An endpoint without streaming may send the complete answer.
                if receive and response.status == 200 and response.content_type == "text/event-stream":
                    content = await _joined((self._key.without(line) async for line in response.content), receive)
                else:
                    content = self._key.without(await response.read())
        except (aiohttp.ClientConnectorCertificateError, aiohttp.InvalidURL) as error:
            raise EndpointRefuses(f"{self._where} cannot be reached: {error}") from error
        except (aiohttp.ClientConnectorError, aiohttp.ServerTimeoutError) as error:
            raise Unreachable(str(error)) from error
        except aiohttp.ClientError as error:
            raise InvalidAnswer(f"the connection broke ({type(error).__name__})") from error
        if response.status == 200:
            return completion_of(content, asked=request.adapter or self._endpoint.model)
        words = _words(content)
        details = f"{response.status}: {words}"
        if response.status == 400 and self._adapt(words, schema, bound, streamed=receive is not None):
            return None
        raise self._error(response.status, details, retry_after(response.headers, time.time()))

    def _adapt(self, words: str, schema: str, bound: str, *, streamed: bool) -> bool:
        """Gives up the option that an endpoint's error message rejects, if there is one."""
        if schema != "none" and "response_format" in words:
            # A concurrent call may have weakened it already.
            if self._schema == schema:
                self._schema = _WEAKER[schema]
        elif bound == _BOUND and _OTHER_BOUND in words:
            self._bound = _OTHER_BOUND
        elif streamed and "stream" in words:
            self._streams = False
        else:
            return False
        return True

    def _error(self, status: int, details: str, after: float) -> Exception:
        match status:
            case 401 | 403 if self._key.secret:
                return EndpointRefuses(f"{self._where} refuses the key in {self._key.place} ({details})")
            case 401 | 403:
                return EndpointRefuses(f"{self._where} requires a key: put it in {self._key.place} ({details})")
            case 429 if "insufficient_quota" in details:
                return EndpointRefuses(
                    f"{self._where}: quota exhausted ({details}): add credit to the account or switch endpoints"
                )
            case 402 | 404 | 405 | 501 | 300 | 301 | 302 | 303 | 307 | 308:
                return EndpointRefuses(
                    f"{self._where} does not serve model {self._endpoint.model!r} ({details}): check the address "
                    "and the model's name"
                )
            case 429:
                return Throttled(details, after)
            case 408:
                return TimedOut(details, after)
            case 503 | 529:
                return Overloaded(details, after)
            case _ if 400 <= status < 500 and status not in (409, 425):
                return ModelRefused(f"{self._where} refused ({details})")
            case _:
                return InvalidAnswer(details, after)


async def _joined(lines: AsyncIterable[bytes], receive: ChunkReceiver) -> bytes:
    """Joins the chunks to the body of a complete answer; raises InvalidAnswer for a truncated stream."""
    whole: dict[str, Any] = {}
    text, finish = "", None
    try:
        async for line in lines:
            if not line.startswith(b"data:"):
                continue
            content = line.removeprefix(b"data:").strip()
            if content == b"[DONE]":
                break
            chunk = json.loads(content)
            if "error" in chunk:
                raise InvalidAnswer(f"the answer broke off: {chunk['error']}")
            whole |= {name: chunk[name] for name in ("model", "usage") if chunk.get(name)}
            for choice in chunk.get("choices", ())[:1]:
                finish = choice.get("finish_reason") or finish
                if piece := choice["delta"].get("content") or choice["delta"].get("refusal"):
                    text += piece
                    receive(piece)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidAnswer(f"the chunks are not a chat completion ({type(error).__name__})") from error
    if finish is None:
        raise InvalidAnswer("the answer stops before its end")
    return json.dumps(whole | {"choices": [{"message": {"content": text}, "finish_reason": finish}]}).encode()


def body_of(request: GenerateRequest, model: str, schema: str, bound: str = _BOUND, *, stream: bool = False) -> bytes:
    """Returns the request body. An adapter is addressed as a model of its own name."""
    body: dict[str, Any] = {
        "model": request.adapter or model,
        "messages": [{"role": message.role, "content": message.text} for message in request.messages],
        "temperature": request.sampling.temperature,
        "top_p": request.sampling.top_p,
        bound: request.sampling.max_tokens,
        # Some servers limit seeds to 31 bits.
        "seed": request.seed % 2**31,
    }
    if schema == "json_schema":
        named = {"name": re.sub(r"\W", "_", request.prompt)[:64] or "answer", "schema": _parsed(request.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": named}
    elif schema == "json_object":
        body["response_format"] = {"type": "json_object"}
    if stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return json.dumps(body, ensure_ascii=False).encode()


def completion_of(content: bytes, *, asked: str) -> Completion:
    """Parses an answer; a refusal without text becomes an empty answer."""
    try:
        answer = json.loads(content)
        choice = answer["choices"][0]
        message = choice["message"]
        usage = answer.get("usage") or {}
        return Completion(
            text=message.get("content") or message.get("refusal") or "",
            model=answer.get("model") or asked,
            prompt_tokens=usage.get("prompt_tokens", 0),
            completion_tokens=usage.get("completion_tokens", 0),
            engine="openai",
            finish=_FINISHES.get(choice.get("finish_reason"), Finish.FINISH_UNSPECIFIED),
        )
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise InvalidAnswer(f"the answer is not a chat completion: {_words(content)!r}") from error


def retry_after(headers: Mapping[str, str], now: float) -> float:
    """Returns the seconds to wait, from a number or a date; 0 if the header is missing or unreadable."""
    value = headers.get("Retry-After", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - now
        except ValueError:
            return 0.0
    return min(max(0.0, seconds), MOST_SECONDS) if seconds == seconds else 0.0


@functools.lru_cache
def _parsed(schema: str) -> Any:
    return json.loads(schema)


def _words(content: bytes) -> str:
    """Returns the endpoint's error message in one line."""
    text = content.decode("utf-8", "replace")
    try:
        answer = json.loads(text)
    except ValueError:
        answer = None
    if isinstance(answer, dict) and "error" in answer:
        error = answer["error"]
        text = json.dumps(error, ensure_ascii=False) if isinstance(error, dict) else str(error)
    return " ".join(text.split())[:MAX_WORDS]
