"""vLLM's own server, whose reasoning parser gives thoughts a field of their own."""

import asyncio
import re
import time
import urllib.request

import pytest

from benchmarks.real_servers import Served
from soliloquy.dataset.prompt_reuse import replayed, share
from soliloquy.recipes.recipe import find
from soliloquy.runtime.model.faults import UnknownModel
from tests.servers.promises import ENDLESS, SECONDS, RealServerPromises, asking, request
from tests.servers.running import BLOCK_TOKENS, MODEL
from tests.unit.scripted.growing import grown

pytestmark = pytest.mark.timeout(600)


class TestVllm(RealServerPromises):
    dialect = "vllm"

    @pytest.fixture
    def server(self, vllm: Served) -> Served:
        return vllm


def metric(server: Served, name: str) -> float:
    with urllib.request.urlopen(server.url.removesuffix("/v1") + "/metrics", timeout=30) as response:
        found = re.search(rf"^vllm:{name}\{{.*\}} (\S+)$", response.read().decode(), re.MULTILINE)
    assert found, name
    return float(found[1])


def running_requests(server: Served) -> float:
    return metric(server, "num_requests_running")


def wait_until_running(server: Served, number: float) -> None:
    deadline = time.monotonic() + 60
    while running_requests(server) != number:
        assert time.monotonic() < deadline
        time.sleep(0.2)


async def test_a_call_that_is_given_up_frees_the_server(vllm: Served) -> None:
    async with asking(vllm) as client:
        call = asyncio.create_task(client.ask(request(schema=ENDLESS, max_tokens=3000), SECONDS))
        await asyncio.to_thread(wait_until_running, vllm, 1)
        call.cancel()
        await asyncio.to_thread(wait_until_running, vllm, 0)
        assert call.cancelled()


async def test_thoughts_come_in_a_field_of_their_own(vllm: Served) -> None:
    async with asking(vllm) as client:
        answers = [await client.ask(request(seed=seed, max_tokens=60), SECONDS) for seed in range(4)]
    assert any(answer.reasoning for answer in answers)
    assert any(answer.text for answer in answers)


async def test_its_counter_of_cached_tokens_is_the_one_that_the_prompts_foretell(vllm: Served) -> None:
    conversations = [await grown(ordinal, seed=3) for ordinal in range(6)]
    foretold = share(replayed(conversations).total, BLOCK_TOKENS)
    counters = ("prefix_cache_queries_total", "prefix_cache_hits_total")
    before = [await asyncio.to_thread(metric, vllm, name) for name in counters]
    read = cached = 0
    async with asking(vllm) as client:
        for conversation in conversations:
            for _, prompt in find("soliloquy").prompts(conversation):
                asked = request(max_tokens=1)
                # On a CPU vLLM ends on a prompt that it computes in parts, if a seed draws the answer.
                asked.sampling.temperature = 0
                del asked.messages[:]
                asked.messages.extend(prompt.messages)
                answer = await client.ask(asked, SECONDS)
                read += answer.prompt_tokens
                cached += answer.cached_tokens
    queries, hits = [
        await asyncio.to_thread(metric, vllm, name) - was for name, was in zip(counters, before, strict=True)
    ]
    print(f"cached by the answers {cached / read:.1%}, by the counter {hits / queries:.1%}, foretold {foretold:.1%}")
    assert hits / queries == pytest.approx(foretold, abs=0.05)
    assert (queries, hits) == (read, cached)


async def test_a_model_that_it_does_not_serve_is_named_with_those_that_it_does(vllm: Served) -> None:
    async with asking(vllm, model="nobody") as client:
        with pytest.raises(UnknownModel, match=rf"`nobody` does not exist.*it offers algebra, {MODEL}"):
            await client.ask(request(), SECONDS)


async def test_an_adapter_is_asked_by_its_name(vllm: Served) -> None:
    async with asking(vllm) as client:
        assert (await client.ask(request(adapter="algebra", max_tokens=5), SECONDS)).model == "algebra"
