"""The routes for OpenAI's clients: answers, chunks and errors as those clients read them."""

import asyncio
import http.client
import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from benchmarks.echo import Echo
from soliloquy.problems.bank.bank import bank_names
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runtime.http_server import listening
from soliloquy.runtime.traces.export import sending
from soliloquy.v1.model_pb2 import Adapter, Delta, Finish, GenerateRequest, LoadAdapterRequest, TokenLogprob
from soliloquy_services.model.backend import ModelBackend, ScriptedBackend
from soliloquy_services.model.engines.engine import EngineBusy, EngineFailed, TooLong
from soliloquy_services.model.handler import MAX_REQUEST_BYTES, ModelHandler
from tests.cases import each_case
from tests.traces.collector import PATH, collecting
from tests.traces.trees import trace_of
from tests.unit.model.answers import Held, Seeded

# In CI a missing library is a failure, not a reason to skip.
pytestmark = pytest.mark.skipif(
    find_spec("starlette") is None and os.environ.get("CI") != "true",
    reason="starlette is missing: pip install 'soliloquy-tutor[serve]'",
)
TWO_WORDS = [{"role": "user", "content": "two words"}]


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def served(handler: ModelHandler) -> AsyncIterator[int]:
    from soliloquy_services.model.openai import application

    with listening("127.0.0.1:0") as listener:
        server = _Server(uvicorn.Config(application(handler), log_config=None, access_log=False, ws="none"))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            await serving


def send(port: int, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        return response.status, response.getheaders(), response.read()
    finally:
        connection.close()


async def call(port: int, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, Any]:
    status, _, text = await asyncio.to_thread(send, port, method, path, body, headers)
    return status, json.loads(text)


async def chat(engine: ModelBackend, **asked: Any) -> tuple[int, Any]:
    body = json.dumps({"model": "echo", "messages": TWO_WORDS, **asked}).encode()
    async with served(ModelHandler(engine)) as port:
        return await call(port, "POST", "/v1/chat/completions", body)


async def refused(engine: ModelBackend, **asked: Any) -> tuple[int, str, str]:
    status, answer = await chat(engine, **asked)
    assert set(answer) == {"error"}
    assert set(answer["error"]) == {"message", "type", "param", "code"}
    return status, answer["error"]["type"], answer["error"]["message"]


class Asked(Echo):
    """Keeps its last request."""

    async def stream(self, request: GenerateRequest) -> AsyncGenerator[Delta, None]:
        self.request = request
        async for delta in super().stream(request):
            yield delta


async def test_an_answer_is_a_chat_completion() -> None:
    status, answer = await chat(Echo())
    assert (status, answer["object"], answer["model"]) == (200, "chat.completion", "echo")
    assert answer["id"].startswith("chatcmpl-")
    [choice] = answer["choices"]
    assert choice["message"] == {"role": "assistant", "content": "two words", "refusal": None}
    assert (choice["index"], choice["finish_reason"]) == (0, "stop")
    assert answer["usage"] == {"prompt_tokens": 2, "completion_tokens": 2, "total_tokens": 4}


@pytest.mark.parametrize(
    ("stop", "sent"), [("END", ["END"]), (["END", "\n"], ["END", "\n"]), ("", []), ([], []), (None, [])]
)
async def test_an_answer_stops_where_its_caller_says(stop: Any, sent: list[str]) -> None:
    backend = Asked()
    assert (await chat(backend, stop=stop))[0] == 200
    assert list(backend.request.sampling.stop) == sent


async def test_tokens_have_their_probabilities_where_a_client_asks_for_them() -> None:
    class Scored(Asked):
        async def stream(self, request: GenerateRequest) -> AsyncGenerator[Delta, None]:
            async for delta in super().stream(request):
                top = [TokenLogprob(token="two", logprob=-0.5), TokenLogprob(token="\ufffd", logprob=-2.0)]
                if request.sampling.logprobs and delta.HasField("completion"):
                    delta.completion.logprobs.append(TokenLogprob(token="two", logprob=-0.5, top=top))
                yield delta

    backend = Scored()
    _, answer = await chat(backend, logprobs=True, top_logprobs=2)
    assert (backend.request.sampling.logprobs, backend.request.sampling.top_logprobs) == (True, 2)
    two = {"token": "two", "logprob": -0.5, "bytes": [116, 119, 111]}
    part = {"token": "\ufffd", "logprob": -2.0, "bytes": None}
    assert answer["choices"][0]["logprobs"] == {"content": [two | {"top_logprobs": [two, part]}], "refusal": None}
    for nothing in ({}, {"logprobs": False}, {"logprobs": None}):
        assert (await chat(backend, **nothing))[1]["choices"][0]["logprobs"] is None


async def test_an_answer_that_was_cut_off_says_so() -> None:
    class CutOff(Echo):
        async def stream(self, request: GenerateRequest) -> AsyncGenerator[Delta, None]:
            async for delta in super().stream(request):
                delta.completion.finish = Finish.FINISH_LENGTH
                yield delta

    _, answer = await chat(CutOff())
    assert answer["choices"][0]["finish_reason"] == "length"


async def test_a_stream_is_chunks_and_ends_as_clients_expect() -> None:
    async with served(ModelHandler(Echo())) as port:
        asked = {"model": "echo", "messages": TWO_WORDS, "stream": True, "stream_options": {"include_usage": True}}
        status, headers, text = await asyncio.to_thread(
            send, port, "POST", "/v1/chat/completions", json.dumps(asked).encode()
        )
    assert (status, dict(headers)["content-type"]) == (200, "text/event-stream; charset=utf-8")
    *events, done = [event.removeprefix("data: ") for event in text.decode().strip().split("\n\n")]
    assert done == "[DONE]"
    *chunks, usage = map(json.loads, events)
    assert {chunk["object"] for chunk in [*chunks, usage]} == {"chat.completion.chunk"}
    assert len({chunk["id"] for chunk in [*chunks, usage]}) == 1
    assert [chunk["choices"][0]["delta"] for chunk in chunks] == [
        {"role": "assistant", "content": "two "},
        {"content": "words"},
        {},
    ]
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None, None, "stop"]
    assert (usage["choices"], usage["usage"]["total_tokens"]) == ([], 4)


