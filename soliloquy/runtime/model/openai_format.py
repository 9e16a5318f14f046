"""Writes requests for OpenAI's chat completions API, and reads its answers."""

import base64
import json
import math
import re
from collections.abc import AsyncIterable, AsyncIterator, Iterator, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any

from soliloquy.runtime.model import ChunkReceiver
from soliloquy.runtime.model.dialects import ERRORS, USAGE
from soliloquy.runtime.model.faults import InvalidAnswer
from soliloquy.runtime.model.negotiation import SYSTEM, Attempt, error_in
from soliloquy.runtime.model.samples import together
from soliloquy.runtime.model.schemas import AS_WRITTEN, SchemaForm
from soliloquy.v1.model_pb2 import Completion, Finish, GenerateRequest, Record

# The place of a record in the body of a request to a stand-in.
RECORD = "soliloquy_record"
# Longest excerpt of an endpoint's error message.
MAX_WORDS = 300
# The longest answer; a stream carries more around each token.
MOST_ANSWER_BYTES = 2 * 1024**2
MOST_STREAM_BYTES = 64 * 1024**2
# Two lines a token, with room to spare.
MOST_PIECES = 200_000
# Longer waits that an endpoint asks for are cut to this.
MOST_SECONDS = 600.0
_FINISHES = {
    **{"stop": Finish.FINISH_STOP, "length": Finish.FINISH_LENGTH},
    **{"content_filter": Finish.FINISH_FILTER, "refusal": Finish.FINISH_REFUSAL},
}
# The end of the conversation so far in a prompt; what follows is the prompt's own task.
_HISTORY = re.compile(r"</(?:conversation|history)>\n?")
# The fields in which endpoints return a model's thoughts.
_REASONING = ("reasoning_content", "reasoning", "thinking")


async def within(pieces: AsyncIterable[bytes], most: int) -> AsyncIterator[bytes]:
    """Yields the pieces; raises InvalidAnswer where they are longer together, or too many."""
    size = number = 0
    async for piece in pieces:
        size += len(piece)
        number += 1
        if size > most:
            raise _too_long(most)
        if number > MOST_PIECES:
            raise InvalidAnswer(f"the answer has more than {MOST_PIECES:,} lines")
        yield piece


async def joined(lines: AsyncIterable[bytes], receive: ChunkReceiver) -> bytes:
    """Joins the chunks to the body of a complete answer; raises InvalidAnswer for a truncated stream."""
    whole: dict[str, Any] = {}
    text, reasoning, refusal, finish = "", "", "", None
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
            whole |= {name: chunk[name] for name in ("model", "usage", "timings") if chunk.get(name)}
            for choice in chunk.get("choices", ())[:1]:
                finish = choice.get("finish_reason") or finish
                delta = choice["delta"]
                reasoning += _reasoning(delta)
                refusal += delta.get("refusal") or ""
                piece = _text(delta.get("content"))
                text += piece
                if len(text) + len(reasoning) + len(refusal) > MOST_ANSWER_BYTES:
                    raise _too_long(MOST_ANSWER_BYTES)
                if piece:
                    receive(piece)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidAnswer(f"the chunks are not a chat completion ({type(error).__name__})") from error
    if finish is None:
        raise InvalidAnswer("the answer stops before its end")
    message = {"content": text, _REASONING[0]: reasoning, "refusal": refusal}
    return json.dumps(whole | {"choices": [{"message": message, "finish_reason": finish}]}).encode()


def _too_long(most: int) -> InvalidAnswer:
    return InvalidAnswer(f"the answer is longer than {most // 1024**2} MiB")


def body_of(request: GenerateRequest, model: str, attempt: Attempt, *, stream: bool = False) -> dict[str, Any]:
    """Returns the request body. An adapter is addressed as a model of its own name."""
    sampling = request.sampling
    messages: Sequence[Mapping[str, Any]] = _messages(request, system=SYSTEM not in attempt.without)
    marks = attempt.dialect.cache_marks
    body: dict[str, Any] = {
        "model": request.adapter or model,
        "messages": _marked(messages) if marks and re.search(marks, model) else messages,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        # Some servers limit seeds to 31 bits.
        "seed": request.seed % 2**31,
    }
    if attempt.dialect.cache_key and request.draw_key:
        # The calls of a conversation begin alike.
        body["prompt_cache_key"] = request.draw_key
    if sampling.reasoning_effort:
        body["reasoning_effort"] = sampling.reasoning_effort
    if attempt.limit:
        body[attempt.limit] = sampling.max_tokens
    if attempt.form.response_format:
        body["response_format"] = attempt.form.response_format
    if request.more_seeds and not stream:
        body["n"] = 1 + len(request.more_seeds)
    if stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    for name in attempt.without:
        body.pop(name, None)
    if request.HasField("record"):
        body[RECORD] = base64.b64encode(request.record.SerializeToString(deterministic=True)).decode()
    return body


def record_in(body: dict[str, Any]) -> Record | None:
    """Takes the record out of a request's body; None for a body without one."""
    encoded_record = body.pop(RECORD, None)
    return Record.FromString(base64.b64decode(encoded_record)) if encoded_record else None


