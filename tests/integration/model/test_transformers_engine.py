"""The transformers engine with a small model: its answers, its batching and its failures."""

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from soliloquy.v1.model_pb2 import Adapter, Finish, GenerateRequest
from soliloquy_services.model.engines.engine import EngineBusy, EngineFailed, InvalidRequest, UnknownAdapter
from soliloquy_services.model.handler import ModelHandler
from tests.integration.model.support import answer, check_scores, request, requests, scoring, started
from tests.models import needs_torch
from tests.waiting import until

pytestmark = needs_torch

QUESTIONS = ("Why does it fall?", "What is 3.2 m/s in km/h?", "Is momentum kept when two carts stick together?")


# Such tests leave the engine as it was.
on_one_engine = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chat(base: Path) -> AsyncIterator[Any]:
    async with started(base) as chat:
        yield chat


def alone(base: Path, adapter: str, asked: Sequence[GenerateRequest]) -> list[str]:
    """Returns the answers of the library's own generation, one request at a time."""
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model: Any = AutoModelForCausalLM.from_pretrained(base)
    if adapter:
        model = PeftModel.from_pretrained(model, adapter)
    tokenizer = AutoTokenizer.from_pretrained(base)

    def answered(one: GenerateRequest) -> str:
        messages = [{"role": message.role, "content": message.text} for message in one.messages]
        prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors="pt")
        made = model.generate(**prompt, do_sample=False, max_new_tokens=one.sampling.max_tokens)
        text: str = tokenizer.decode(made[0, prompt["input_ids"].shape[1] :], skip_special_tokens=True)
        return text.rstrip("\ufffd")

    return [answered(one) for one in asked]


async def test_every_adapter_answers_token_for_token_as_it_does_alone(base: Path, adapters: list[Adapter]) -> None:
    paths = {"": ""} | {adapter.name: adapter.path for adapter in adapters}
    asked = {name: [request(question, adapter=name) for question in QUESTIONS] for name in paths}
    async with started(base) as chat:
        for adapter in adapters:
            await chat.load_adapter(adapter)
        together = await asyncio.gather(*(answer(chat, one) for name in asked for one in asked[name]))
        info = chat.info()
    expected = [text for name in asked for text in alone(base, paths[name], asked[name])]
    assert [completion.text for completion in together] == expected
    assert len(set(expected)) == len(expected)
    assert [adapter.name for adapter in info.adapters] == [adapter.name for adapter in adapters]
    assert info.context_tokens == 4096
    algebra = together[len(QUESTIONS)]
    assert (algebra.engine, algebra.model) == ("transformers", "tiny")
    assert algebra.adapter_digest == info.adapters[0].digest
    assert len(info.digest) == len(algebra.adapter_digest) == 64
    assert 0 < algebra.completion_tokens <= 24
    assert algebra.prompt_tokens > 10


@on_one_engine
async def test_an_answer_ends_before_its_stop_and_the_engine_is_free(chat: Any) -> None:
    whole = await answer(chat, request())
    half = len(whole.text) // 2
    stopped = request()
    stopped.sampling.stop.append(whole.text[half : half + 3])
    cut = await answer(chat, stopped)
    assert cut.text == whole.text[: whole.text.index(whole.text[half : half + 3])]
    assert cut.finish == Finish.FINISH_STOP
    assert cut.completion_tokens < whole.completion_tokens
    assert await answer(chat, request()) == whole