async def test_a_stream_that_breaks_ends_with_the_error() -> None:
    engine = Held()
    engine.error = EngineFailed("out of memory")
    async with served(ModelHandler(engine)) as port:
        body = json.dumps({"model": "echo", "messages": TWO_WORDS, "stream": True}).encode()
        _, _, text = await asyncio.to_thread(send, port, "POST", "/v1/chat/completions", body)
    last = json.loads(text.decode().strip().split("\n\n")[-1].removeprefix("data: "))
    assert last["error"]["message"] == "out of memory"


async def test_what_a_client_asks_reaches_the_engine() -> None:
    engine = Asked()
    schema = {"type": "object", "properties": {"answer": {"type": "string"}}}
    status, _ = await chat(
        engine,
        messages=[
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": word} for word in ("two ", "words")]},
        ],
        temperature=0.5,
        top_p=0.9,
        max_completion_tokens=7,
        seed=11,
        response_format={"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}},
        user="somebody",
        n=1,
        tools=[],
        presence_penalty=0,
        metadata={"role": "tutor", "prompt": "soliloquy/deciding"},
    )
    assert status == 200
    asked = engine.request
    assert [(message.role, message.text) for message in asked.messages] == [
        ("system", "Be brief."),
        ("user", "two words"),
    ]
    assert (asked.sampling.temperature, asked.sampling.top_p, asked.sampling.max_tokens) == (0.5, 0.9, 7)
    assert (asked.seed, asked.role, asked.prompt, asked.adapter) == (11, "tutor", "soliloquy/deciding", "")
    assert json.loads(asked.schema) == schema


async def test_what_a_client_leaves_open_is_as_openai_has_it() -> None:
    first, second = Asked(), Asked()
    await chat(first, response_format={"type": "json_object"}, temperature=None)
    await chat(second)
    assert (first.request.sampling.temperature, first.request.sampling.top_p) == (1.0, 1.0)
    assert json.loads(first.request.schema) == {"type": "object"}
    assert second.request.schema == ""
    assert first.request.seed != second.request.seed


async def test_the_same_idempotency_key_is_answered_once() -> None:
    engine = Held()
    engine.let_go.set()
    async with served(ModelHandler(engine)) as port:
        body = json.dumps({"model": "echo", "messages": TWO_WORDS, "seed": 1}).encode()
        answers = [
            await call(port, "POST", "/v1/chat/completions", body, **{"Idempotency-Key": "a-try"}) for _ in range(2)
        ]
    assert [status for status, _ in answers] == [200, 200]
    assert engine.asked == 1


async def test_the_models_are_the_base_and_its_adapters(tmp_path: Path) -> None:
    (tmp_path / "adapter_model.safetensors").write_bytes(b"weights")
    engine = Asked()
    handler = ModelHandler(engine)
    await handler.load_adapter(LoadAdapterRequest(adapter=Adapter(name="tutor", path=str(tmp_path))))
    async with served(handler) as port:
        _, listed = await call(port, "GET", "/v1/models")
        _, one = await call(port, "GET", "/v1/models/tutor")
        body = json.dumps({"model": "tutor", "messages": TWO_WORDS}).encode()
        status, answer = await call(port, "POST", "/v1/chat/completions", body)
    assert [model["id"] for model in listed["data"]] == ["echo", "tutor"]
    assert listed["data"][1] == one
    assert (status, answer["model"], engine.request.adapter) == (200, "tutor", "tutor")


async def test_several_choices_are_samples_of_seeds_in_a_row() -> None:
    async with served(ModelHandler(Seeded())) as port:
        body = json.dumps({"model": "echo", "messages": TWO_WORDS, "n": 3, "seed": 7}).encode()
        _, answer = await call(port, "POST", "/v1/chat/completions", body)
    assert [choice["message"]["content"] for choice in answer["choices"]] == ["seed 7", "seed 8", "seed 9"]
    assert [choice["index"] for choice in answer["choices"]] == [0, 1, 2]
    assert answer["usage"] == {"prompt_tokens": 2, "completion_tokens": 6, "total_tokens": 8}


@each_case
async def test_a_bad_request_is_named_by_its_place(asked: dict[str, Any], complaint: str) -> None:
    status, kind, message = await refused(Echo(), **asked)
    assert (status, kind) == (400, "invalid_request_error")
    assert complaint in message


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (TooLong("said"), 400, "invalid_request_error"),
        (EngineBusy("said"), 429, "rate_limit_error"),
        (EngineFailed("said"), 503, "server_error"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_refusal_is_an_error_with_its_status(error: Exception, status: int, kind: str, stream: bool) -> None:
    class Refuses(Echo):
        async def stream(self, request: GenerateRequest) -> AsyncGenerator[Delta, None]:
            raise error
            yield Delta()

    assert await refused(Refuses(), stream=stream) == (status, kind, "said")


async def test_an_unknown_model_is_not_found_and_told_what_there_is() -> None:
    line = "unknown model 'gpt': use one of echo"
    assert await refused(Echo(), model="gpt") == (404, "invalid_request_error", line)
    async with served(ModelHandler(Echo())) as port:
        status, answer = await call(port, "GET", "/v1/models/gpt")
    assert (status, answer["error"]["message"], answer["error"]["code"]) == (404, line, "model_not_found")


async def test_what_is_no_request_at_all_is_refused() -> None:
    async with served(ModelHandler(Echo())) as port:
        answers = [
            await call(port, "POST", "/v1/chat/completions", b"{"),
            await call(port, "POST", "/v1/chat/completions", b"x" * (MAX_REQUEST_BYTES + 1)),
            await call(port, "GET", "/v1/chat/completions"),
            await call(port, "POST", "/v1/embeddings", b"{}"),
        ]
    assert [status for status, _ in answers] == [400, 400, 405, 404]
    assert "the body is not a JSON object" in answers[0][1]["error"]["message"]
    assert f"limit of {MAX_REQUEST_BYTES} bytes" in answers[1][1]["error"]["message"]
    assert "POST /v1/embeddings does not exist" in answers[3][1]["error"]["message"]


async def test_the_scripted_engine_answers_by_role_and_prompt() -> None:
    engine = ScriptedBackend(scripted_model(ModelSettings(problems=bank_names())))
    status, kind, message = await refused(engine, model="scripted")
    assert (status, kind) == (400, "invalid_request_error")
    assert "the scripted engine cannot answer the prompt ''" in message


async def test_an_answer_is_in_the_trace_of_who_asks_whole_or_in_pieces() -> None:
    caller = f"00-{trace_of('c1')}-00f067aa0ba902b7-01"
    with collecting() as collector:
        with sending(collector.url + PATH):
            async with served(ModelHandler(Echo())) as port:
                for asked in ({}, {"stream": True}):
                    body = json.dumps({"model": "echo", "messages": TWO_WORDS, **asked}).encode()
                    await asyncio.to_thread(send, port, "POST", "/v1/chat/completions", body, {"traceparent": caller})
                    await asyncio.to_thread(send, port, "POST", "/v1/chat/completions", body)
        spans = collector.spans
    assert {(span.service, span.name, span.trace, span.parent) for span in spans} == {
        ("model", "model service", trace_of("c1"), "00f067aa0ba902b7")
    }
    # Tokens are the caller's to tell: a reader of traces sums them over all spans.
    assert [name for span in spans for name in span.attributes if name.startswith("gen_ai.")] == []
    assert not any(b"two words" in body for body in collector.bodies)
