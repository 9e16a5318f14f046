"""The server of llama.cpp's Python bindings. It answers one request at a time, whatever model it is asked for."""

import pytest

from benchmarks.real_servers import Served
from soliloquy.recipes.soliloquy.answers import Enriched
from soliloquy.v1.model_pb2 import Finish
from tests.servers.promises import SECONDS, RealServerPromises, asking, request


class TestLlamaCpp(RealServerPromises):
    dialect = "llama-cpp-python"

    @pytest.fixture
    def server(self, llama_cpp: Served) -> Served:
        return llama_cpp


@pytest.mark.timeout(600)
@pytest.mark.parametrize("dialect", ["", "llama-cpp-python"])
async def test_a_schema_with_a_long_text_does_not_end_the_server(llama_cpp: Served, dialect: str) -> None:
    """A maxLength of thousands becomes a grammar that it cannot parse, and the process dies of it."""
    assert "maxLength" in Enriched.json_schema()
    async with asking(llama_cpp, dialect=dialect) as client:
        for _ in range(2):
            completion = await client.ask(request(schema=Enriched.json_schema(), max_tokens=1500), SECONDS)
            assert completion.finish == Finish.FINISH_STOP
            assert Enriched.read(completion.text)


@pytest.mark.timeout(600)
async def test_any_model_is_served_so_a_wrong_name_shows_only_in_the_records(llama_cpp: Served) -> None:
    async with asking(llama_cpp, model="nobody") as client:
        assert (await client.ask(request(max_tokens=5), SECONDS)).model == "nobody"
