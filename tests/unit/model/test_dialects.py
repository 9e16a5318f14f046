"""A run comes through the manners of each kind of endpoint, and asks in its dialect from the first call."""

import importlib
import pkgutil

import pytest

from benchmarks.endpoint.server import FakeEndpoint
from benchmarks.endpoint.settings import EndpointSettings
from soliloquy import recipes
from soliloquy.runtime.answers import Answer
from soliloquy.runtime.model.dialects import dialect_of, dialects
from soliloquy.runtime.model.faults import EndpointRefuses, UnknownModel
from soliloquy.runtime.model.keys import Key
from soliloquy.runtime.model.negotiation import MOST_ADAPTATIONS
from soliloquy.runtime.model.openai_client import OpenAIClient
from soliloquy.runtime.model.schemas import forms_of
from soliloquy.runtime.model.settings import Endpoint
from soliloquy.v1.events_pb2 import ConversationStarted
from soliloquy.v1.model_pb2 import Completion, GenerateRequest
from soliloquy_services.model.engines.scripted import ScriptedEngine
from tests.unit.model.hosted import ENGINE, asking
from tests.unit.model.on_dialects import SEED, Sandbox, figures
from tests.unit.scripted.growing import begun, finished

CONVERSATIONS = 20
# Of the answers, those that may be asked for again because they cannot be read.
MOST_FOR_FORM = 0.02


@pytest.fixture(params=sorted(dialects()))
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_no_conversation_is_lost_and_next_to_no_answer_asked_for_again_for_its_form(dialect: str) -> None:
    found = await figures(dialect, CONVERSATIONS)
    assert (found.lost, found.given_up, found.adaptations) == (0, 0, 0), found.why_lost
    assert found.for_form <= MOST_FOR_FORM * found.calls
    assert bool(found.with_thoughts) == bool(dialects()[dialect].reasoning)


async def test_an_endpoint_of_an_unknown_dialect_is_found_out_in_its_first_calls(dialect: str) -> None:
    found = await figures(dialect, 2, settings="unknown")
    assert (found.lost, found.given_up) == (0, 0), found.why_lost
    assert found.adaptations <= 2 * MOST_ADAPTATIONS


@pytest.mark.parametrize("name", [name for name, known in dialects().items() if known.owner])
async def test_a_server_is_recognized_by_the_owner_of_its_models_and_asked_in_its_dialect(name: str) -> None:
    found = await figures(name, 1, settings="")
    assert (found.lost, found.adaptations) == (0, 0), found.why_lost


async def test_azure_takes_a_deployment_a_version_and_a_key_of_its_own() -> None:
    fake = FakeEndpoint(ENGINE, EndpointSettings(dialect="azure", key="sk-right"))
    schema = max(schemas(), key=len)
    async with fake.serving("127.0.0.1:0") as url:
        assert "/openai/deployments/scripted?api-version=" in url

        async def answer(base_url: str, key: str, dialect: str = "azure") -> Completion:
            endpoint = Endpoint(engine="openai", base_url=base_url, model="scripted", dialect=dialect)
            client = OpenAIClient("azure", endpoint, Key(key, "AZURE_KEY"))
            try:
                return await client.ask(GenerateRequest(schema=schema, seed=3), 5)
            finally:
                await client.close()

        assert (await answer(url, "sk-right")).text
        assert fake.refused == 0
        with pytest.raises(EndpointRefuses, match="refuses the key in AZURE_KEY"):
            await answer(url, "sk-wrong")
        with pytest.raises(EndpointRefuses, match="refuses the key in AZURE_KEY"):
            await answer(url, "sk-right", dialect="openai")
        with pytest.raises(UnknownModel, match="404"):
            await answer(url.partition("?")[0], "sk-right")


def test_an_azure_address_is_recognized() -> None:
    assert dialect_of("", "https://mine.openai.azure.com/openai/deployments/x?api-version=1", "x").name == "azure"


async def test_what_an_endpoint_says_that_an_answer_costs_is_in_the_record_of_its_call() -> None:
    fake = FakeEndpoint(ScriptedEngine(), EndpointSettings(dialect="openrouter"))
    async with asking(fake, model="scripted", dialect="openrouter") as model:
        ended = await finished(ConversationStarted(conversation=begun(0, seed=SEED)), engine=model, sandbox=Sandbox())
    calls = [call for turn in ended.turns for call in turn.calls]
    assert calls
    for call in calls:
        assert call.cost == pytest.approx(1e-6 * (call.prompt_tokens + call.completion_tokens))


def schemas() -> set[str]:
    for module in pkgutil.walk_packages(recipes.__path__, f"{recipes.__name__}."):
        importlib.import_module(module.name)
    kinds, found = [Answer], set()
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        if kind.__module__.startswith(f"{recipes.__name__}.") and kind.__subclasses__() == []:
            found.add(kind.json_schema())
    return found - {""}


async def test_every_schema_of_every_recipe_is_accepted_in_its_strongest_form(dialect: str) -> None:
    fake = FakeEndpoint(ENGINE, EndpointSettings(dialect=dialect))
    async with asking(fake, model="scripted", dialect=dialect) as model:
        for schema in schemas():
            strongest = forms_of(schema, "recipe/state", "json_schema", dialects()[dialect])[0]
            assert strongest.response_format
            await model.generate(GenerateRequest(prompt="", schema=schema, seed=3))
    assert len(schemas()) > 10
    assert fake.refused == 0
