"""A probe tells what an endpoint does with a request, and not what its documentation says."""

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from aiohttp import web

from soliloquy.runs.probing import EndpointFacts, endpoint_facts
from soliloquy.runtime.failure import Failure
from tests.unit.runtime.model.far import Far, error, line_to, said

CALLS = itertools.count()
Answer = Callable[[Mapping[str, Any]], Callable[[], web.Response]]


class Answering(Far):
    """Answers each request by what it asks for."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self._answer = answer

    async def answer(self, request: web.Request) -> web.StreamResponse:
        return self._answer(await request.json())()


def words(
    text: str, usage: Mapping[str, Any] | None = None, choices: int = 1, **message: str
) -> Callable[[], web.Response]:
    choice = {"message": {"role": "assistant", "content": text, **message}, "finish_reason": "stop"}
    return said(200, {"choices": [choice] * choices, "usage": usage or {}})


async def facts(answer: Answer) -> EndpointFacts:
    async with line_to(Answering(answer)) as client:
        return await endpoint_facts(client)


async def test_what_an_endpoint_refuses_is_named_and_left_out_of_the_other_questions() -> None:
    def picky(body: Mapping[str, Any]) -> Callable[[], web.Response]:
        refused = next((name for name in ("stream", "seed", "top_p") if name in body), "")
        return error(400, f"Unsupported parameter: '{refused}'", param=refused) if refused else words("Gull")

    found = await facts(picky)
    assert (found.streaming, found.seeds) == ("refused", "refused")
    assert found.refuses == ["seed", "stream", "top_p"]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda body: words(f"Gull {body['seed']}"), "honoured"),
        (lambda body: words(f"Gull {next(CALLS)}"), "ignored"),
        (lambda body: words("Gull"), "unknown: every answer is the same"),
    ],
)
async def test_seeds_are_told_by_what_the_same_and_another_seed_answer(answer: Answer, told: str) -> None:
    assert (await facts(answer)).seeds == told


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (words("Gull", reasoning_content="A boat. A bird."), "in a field of its own, not counted"),
        (words("<think>A boat.</think>Gull"), "in the text, not counted"),
        (words("Gull", {"completion_tokens_details": {"reasoning_tokens": 7}}), "hidden, 7 tokens counted"),
        (words("Gull"), "none seen"),
    ],
)
async def test_thoughts_are_found_wherever_they_come(answer: Callable[[], web.Response], told: str) -> None:
    assert (await facts(lambda _: answer)).reasoning == told


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda body: words("Gull", choices=body.get("n", 1)), "yes: samples"),
        (lambda body: words("Gull"), "ignored: samples"),
        (lambda body: error(400, "n must be 1", param="n") if "n" in body else words("Gull"), "refused: samples"),
    ],
)
async def test_whether_one_request_may_have_several_answers_is_told(answer: Answer, told: str) -> None:
    assert (await facts(answer)).n.startswith(told)


async def test_counts_of_tokens_are_those_of_the_endpoint() -> None:
    usage = {"prompt_tokens": 1200, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 1024}}
    found = await facts(lambda _: words("Gull", usage))
    assert (found.usage, found.cached_tokens) == ("1200 tokens of the prompt, 9 tokens of the answer", "1024 of 1200")
    assert (await facts(lambda _: words("Gull"))).usage == "not counted"


@pytest.mark.parametrize(
    ("prompt_tokens", "told"), [(1200, "read"), (30, "left out: its template"), (0, "unknown: tokens are not counted")]
)
async def test_a_server_that_leaves_system_messages_out_is_known_by_the_tokens_that_it_counts(
    prompt_tokens: int, told: str
) -> None:
    assert (await facts(lambda _: words("Gull", {"prompt_tokens": prompt_tokens}))).system.startswith(told)


async def test_a_limit_is_told_in_the_endpoints_own_words() -> None:
    def limited(body: Mapping[str, Any]) -> Callable[[], web.Response]:
        if body["max_tokens"] > 8192:
            return error(400, "max_tokens is too large: this model supports at most 8192 completion tokens")
        return words("Gull")

    assert "at most 8192 completion tokens" in (await facts(limited)).limits
    assert (await facts(lambda _: words("Gull"))).limits == "none told"


async def test_an_endpoint_that_does_not_answer_ends_the_probe_with_its_words() -> None:
    with pytest.raises(Failure, match=r"model 'large'\) does not answer: 500: .*out of memory"):
        await facts(lambda _: error(500, "out of memory"))
