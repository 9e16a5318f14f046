"""How responses of an OpenAI-compatible endpoint are understood."""

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from soliloquy.runtime.http_server import listening
from soliloquy.runtime.model import ModelRefused, faults
from soliloquy.runtime.model.agreements import FILE
from soliloquy.runtime.model.faults import (
    EndpointRefuses,
    InvalidAnswer,
    RetryableFault,
    Unreachable,
)
from soliloquy.runtime.model.keys import Key
from soliloquy.runtime.model.openai_client import OpenAIClient
from soliloquy.runtime.model.openai_format import MAX_WORDS
from soliloquy.runtime.model.samples import with_seeds
from soliloquy.runtime.model.settings import Endpoint
from soliloquy.runtime.thoughts import parts_of
from soliloquy.v1.model_pb2 import Finish, GenerateRequest
from tests.cases import each_case
from tests.unit.runtime.model.far import ANSWER, REQUEST, SECRET, Far, error, line_to, said
from tests.unit.runtime.model.streams import KeptStreams


async def test_an_answer_is_taken_with_its_tokens_and_the_name_that_the_endpoint_gives_its_model() -> None:
    async with line_to(Far(said(200))) as line:
        completion = await line.ask(REQUEST, 5)
    assert (completion.text, completion.model, completion.engine) == ("yes", "large-2026", "openai")
    assert (completion.prompt_tokens, completion.completion_tokens) == (12, 3)
    assert completion.finish == Finish.FINISH_STOP


async def test_a_request_says_everything_that_the_role_is_to_be_asked_with() -> None:
    far = Far(said(200))
    async with line_to(far) as line:
        await line.ask(REQUEST, 5)
    [body], [headers] = far.bodies, far.headers
    assert (body["model"], body["temperature"], body["top_p"], body["max_tokens"]) == ("large", 0.5, 0.9, 77)
    assert body["messages"][1] == {"role": "user", "content": "3 × 4 = 11?"}
    schema = {"name": "soliloquy_deciding", "schema": {"type": "object"}, "strict": True}
    assert body["response_format"]["json_schema"] == schema
    assert 0 <= body["seed"] < 2**31
    assert headers["Authorization"] == f"Bearer {SECRET}"


@each_case
async def test_each_failure_is_what_it_means_for_the_call(
    status: int,
    body: Any,
    headers: dict[str, str] | None,
    page: str | None,
    kind: str | None,
    raised: str,
    words: str,
) -> None:
    def answer() -> web.Response:
        if page is None:
            return said(status, body, **(headers or {}))()
        text = page.replace("DEEP", "[" * 100_000)
        return web.Response(text=text, status=status, content_type=kind or "text/plain")

    async with line_to(Far(answer)) as line:
        with pytest.raises(getattr(faults, raised, ModelRefused), match=words):
            await line.ask(REQUEST, 5)


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_the_time_to_come_back_at_is_heard(status: int) -> None:
    async with line_to(Far(said(status, {}, **{"Retry-After": "7"}))) as line:
        with pytest.raises(RetryableFault) as passing:
            await line.ask(REQUEST, 5)
    assert passing.value.after == 7.0


async def test_without_a_key_a_refusal_says_where_one_is_looked_for() -> None:
    async with line_to(Far(error(401, "who are you")), key="") as line:
        with pytest.raises(EndpointRefuses, match="requires a key: put it in OPENAI_API_KEY"):
            await line.ask(REQUEST, 5)


async def test_an_endpoint_that_repeats_the_key_does_not_get_it_into_an_error() -> None:
    cut = error(400, f"{'a' * (MAX_WORDS - 30)} [key] {SECRET}")
    for answer in (cut, *(error(status, f"key {SECRET}") for status in (200, 400, 401, 429, 500))):
        async with line_to(Far(answer)) as line:
            with pytest.raises(Exception, match=r"\[key\]") as raised:
                await line.ask(REQUEST, 5)
            assert SECRET[:6] not in repr(raised.value)


