"""vLLM's own server, whose reasoning parser gives thoughts a field of their own."""

import asyncio
import re
import time
import urllib.request

import pytest

from soliloquy.runtime.model.faults import UnknownModel
from tests.servers.promises import ENDLESS, SECONDS, RealServerPromises, asking, request
from tests.servers.running import MODEL, RealServer

pytestmark = pytest.mark.timeout(600)


class TestVllm(RealServerPromises):
    dialect = "vllm"

    @pytest.fixture
    def server(self, vllm: RealServer) -> RealServer:
        return vllm


def running_requests(server: RealServer) -> float:
    with urllib.request.urlopen(server.url.removesuffix("/v1") + "/metrics", timeout=30) as response:
        found = re.search(r"^vllm:num_requests_running\{.*\} (\S+)$", response.read().decode(), re.MULTILINE)
    assert found
    return float(found[1])


def wait_until_running(server: RealServer, number: float) -> None:
    deadline = time.monotonic() + 60
    while running_requests(server) != number:
        assert time.monotonic() < deadline
        time.sleep(0.2)


async def test_a_call_that_is_given_up_frees_the_server(vllm: RealServer) -> None:
    async with asking(vllm) as client:
        call = asyncio.create_task(client.ask(request(schema=ENDLESS, max_tokens=3000), SECONDS))
        await asyncio.to_thread(wait_until_running, vllm, 1)
        call.cancel()
        await asyncio.to_thread(wait_until_running, vllm, 0)
        assert call.cancelled()


async def test_thoughts_come_in_a_field_of_their_own(vllm: RealServer) -> None:
    async with asking(vllm) as client:
        answers = [await client.ask(request(seed=seed, max_tokens=60), SECONDS) for seed in range(4)]
    assert any(answer.reasoning for answer in answers)
    assert any(answer.text for answer in answers)


async def test_a_model_that_it_does_not_serve_is_named_with_those_that_it_does(vllm: RealServer) -> None:
    async with asking(vllm, model="nobody") as client:
        with pytest.raises(UnknownModel, match=rf"`nobody` does not exist.*it offers algebra, {MODEL}"):
            await client.ask(request(), SECONDS)


async def test_an_adapter_is_asked_by_its_name(vllm: RealServer) -> None:
    async with asking(vllm) as client:
        assert (await client.ask(request(adapter="algebra", max_tokens=5), SECONDS)).model == "algebra"
