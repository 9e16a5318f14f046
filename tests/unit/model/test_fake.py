"""The stand-in for a hosted model: its answers and its faults."""

import json
from collections import Counter
from random import Random

import aiohttp
import pytest

from soliloquy.recipes.answers import Decision, Program
from soliloquy.recipes.soliloquy.answers import Reply
from soliloquy.runtime.answers import Answer
from soliloquy.runtime.model.faults import EndpointRefuses
from soliloquy.runtime.model.samples import with_seeds
from soliloquy.v1.model_pb2 import GenerateRequest
from soliloquy_services.model.fake.dialects import CannotFollow, value_of
from soliloquy_services.model.fake.server import FakeServer
from soliloquy_services.model.fake.settings import FakeSettings, Fate
from tests.cases import each_case
from tests.unit.model.hosted import ENGINE, asking
from tests.unit.scripted.driver import opening, played


async def test_through_an_openai_face_the_scripted_model_says_what_it_says_without() -> None:
    async with asking(FakeServer(ENGINE, FakeSettings())) as model:
        assert await played(model, seed=5) == await played(ENGINE, seed=5)


async def test_several_samples_are_what_the_scripted_model_says_with_each_seed() -> None:
    joined = with_seeds(opening(), [1, 2, 3])
    alone = [(await ENGINE.generate(with_seeds(joined, [seed]))).text for seed in (1, 2, 3)]
    engine = await ENGINE.generate(with_seeds(joined, [1, 2, 3]))
    assert [sample.text for sample in (engine, *engine.more)] == alone
    async with asking(FakeServer(ENGINE, FakeSettings())) as model:
        answer = await model.generate(joined)
    assert [sample.text for sample in (answer, *answer.more)] == alone


async def test_a_wrong_key_is_refused_and_not_repeated() -> None:
    async with asking(FakeServer(ENGINE, FakeSettings(key="sk-right")), key="sk-wrong") as model:
        with pytest.raises(EndpointRefuses, match="refuses the key in OPENAI_API_KEY") as refused:
            await model.generate(opening())
    assert "sk-wrong" not in str(refused.value)


@pytest.mark.parametrize("answer", [Decision, Program, Reply])
async def test_programs_of_others_get_a_value_that_their_schema_allows(answer: type[Answer]) -> None:
    asked = GenerateRequest(schema=answer.json_schema(), seed=7)
    async with asking(FakeServer(ENGINE, FakeSettings())) as model:
        first, again = [await model.generate(asked) for _ in range(2)]
    assert first.text == again.text
    answer.read(first.text)


@pytest.mark.parametrize(
    ("schema", "fits"),
    [
        ({"type": "integer", "minimum": 3, "maximum": 4}, lambda value: value in (3, 4)),
        ({"type": "number"}, lambda value: isinstance(value, float)),
        ({"type": "boolean"}, lambda value: isinstance(value, bool)),
        ({"enum": ["a", "b"]}, lambda value: value in ("a", "b")),
        ({"const": 7}, lambda value: value == 7),
        ({"type": "string", "pattern": r"^([1-9]|1[0-2])$"}, lambda value: 1 <= int(value) <= 12),
        ({"type": "string", "minLength": 100}, lambda value: len(value) >= 100),
        ({"type": "string", "maxLength": 4}, lambda value: len(value) <= 4),
        ({"type": "array", "items": {"type": "null"}, "minItems": 3}, lambda value: value == [None] * 3),
        ({"anyOf": [{"type": "null"}, {"const": 1}]}, lambda value: value in (None, 1)),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"const": "x"}}}, lambda value: value == "x"),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else "",
)
def test_each_kind_of_schema_is_followed(schema: dict[str, object], fits: object) -> None:
    assert callable(fits)
    assert all(fits(value_of(schema, Random(seed))) for seed in range(50))


@each_case
def test_a_schema_that_cannot_be_followed_is_refused(schema: dict[str, object]) -> None:
    with pytest.raises(CannotFollow):
        value_of(schema, Random(1))


async def streamed(url: str) -> list[str]:
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Hello"}]}
    async with aiohttp.ClientSession() as session, session.post(f"{url}/chat/completions", json=body) as response:
        text = (await response.read()).decode()
    return [line.removeprefix("data: ") for line in text.splitlines() if line]


async def test_an_answer_may_be_streamed() -> None:
    async with FakeServer(ENGINE, FakeSettings()).serving("127.0.0.1:0") as url:
        *chunks, last = await streamed(url)
    assert last == "[DONE]"
    said = [json.loads(chunk)["choices"][0]["delta"].get("content", "") for chunk in chunks]
    assert "".join(said).startswith("I think about the")


async def test_a_stream_may_stop_half_way() -> None:
    fake = FakeServer(ENGINE, FakeSettings(truncated=1.0))
    async with fake.serving("127.0.0.1:0") as url:
        with pytest.raises(aiohttp.ClientPayloadError):
            await streamed(url)


def test_troubles_come_as_often_as_they_are_to_and_the_same_for_a_seed() -> None:
    weather = FakeSettings(throttled=0.5, hung=0.1, seed=4)
    fates = Counter(weather.fate_of(number, 0.0) for number in range(2_000))
    assert fates[Fate.THROTTLED] == pytest.approx(1_000, rel=0.1)
    assert fates[Fate.HUNG] == pytest.approx(200, rel=0.3)
    again = Counter(weather.fate_of(number, 0.0) for number in range(2_000))
    assert fates == again


def test_a_storm_comes_at_the_end_of_each_period() -> None:
    weather = FakeSettings(throttled=1.0, period=40.0, storm=30.0)
    fates = [weather.fate_of(1, moment) for moment in (0.0, 9.9, 10.0, 39.9, 40.0, 50.0)]
    calm, storm = Fate.ANSWERED, Fate.THROTTLED
    assert fates == [calm, calm, storm, storm, calm, storm]
