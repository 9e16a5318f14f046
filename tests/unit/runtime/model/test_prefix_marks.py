"""A request tells the endpoint where others begin alike, in the way that its dialect has for it."""

from collections.abc import Sequence
from typing import Any

import pytest

from soliloquy.v1.model_pb2 import GenerateRequest, Message
from tests.unit.runtime.model.far import Far, line_to, said

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


async def test_a_prompt_without_a_conversation_has_a_mark_behind_its_rules_alone() -> None:
    asked = GenerateRequest(messages=[Message(role="system", text=RULES), Message(role="user", text="Plan.")])
    system, user = (await body_in("openrouter", "anthropic/claude-sonnet-4.5", asked))["messages"]
    assert marked(system["content"]) == [(RULES, True)]
    assert marked(user["content"]) == [("Plan.", False)]