@on_one_engine
@pytest.mark.parametrize("temperature", [0.0, 0.9])
async def test_an_answer_says_how_probable_each_token_was_as_the_library_has_it(
    chat: Any, base: Path, temperature: float
) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    asked = request(seed=5, temperature=temperature, max_tokens=6)
    asked.sampling.logprobs, asked.sampling.top_logprobs = True, 3
    told = await answer(chat, asked)
    plain = await answer(chat, request(seed=5, temperature=temperature, max_tokens=6))
    assert (plain.text, len(plain.logprobs)) == (told.text, 0)
    model: Any = AutoModelForCausalLM.from_pretrained(base)
    tokenizer = AutoTokenizer.from_pretrained(base)
    messages = [{"role": message.role, "content": message.text} for message in asked.messages]
    prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        first = model(prompt).logits[0, -1].log_softmax(-1).topk(3)
    assert [one.token for one in told.logprobs[0].top] == [tokenizer.decode([one]) for one in first.indices.tolist()]
    assert [one.logprob for one in told.logprobs[0].top] == pytest.approx(first.values.tolist(), abs=1e-4)
    assert "".join(one.token for one in told.logprobs).startswith(told.text)
    for one in told.logprobs:
        assert one.logprob <= one.top[0].logprob
        if not temperature:
            assert one.logprob == one.top[0].logprob


async def test_a_prompt_is_scored_as_the_library_does_while_others_are_answered(
    base: Path, adapters: list[Adapter]
) -> None:
    # More than the engine scores at once.
    tokens = [5 + place * 7 % 90 for place in range(300)]
    async with started(base) as chat:
        await chat.load_adapter(adapters[0])
        answers = asyncio.gather(*(answer(chat, request(question)) for question in QUESTIONS))
        told = await answer(chat, scoring(tokens, adapter="algebra"))
        beside = [completion.text for completion in await answers]
    check_scores(told, base, adapters[0].path, tokens)
    assert beside == alone(base, "", [request(question) for question in QUESTIONS])


@on_one_engine
async def test_a_text_is_scored_as_it_is_and_tokens_have_to_be_known(chat: Any, base: Path) -> None:
    from transformers import AutoTokenizer

    text = "The force is 3 N.<|im_end|>"
    tokens = AutoTokenizer.from_pretrained(base)(text)["input_ids"]
    whole = await answer(chat, scoring(tokens))
    asked = scoring(())
    asked.raw_text = text
    assert await answer(chat, asked) == whole
    for flaw, complaint in (
        (scoring([3, 1_000_000]), "the prompt has the token 1000000: tiny knows 0 to "),
        (GenerateRequest(raw_text="x", raw_tokens=[1]), "the request has raw_text and raw_tokens: send one"),
    ):
        with pytest.raises(InvalidRequest, match=complaint):
            await answer(chat, flaw)


@on_one_engine
async def test_no_more_is_told_than_a_stop_lets_through(chat: Any) -> None:
    whole = await answer(chat, request())
    half = len(whole.text) // 2
    stopped = request()
    stopped.sampling.stop.append(whole.text[half : half + 3])
    stopped.sampling.logprobs = True
    cut = await answer(chat, stopped)
    assert cut.text.startswith("".join(one.token for one in cut.logprobs[:-1]))
    assert len("".join(one.token for one in cut.logprobs)) >= len(cut.text)


@on_one_engine
async def test_a_seed_gives_the_same_answer_whoever_else_is_asked(chat: Any) -> None:
    alone = await answer(chat, request(seed=7, temperature=0.9))
    crowd = [request(question, seed=seed, temperature=1.1) for question in QUESTIONS for seed in range(4)]
    together = await asyncio.gather(*(answer(chat, one) for one in [*crowd, request(seed=7, temperature=0.9)]))
    other = await answer(chat, request(seed=8, temperature=0.9))
    assert together[-1].text == alone.text
    assert other.text != alone.text


@on_one_engine
async def test_an_answer_that_is_cut_off_says_so(chat: Any) -> None:
    cut = await answer(chat, request(max_tokens=3))
    assert (cut.finish, cut.completion_tokens) == (Finish.FINISH_LENGTH, 3)
    whole = await asyncio.gather(
        *(answer(chat, request(seed=seed, temperature=1.0, max_tokens=1000)) for seed in range(3))
    )
    assert {completion.finish for completion in whole} == {Finish.FINISH_STOP}


