"""A run comes through the manners of each kind of endpoint, and asks in its dialect from the first call."""

import importlib
import json
import pkgutil

import pytest

from services.model.fake.server import FakeServer, FakeSettings
from soliloquy import recipes
from soliloquy.runtime.answers import Answer
from soliloquy.runtime.model.dialects import dialects
from soliloquy.runtime.model.negotiation import MOST_ADAPTATIONS
from soliloquy.runtime.model.schemas import FIELD, forms_of
from soliloquy.v1.model_pb2 import GenerateRequest
from tests.unit.model.hosted import ENGINE, asking
from tests.unit.model.on_dialects import figures

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
    fake = FakeServer(ENGINE, FakeSettings(dialect=dialect))
    async with asking(fake, model="large", dialect=dialect) as model:
        for schema in schemas():
            strongest = forms_of(schema, "recipe/state", "json_schema", dialects()[dialect])[0]
            assert strongest.response_format
            completion = await model.generate(GenerateRequest(prompt="", schema=schema, seed=3))
            assert FIELD not in json.loads(completion.text)
    assert len(schemas()) > 10
    assert fake.refused == 0