async def test_the_key_is_in_no_log_however_much_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with line_to(Far(said(200), error(500, f"key {SECRET}"))) as line:
        await line.ask(REQUEST, 5)
        with pytest.raises(InvalidAnswer) as broken:
            await line.ask(REQUEST, 5)
        logging.getLogger("test").debug("%r %r", line, broken.value)
    assert caplog.records
    assert SECRET not in caplog.text


@pytest.mark.parametrize(
    ("message", "text"), [({"content": None}, ""), ({"content": None, "refusal": "I will not."}, "I will not.")]
)
async def test_an_answer_that_the_endpoint_would_not_say_is_an_unusable_one(message: dict[str, Any], text: str) -> None:
    async with line_to(Far(said(200, {"choices": [{"message": message}]}))) as line:
        completion = await line.ask(REQUEST, 5)
    assert (completion.text, completion.model) == (text, "large")


async def test_where_nobody_listens_the_call_may_be_made_again() -> None:
    with listening("127.0.0.1:0") as listener:
        port = listener.getsockname()[1]
    line = OpenAIClient("hosted", Endpoint(engine="openai", base_url=f"http://127.0.0.1:{port}/v1"), Key("", "K"))
    with pytest.raises(Unreachable):
        await line.ask(REQUEST, 5)
    await line.close()


def chunks(*contents: Any, end: str = "data: [DONE]\n\n") -> Callable[[], web.Response]:
    """The response of a streaming server."""
    lines = "".join(f"data: {json.dumps(content)}\n\n" for content in contents)
    return lambda: web.Response(text=f": hello\n\n{lines}{end}", content_type="text/event-stream")


def piece(text: str, finish: str | None = None) -> dict[str, Any]:
    return {"model": "large-2026", "choices": [{"delta": {"content": text} if text else {}, "finish_reason": finish}]}