@on_one_engine
async def test_what_is_streamed_makes_up_the_answer(chat: Any) -> None:
    deltas = [delta async for delta in chat.stream(request(seed=3, temperature=2.0, max_tokens=200))]
    completion = deltas[-1].completion
    assert "".join(delta.text for delta in deltas) == completion.text
    assert len(deltas) > completion.completion_tokens / 2
    assert not any(delta.HasField("completion") for delta in deltas[:-1])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def narrow(base: Path) -> AsyncIterator[Any]:
    async with started(base, batch=1, max_waiting=2) as chat:
        yield chat


@on_one_engine
async def test_a_request_that_is_given_up_makes_room_for_the_next(narrow: Any) -> None:
    async with aclosing(narrow.stream(request(schema='{"type": "string", "minLength": 9000}'))) as deltas:
        await anext(deltas)
        assert requests("running") == 1
    assert requests("running") == 0
    async with asyncio.timeout(120):
        await answer(narrow, request(max_tokens=2))


@on_one_engine
async def test_more_requests_than_may_wait_are_refused(narrow: Any) -> None:
    long = request(schema='{"type": "string", "minLength": 9000}', max_tokens=4000)
    async with asyncio.TaskGroup() as asking:
        first = asking.create_task(answer(narrow, long))
        await until(lambda: requests("running") == 1)
        others = [asking.create_task(answer(narrow, request())) for _ in range(2)]
        await until(lambda: requests("waiting") == 2)
        with pytest.raises(EngineBusy, match="2 requests are already waiting"):
            await answer(narrow, request())
        for task in (first, *others):
            task.cancel()


@on_one_engine
async def test_samples_of_one_request_do_not_refuse_each_other(narrow: Any) -> None:
    completion = await ModelHandler(narrow).generate(request(max_tokens=2, more_seeds=range(1, 8)))
    assert len(completion.more) == 7


class Halt:
    """Blocks the model before its next step until it is released."""

    def __init__(self, chat: Any) -> None:
        self._go = threading.Event()
        chat._engine._base.register_forward_pre_hook(lambda *_: self._go.wait(20) and None)

    def let_go(self) -> None:
        self._go.set()


async def test_an_engine_that_stands_still_with_work_at_hand_has_a_fault(base: Path) -> None:
    async with started(base, stall_seconds=0.2) as chat:
        halt = Halt(chat)
        assert chat.fault == ""
        asked = asyncio.create_task(answer(chat, request()))
        await until(lambda: chat.fault)
        assert "with 1 requests in progress" in chat.fault
        halt.let_go()
        await asked
        assert chat.fault == ""


async def test_an_engine_whose_model_fails_has_a_fault_and_keeps_nobody_waiting(base: Path) -> None:
    def out_of_memory(*_: Any) -> None:
        raise RuntimeError("out of memory")

    async with started(base) as chat:
        chat._engine._base.register_forward_pre_hook(out_of_memory)
        with pytest.raises(EngineFailed, match="out of memory"):
            await answer(chat, request())
        await until(lambda: chat.fault)
        assert chat.fault == "the thread that runs the model has ended"


async def test_an_adapter_that_is_replaced_ends_the_answers_that_it_began_and_an_unloaded_one_is_unknown(
    base: Path, adapters: list[Adapter]
) -> None:
    algebra, mechanics = adapters
    async with started(base) as chat:
        await chat.load_adapter(algebra)
        before = await answer(chat, request(adapter="algebra"))
        async with aclosing(chat.stream(request(adapter="algebra"))) as deltas:
            await anext(deltas)
            await chat.load_adapter(Adapter(name="algebra", path=mechanics.path))
            after = await answer(chat, request(adapter="algebra"))
            *_, last = [delta async for delta in deltas]
        assert last.completion.text == before.text
        assert after.text != before.text
        assert last.completion.adapter_digest == before.adapter_digest != after.adapter_digest
        await chat.unload_adapter("algebra")
        with pytest.raises(UnknownAdapter, match="no adapter 'algebra' is loaded: load it first; loaded: none"):
            await answer(chat, request(adapter="algebra"))
        assert not chat.adapters()