def encoded(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode()


def _messages(request: GenerateRequest, *, system: bool) -> list[dict[str, str]]:
    if system:
        return [{"role": message.role, "content": message.text} for message in request.messages]
    messages: list[dict[str, str]] = []
    instructions = ""
    for message in request.messages:
        if message.role == "system":
            instructions += f"{message.text}\n\n"
        else:
            messages.append({"role": message.role, "content": instructions + message.text})
            instructions = ""
    return messages or [{"role": "user", "content": instructions}]


def _marked(messages: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
    """Marks the ends of what later prompts begin with: the instructions, and the conversation so far."""
    return [
        {
            "role": message["role"],
            "content": [
                {"type": "text", "text": text, **({"cache_control": {"type": "ephemeral"}} if is_shared else {})}
                for text, is_shared in _parts(message)
            ],
        }
        for message in messages
    ]


def _parts(message: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
    """Yields the parts of a message, and whether later prompts may begin with it."""
    if message["role"] == "system":
        yield message["content"], True
        return
    end = max((found.end() for found in _HISTORY.finditer(message["content"])), default=0)
    if end:
        yield message["content"][:end], True
    if rest := message["content"][end:]:
        yield rest, False


def completion_of(content: bytes, *, asked: str, samples: int = 1, form: SchemaForm = AS_WRITTEN) -> Completion:
    """Parses an answer. An endpoint counts the tokens of all samples together: each gets an equal share of them."""
    try:
        answer = json.loads(content)
        read = [_sample(choice, form) for choice in answer["choices"][:samples]]
        written, thought = _output_tokens(answer)
        for place, sample in enumerate(read):
            sample.model, sample.engine = answer.get("model") or asked, "openai"
            sample.completion_tokens = _share(written, place, len(read))
            sample.reasoning_tokens = _share(thought, place, len(read))
            sample.cost = _counted(answer, "cost") / len(read)
        read[0].prompt_tokens = _tokens(answer.get("usage"), "prompt_tokens")
        read[0].cached_tokens = int(_counted(answer, "cached"))
        read[0].cache_write_tokens = int(_counted(answer, "cache_write"))
        return together(read)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidAnswer(f"the answer is not a chat completion: {error_words(content)!r}") from error


def _sample(choice: dict[str, Any], form: SchemaForm) -> Completion:
    """Parses one choice of an answer. The arguments of a tool call end its text."""
    message = choice.get("message") or {}
    text, refusal = _text(message.get("content")), message.get("refusal") or ""
    finish = _FINISHES.get(choice.get("finish_reason", ""), Finish.FINISH_UNSPECIFIED)
    return Completion(
        text=form.read("\n".join(filter(None, (text or refusal, _tool_call(message))))),
        finish=Finish.FINISH_REFUSAL if refusal and not text else finish,
        reasoning=_reasoning(message),
    )


def _share(tokens: int, place: int, places: int) -> int:
    return tokens // places + (place < tokens % places)


def _text(content: str | list[dict[str, Any]] | None) -> str:
    """Returns the text of a content, which may come in parts."""
    if isinstance(content, list):
        return "".join(part["text"] for part in content if part.get("type", "text") == "text")
    return content or ""


def _reasoning(message: Mapping[str, Any]) -> str:
    """Returns the thoughts, which may be parts of the content."""
    found = next((message[name] for name in _REASONING if message.get(name)), "")
    parts = content if isinstance(content := message.get("content"), list) else []
    thoughts = [part["thinking"] for part in parts if part.get("type") == "thinking"]
    told = [found if isinstance(found, str) else "", *map(_text, thoughts)]
    return "\n\n".join(filter(None, told))


def _tool_call(message: Mapping[str, Any]) -> str:
    calls = message.get("tool_calls") or ([{"function": call}] if (call := message.get("function_call")) else [])
    return str(calls[0]["function"]["arguments"]) if len(calls) == 1 else ""


def _output_tokens(answer: Mapping[str, Any]) -> tuple[int, int]:
    """Returns the tokens of an answer with its thoughts, and those of the thoughts.

    Where the total has tokens that are neither the prompt's nor the answer's, they are thoughts.
    """
    usage = answer.get("usage")
    written, thought = _tokens(usage, "completion_tokens"), int(_counted(answer, "reasoning"))
    hidden = max(0, _tokens(usage, "total_tokens") - _tokens(usage, "prompt_tokens") - written)
    return written + hidden, max(thought, hidden)


def _tokens(usage: Any, name: str) -> int:
    """Returns a count of tokens; endpoints that do not count say null, or a negative number."""
    return max(0, int((usage or {}).get(name) or 0))


def _counted(answer: Mapping[str, Any], count: str) -> float:
    """Returns a number that endpoints put in different places."""
    for places in USAGE[count]:
        found: Any = answer
        for place in places:
            found = found.get(place) if isinstance(found, dict) else None
        if isinstance(found, int | float) and math.isfinite(found):
            return max(0.0, found)
    return 0.0


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


def error_words(content: bytes) -> str:
    """Returns the beginning of the endpoint's error message, in one line."""
    return error_in(content).words[:MAX_WORDS]


def ended(content: bytes, model: str) -> Completion | None:
    """Returns the answer for an error that tells how an answer ended: a filter stopped it, or it had no room."""
    words = error_in(content).words
    for kind, finish in (("filtered", Finish.FINISH_FILTER), ("cut_off", Finish.FINISH_LENGTH)):
        if ERRORS[kind].search(words):
            return Completion(model=model, engine="openai", finish=finish)
    return None


def status_in(content: bytes) -> int:
    """Returns the status of an error that comes in place of an answer; 200 if it tells none."""
    try:
        code = json.loads(content)["error"]["code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return 200
    return code if isinstance(code, int) and 400 <= code < 600 else 200
