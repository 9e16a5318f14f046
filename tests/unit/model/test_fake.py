"""The stand-in for a hosted model: its answers and its faults."""

import json
from collections import Counter

import aiohttp
import pytest

from soliloquy.runtime.model.faults import EndpointRefuses
from soliloquy.runtime.model.samples import with_seeds
from soliloquy_services.model.fake import FakeServer, FakeSettings, Fate
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
    fates = Counter(map(weather.fate_of, range(2_000)))
    assert fates[Fate.THROTTLED] == pytest.approx(1_000, rel=0.1)
    assert fates[Fate.HUNG] == pytest.approx(200, rel=0.3)
    assert fates == Counter(map(weather.fate_of, range(2_000)))
