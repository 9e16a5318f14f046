"""The route with which evaluation harnesses score prompts, as they send requests and read answers."""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

from benchmarks.echo import Echo
from soliloquy.problems.bank.bank import bank_names
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.v1.model_pb2 import Completion, Delta, Finish, GenerateRequest, TokenLogprob
from soliloquy_services.model.backend import ModelBackend, ScriptedBackend
from soliloquy_services.model.engines.engine import EngineBusy
from soliloquy_services.model.handler import MAX_SAMPLES, ModelHandler
from tests.cases import each_case
from tests.unit.model.test_openai import call, pytestmark, served

__all__ = ["pytestmark"]

# What lm-evaluation-harness sends of a text to score.
SCORING = {"temperature": 0, "max_tokens": 1, "logprobs": 1, "seed": 1234, "echo": True}


class Scorer(Echo):
    """Knows its tokens by their numbers, and the answer to everything."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[GenerateRequest] = []

    async def stream(self, request: GenerateRequest) -> AsyncGenerator[Delta, None]:
        self.requests.append(request)
        tokens = [f"<{token}>" for token in request.raw_tokens] or request.raw_text.split(" ")
        completion = Completion(
            text="END",
            model="echo",
            engine="echo",
            prompt_tokens=len(tokens),
            completion_tokens=1,
            finish=Finish.FINISH_LENGTH,
        )
        if request.sampling.logprobs:
            completion.logprobs.append(scored("END", -0.5))
        if request.sampling.prompt_logprobs:
            first, *rest = tokens
            completion.prompt_logprobs.append(TokenLogprob(token=first))
            completion.prompt_logprobs.extend(scored(token, -float(place)) for place, token in enumerate(rest, 1))
        yield Delta(text="END", completion=completion)


class Narrow(Scorer):
    """Takes four requests at once, and refuses others."""

    most_at_once = 4

    def __init__(self) -> None:
        super().__init__()
        self._running = 0

    async def stream(self, request: GenerateRequest) -> AsyncGenerator[Delta, None]:
        if self._running == self.most_at_once:
            raise EngineBusy("4 requests are already waiting")
        self._running += 1
        try:
            # Lets the others in.
            await asyncio.sleep(0)
            async for delta in super().stream(request):
                yield delta
        finally:
            self._running -= 1


def scored(token: str, logprob: float) -> TokenLogprob:
    return TokenLogprob(token=token, logprob=logprob, top=[TokenLogprob(token="best", logprob=-0.25)])


async def complete(backend: ModelBackend, **asked: Any) -> tuple[int, Any]:
    body = json.dumps({"model": backend.info().model, **asked}).encode()
    async with served(ModelHandler(backend)) as port:
        return await call(port, "POST", "/v1/completions", body)


async def test_as_many_texts_as_a_request_may_have_do_not_refuse_each_other() -> None:
    texts = [f"text {number}" for number in range(MAX_SAMPLES)]
    status, answer = await complete(Narrow(), prompt=texts, **SCORING)
    assert (status, [each["index"] for each in answer["choices"]]) == (200, [*range(MAX_SAMPLES)])


async def test_a_prompt_is_scored_as_harnesses_read_it() -> None:
    status, answer = await complete(Scorer(), prompt=[[5, 6, 7], [8, 9]], **SCORING)
    assert (status, answer["object"], [each["index"] for each in answer["choices"]]) == (200, "text_completion", [0, 1])
    first, second = (each["logprobs"] for each in answer["choices"])
    assert first == {
        "tokens": ["<5>", "<6>", "<7>", "END"],
        "token_logprobs": [None, -1.0, -2.0, -0.5],
        "top_logprobs": [
            None,
            {"best": -0.25, "<6>": -1.0},
            {"best": -0.25, "<7>": -2.0},
            {"best": -0.25, "END": -0.5},
        ],
        "text_offset": [0, 3, 6, 9],
    }
    # A harness takes the continuation's tokens between the context and the token that it had to ask for.
    assert [sum(each["token_logprobs"][1:-1]) for each in (first, second)] == [-3.0, -1.0]
    assert answer["choices"][0]["text"] == "<5><6><7>END"
    assert answer["usage"] == {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}


async def test_a_prompt_is_scored_without_an_answer() -> None:
    _, answer = await complete(Scorer(), prompt="one two", echo=True, logprobs=0, max_tokens=0)
    [choice] = answer["choices"]
    assert (choice["text"], choice["finish_reason"]) == ("one two", "length")
    assert choice["logprobs"]["token_logprobs"] == [None, -1.0]
    assert answer["usage"] == {"prompt_tokens": 2, "completion_tokens": 0, "total_tokens": 2}


async def test_a_text_is_answered_without_a_chat_template() -> None:
    backend = Scorer()
    status, answer = await complete(backend, prompt=["one two", "three"], max_tokens=7, stop=["."], temperature=0)
    assert (status, [each["text"] for each in answer["choices"]]) == (200, ["END", "END"])
    assert [each["logprobs"] for each in answer["choices"]] == [None, None]
    first, second = backend.requests
    assert (first.raw_text, second.raw_text, len(first.messages)) == ("one two", "three", 0)
    assert (first.sampling.max_tokens, list(first.sampling.stop), first.sampling.logprobs) == (7, ["."], False)


async def test_a_retry_of_several_prompts_gets_each_answer_again() -> None:
    backend = Scorer()
    body = json.dumps({"model": "echo", "prompt": ["one", "two"], "seed": 3}).encode()
    async with served(ModelHandler(backend)) as port:
        for _ in range(2):
            await call(port, "POST", "/v1/completions", body, **{"idempotency-key": "this"})
    assert [request.id for request in backend.requests] == ["this/0", "this/1"]


@each_case
async def test_what_is_not_done_is_refused_in_a_sentence(asked: dict[str, Any], complaint: str) -> None:
    status, answer = await complete(Scorer(), **asked)
    assert status == (404 if "model" in asked else 400)
    assert complaint in answer["error"]["message"]


async def test_an_engine_without_weights_scores_nothing() -> None:
    backend = ScriptedBackend(scripted_model(ModelSettings(problems=bank_names())))
    status, answer = await complete(backend, prompt="x", **SCORING)
    assert (status, answer["error"]["message"].partition(":")[0]) == (400, "the scripted engine answers messages")
