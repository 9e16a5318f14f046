"""What an endpoint refuses is left out of a call, and nothing else, for as long as the process runs."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from aiohttp import web

from soliloquy.recipes.answers import Decision, Program
from soliloquy.runtime.model import ModelRefused
from soliloquy.runtime.model.faults import InvalidAnswer
from soliloquy.runtime.model.negotiation import MOST_ADAPTATIONS, error_in
from soliloquy.v1.model_pb2 import Finish, GenerateRequest, Message
from tests.unit.runtime.model.far import ANSWER, REQUEST, Far, error, line_to, said
from tests.unit.runtime.model.streams import KeptStreams

OTHER = GenerateRequest.FromString(REQUEST.SerializeToString())
OTHER.schema = Program.json_schema()


class Refusing(Far):
    """An endpoint that answers when a request pleases it."""

    def __init__(self, refuse: Callable[[dict[str, Any]], Callable[[], web.Response] | None]) -> None:
        super().__init__()
        self._refuse = refuse

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.bodies.append(await request.json())
        return (self._refuse(self.bodies[-1]) or said(200))()

    @property
    def formats(self) -> list[object]:
        return [form_of(body) for body in self.bodies]


def form_of(body: dict[str, Any]) -> object:
    asked = body.get("response_format", {})
    strict = asked.get("json_schema", {}).get("strict")
    return ("strict" if strict else "loose") if "json_schema" in asked else asked.get("type")


# What real endpoints say about a parameter.
ABOUT_TEMPERATURE = [
    error(400, "Unsupported value: 'temperature' does not support 0.5 with this model.", param="temperature"),
    error(400, "Unsupported parameter: 'temperature' is not supported with this model.", code="unsupported_parameter"),
    error(400, "`temperature` is deprecated for this model."),
    error(400, "temperature is not supported for reasoning models"),
    said(400, [{"error": {"code": 400, "message": 'Invalid JSON payload received. Unknown name "temperature"'}}]),
    said(422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "temperature"], "msg": "not permitted"}]}),
    said(400, {"object": "error", "message": "unexpected keyword 'temperature'", "type": "BadRequestError"}),
    said(400, {"error": {"message": "Provider returned error", "metadata": {"raw": '{"param": "temperature"}'}}}),
]


@pytest.mark.parametrize("refused", ABOUT_TEMPERATURE)
async def test_a_parameter_is_left_out_in_whatever_words_it_is_refused(refused: Callable[[], web.Response]) -> None:
    far = Refusing(lambda body: refused if "temperature" in body else None)
    async with line_to(far) as line:
        for _ in range(2):
            assert (await line.ask(REQUEST, 5)).text == "yes"
    assert ["temperature" in body for body in far.bodies] == [True, False, False]
    assert all("top_p" in body and "seed" in body and form_of(body) == "strict" for body in far.bodies)


async def test_a_reasoning_model_that_refuses_one_parameter_after_the_other_still_answers() -> None:
    def refuse(body: dict[str, Any]) -> Callable[[], web.Response] | None:
        for name in ("max_tokens", "temperature", "top_p"):
            if name in body:
                hint = " Use 'max_completion_tokens' instead." if name == "max_tokens" else ""
                return error(400, f"Unsupported parameter: '{name}' is not supported with this model.{hint}")
        return None

    far = Refusing(refuse)
    async with line_to(far) as line:
        await line.ask(REQUEST, 5)
    assert len(far.bodies) == 4
    assert far.bodies[-1]["max_completion_tokens"] == 77


async def test_of_two_parameters_that_exclude_each_other_one_is_left_out() -> None:
    words = "`temperature` and `top_p` cannot both be specified for this model."
    far = Refusing(lambda body: error(400, words) if {"temperature", "top_p"} <= body.keys() else None)
    async with line_to(far) as line:
        await line.ask(REQUEST, 5)
    assert "temperature" in far.bodies[-1]


async def test_a_model_without_a_role_for_instructions_reads_them_before_the_first_message() -> None:
    def refuse(body: dict[str, Any]) -> Callable[[], web.Response] | None:
        return error(400, "System role not supported") if body["messages"][0]["role"] == "system" else None

    far = Refusing(refuse)
    async with line_to(far) as line:
        await line.ask(REQUEST, 5)
    assert far.bodies[-1]["messages"] == [{"role": "user", "content": "Decide.\n\n3 × 4 = 11?"}]


async def test_a_schema_that_is_refused_comes_in_weaker_forms_and_no_other_schema_does() -> None:
    def refuse(body: dict[str, Any]) -> Callable[[], web.Response] | None:
        is_first = "Python" not in json.dumps(body.get("response_format", ""))
        words = "Invalid schema for response_format 'x'"
        return error(400, words) if "response_format" in body and is_first else None

    far = Refusing(refuse)
    async with line_to(far) as line:
        await line.ask(REQUEST, 5)
        assert far.formats == ["strict", "loose", "json_object", "json_object", None]
        await line.ask(REQUEST, 5)
        await line.ask(OTHER, 5)
    assert far.formats[5:] == [None, "strict"]


@pytest.mark.parametrize(
    "refused",
    [
        error(400, "Invalid schema for response_format 'x': In context=(), 'anyOf' is not permitted."),
        error(400, "Failed to parse grammar"),
        error(500, "Failed to initialize samplers: failed to parse grammar"),
        error(400, "output_config.format.schema: For 'integer' type, property 'minimum' is not supported"),
        said(400, [{"error": {"code": 400, "message": "Request contains an invalid argument."}}]),
        said(400, {"object": "error", "message": "The provided JSON schema contains features not supported"}),
    ],
)
async def test_a_union_at_the_root_is_nested_where_the_root_may_be_none_and_read_as_if_it_were_not(
    refused: Callable[[], web.Response],
) -> None:
    nested = ANSWER | {
        "choices": [{"message": {"content": '{"answer": {"Use Python": "n"}}'}, "finish_reason": "stop"}]
    }
    far = Refusing(
        lambda body: refused if "anyOf" in body["response_format"]["json_schema"]["schema"] else said(200, nested)
    )
    async with line_to(far) as line:
        completion = await line.ask(GenerateRequest(prompt="p", schema=Decision.json_schema()), 5)
    assert completion.text == '{"Use Python": "n"}'
    assert far.formats == ["strict", "strict"]


@pytest.mark.parametrize(
    "words",
    ["'max_tokens' is too large: 9000. This model's maximum context length is 4096 tokens.", "seed of doubt"],
)
async def test_an_error_that_no_leaving_out_can_mend_is_an_error_and_is_not_remembered(words: str) -> None:
    far = Refusing(lambda body: error(400, words) if len(body["messages"]) > 1 else None)
    short = GenerateRequest.FromString(REQUEST.SerializeToString())
    del short.messages[1:]
    async with line_to(far) as line:
        with pytest.raises(ModelRefused):
            await line.ask(REQUEST, 5)
        await line.ask(short, 5)
    assert {"max_tokens", "seed", "temperature", "response_format"} <= far.bodies[-1].keys()


async def test_an_endpoint_that_refuses_everything_is_not_asked_for_ever() -> None:
    names = "temperature top_p seed max_tokens max_completion_tokens stream response_format"
    far = Refusing(lambda body: error(400, f"not supported: {names}"))
    async with line_to(far) as line:
        with pytest.raises((ModelRefused, InvalidAnswer)):
            await line.ask(REQUEST, 5, KeptStreams())
    assert len(far.bodies) <= MOST_ADAPTATIONS


@pytest.mark.parametrize(
    "answer",
    [
        error(400, "The response was filtered due to our content management policy", code="content_filter"),
        error(400, "Invalid prompt: your prompt was flagged", code="invalid_prompt"),
        error(403, "The model requires moderation and your input was flagged"),
    ],
)
async def test_a_filtered_prompt_is_an_answer_that_a_filter_stopped(answer: Callable[[], web.Response]) -> None:
    async with line_to(Far(answer)) as line:
        assert (await line.ask(REQUEST, 5)).finish == Finish.FINISH_FILTER


async def test_a_model_that_had_no_room_after_its_thoughts_was_cut_off() -> None:
    words = "Could not finish the message because max_tokens or model output limit was reached."
    async with line_to(Far(error(400, words))) as line:
        assert (await line.ask(REQUEST, 5)).finish == Finish.FINISH_LENGTH


def test_what_a_validation_error_repeats_of_the_request_is_not_read() -> None:
    detail = {"type": "missing", "loc": ["body", "messages"], "msg": "Field required", "input": {"seed": 1}}
    assert "seed" not in error_in(json.dumps({"detail": [detail]}).encode()).words


@pytest.mark.parametrize("quoted", [{"error": {"message": "you said \ud83d"}}, {"error": "you said \ud83d"}])
def test_half_of_a_quoted_emoji_is_told_as_text_that_every_record_can_hold(quoted: dict[str, Any]) -> None:
    assert "you said \\ud83d" in error_in(json.dumps(quoted).encode()).words


RULES = "You are a tutor."
SO_FAR = "The conversation so far:\n<conversation>\nStudent: 3?\n</conversation>\n"
TASK = "\nReply."
ASKED = GenerateRequest(
    messages=[Message(role="system", text=RULES), Message(role="user", text=SO_FAR + TASK)], draw_key="c-1"
)


async def body_in(dialect: str, model: str = "large", asked: GenerateRequest = ASKED) -> dict[str, Any]:
    far = Far(said(200))
    async with line_to(far, dialect=dialect, model=model) as line:
        await line.ask(asked, 5.0)
    return far.bodies[0]


async def test_the_calls_of_a_conversation_have_one_cache_key_where_the_api_has_such() -> None:
    assert (await body_in("openai"))["prompt_cache_key"] == "c-1"
    assert (await body_in("openai-reasoning"))["prompt_cache_key"] == "c-1"


@pytest.mark.parametrize("dialect", ["unknown", "vllm", "anthropic", "gemini", "azure"])
async def test_other_apis_are_sent_nothing_that_they_may_refuse(dialect: str) -> None:
    body = await body_in(dialect)
    assert "prompt_cache_key" not in body
    assert [message["content"] for message in body["messages"]] == [RULES, SO_FAR + TASK]


def marked(content: Sequence[dict[str, Any]]) -> list[tuple[str, bool]]:
    return [(part["text"], "cache_control" in part) for part in content]


async def test_marks_stand_behind_the_rules_and_behind_the_conversation_so_far() -> None:
    system, user = (await body_in("openrouter", "anthropic/claude-sonnet-4.5"))["messages"]
    assert marked(system["content"]) == [(RULES, True)]
    assert marked(user["content"]) == [(SO_FAR, True), (TASK, False)]
    plain = await body_in("openrouter", "meta-llama/llama-3.3-70b")
    assert plain["messages"][0]["content"] == RULES