USED: dict[str, Any] = {"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 3}}


async def test_an_answer_that_somebody_hears_comes_in_pieces_and_counts_as_any_other() -> None:
    far = Far(chunks(piece("y"), piece("es"), piece("", "stop"), USED))
    async with line_to(far) as line:
        heard = KeptStreams()
        in_pieces = await line.ask(REQUEST, 5, heard)
    async with line_to(Far(said(200))) as line:
        whole = await line.ask(REQUEST, 5)
    assert heard.answers == [["y", "es"]]
    assert in_pieces == whole
    assert far.bodies[0]["stream"] is True


SPOKEN = GenerateRequest(messages=REQUEST.messages)
THINKING = chunks(piece("2 + 2"), piece(" is 4.</thi"), piece("nk>It"), piece(" is 4."), piece("", "stop"))


async def test_thoughts_without_an_opening_mark_are_never_heard(tmp_path: Path) -> None:
    async with line_to(Far(THINKING), findings=tmp_path / FILE) as line:
        heard = KeptStreams()
        for request in (SPOKEN, REQUEST):
            await line.ask(request, 5, heard)
    assert heard.answers == [["2 + 2 is 4.</think>It", " is 4."]] * 2
    assert [parts_of("".join(pieces)).words for pieces in heard.answers] == ["It is 4."] * 2
    assert "thinks_first" in (tmp_path / FILE).read_text("utf-8")


async def test_a_model_that_was_seen_to_speak_at_once_is_heard_at_once() -> None:
    speaking = chunks(piece("It"), piece(" is 4."), piece("", "stop"))
    async with line_to(Far(said(200), speaking)) as line:
        heard = KeptStreams()
        await line.ask(SPOKEN, 5)
        await line.ask(SPOKEN, 5, heard)
    assert heard.answers == [["It", " is 4."]]


async def test_a_mark_beside_thoughts_of_their_own_field_says_nothing_about_a_model(tmp_path: Path) -> None:
    stray = {"choices": [{"message": {"content": "It</think> is 4.", "reasoning": "2 + 2"}, "finish_reason": "stop"}]}
    async with line_to(Far(said(200, stray)), findings=tmp_path / FILE) as line:
        await line.ask(SPOKEN, 5)
    assert '"thinks_first", "no"' in (tmp_path / FILE).read_text("utf-8")


async def test_an_answer_that_was_cut_off_does_not_tell_that_a_model_speaks_at_once() -> None:
    thinking = said(200, {"choices": [{"message": {"content": "2 + 2"}, "finish_reason": "length"}]})
    cut_off = chunks(piece("2 + 2"), piece(" is"), piece("", "length"))
    async with line_to(Far(thinking, cut_off)) as line:
        heard = KeptStreams()
        await line.ask(SPOKEN, 5)
        await line.ask(SPOKEN, 5, heard)
    assert heard.answers == [[]]


@each_case
async def test_tokens_and_cost_are_read_wherever_an_endpoint_tells_them(answer: str, counts: dict[str, float]) -> None:
    async with line_to(Far(said(200, ANSWER | {"usage": {}} | json.loads(answer)))) as line:
        completion = await line.ask(REQUEST, 5)
    assert {name: getattr(completion, name) for name in counts} == counts


@pytest.mark.parametrize(
    "answer",
    [
        chunks(piece("y"), end=""),
        chunks(piece("y"), {"error": {"message": "oops"}}),
        chunks(piece("y"), end="data: {no JSON\n\n"),
        chunks({"choices": [{}]}),
    ],
)
async def test_pieces_that_make_no_answer_are_a_broken_call(answer: Callable[[], web.Response]) -> None:
    async with line_to(Far(answer)) as line:
        with pytest.raises(InvalidAnswer):
            await line.ask(REQUEST, 5, KeptStreams())


async def test_an_endpoint_that_knows_no_pieces_is_asked_for_the_whole() -> None:
    far = Far(error(400, "Unknown parameter: stream_options"), said(200))
    async with line_to(far) as line:
        heard = KeptStreams()
        completion = await line.ask(REQUEST, 5, heard)
        await line.ask(REQUEST, 5, heard)
    assert completion.text == "yes"
    assert ["stream" in body for body in far.bodies] == [True, False, False]
    assert heard.answers == [[]]


async def test_an_adapter_is_a_model_of_its_own_and_is_told_how_long_it_may_think_where_the_settings_say_so() -> None:
    far, eager = Far(said(200)), GenerateRequest.FromString(REQUEST.SerializeToString())
    eager.adapter, eager.sampling.reasoning_effort = "tutor-1", "low"
    async with line_to(far) as line:
        for request in (REQUEST, eager):
            await line.ask(request, 5)
    assert [(body["model"], body.get("reasoning_effort")) for body in far.bodies] == [
        ("large", None),
        ("tutor-1", "low"),
    ]


def choices(*texts: str) -> dict[str, Any]:
    said_ones = [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"} for text in texts]
    return {**ANSWER, "choices": said_ones, "usage": {"prompt_tokens": 12, "completion_tokens": 8}}


async def test_several_samples_are_one_request_and_its_tokens_are_counted_once() -> None:
    far = Far(said(200, choices("a", "b", "c", "more than was asked for")))
    async with line_to(far) as line:
        answer = await line.ask(with_seeds(REQUEST, [1, 2, 3]), 5)
    samples = [answer, *answer.more]
    assert [sample.text for sample in samples] == ["a", "b", "c"]
    assert [sample.prompt_tokens for sample in samples] == [12, 0, 0]
    assert [sample.completion_tokens for sample in samples] == [3, 3, 2]
    assert [body["n"] for body in far.bodies] == [3]


async def test_an_endpoint_that_refuses_several_samples_gives_one() -> None:
    far = Far(error(400, "n must be 1"), said(200))
    async with line_to(far) as line:
        for _ in range(2):
            answer = await line.ask(with_seeds(REQUEST, [1, 2, 3]), 5)
            assert (answer.text, len(answer.more)) == ("yes", 0)
    assert [body.get("n") for body in far.bodies] == [3, None, None]
