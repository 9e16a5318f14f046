"""A call waits rather than fails, and is retried only where that may help."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from soliloquy.runtime.model import ModelRefused, StreamListener, gate, remote
from soliloquy.runtime.model.faults import (
    EndpointRefuses,
    InvalidAnswer,
    ModelFailed,
    Overloaded,
    RetryableFault,
    Throttled,
    TimedOut,
    Unreachable,
)
from soliloquy.runtime.model.remote import REFUSALS, TRIES, RemoteModel, ServedModel
from soliloquy.runtime.model.settings import Endpoint
from soliloquy.v1.model_pb2 import Completion, GenerateRequest
from tests.waiting import until

HANG = "hang"
Say = Exception | str
FAULTS = (Throttled, Overloaded, Unreachable, TimedOut, InvalidAnswer)
REQUEST = GenerateRequest(role="tutor")


class Saying:
    """A client that gives its results in turn and repeats the last one."""

    def __init__(self, *says: Say) -> None:
        self._says: Iterator[Say] = iter(says)
        self._last: Say = ""
        self.asked = 0

    async def ask(
        self, request: GenerateRequest, seconds: float, stream_listener: StreamListener | None = None
    ) -> Completion:
        self.asked += 1
        say = self._last = next(self._says, self._last)
        if say == HANG:
            await asyncio.sleep(100 * seconds)
        if isinstance(say, Exception):
            raise say
        return Completion(text=str(say))

    async def identity(self, adapter: str) -> str:
        return adapter

    def manners(self, request: GenerateRequest) -> Sequence[str]:
        return ()

    async def served(self) -> ServedModel:
        return ServedModel()

    async def close(self) -> None: ...


def model(line: Saying, **settings: Any) -> RemoteModel:
    endpoint = Endpoint(engine="openai", base_url="http://far/v1", **settings)
    return RemoteModel("far", endpoint, line)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "PAUSE_SECONDS", 0.001)


@pytest.mark.parametrize("kind", FAULTS)
async def test_what_may_pass_is_asked_again(kind: type[RetryableFault]) -> None:
    line = Saying(kind("a"), kind("b"), "well")
    assert (await model(line).generate(REQUEST)).text == "well"
    assert line.asked == 3


@pytest.mark.parametrize("refusal", [ModelRefused("too long"), EndpointRefuses("wrong key"), KeyError("a bug")])
async def test_what_will_not_pass_is_asked_once(refusal: Exception) -> None:
    line = Saying(refusal)
    with pytest.raises(type(refusal)):
        await model(line).generate(REQUEST)
    assert line.asked == 1


async def test_a_call_that_hangs_ends_by_its_deadline_and_is_made_again() -> None:
    line = Saying(HANG, "well")
    began = time.monotonic()
    assert (await model(line, timeout=0.05).generate(REQUEST)).text == "well"
    assert time.monotonic() - began < 20


async def test_being_one_of_too_many_is_never_a_reason_to_give_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "PAUSE_CAP_SECONDS", 0.001)
    line = Saying(*[Throttled("slower")] * 100, "well")
    assert (await model(line).generate(REQUEST)).text == "well"


async def test_an_endpoint_that_wants_to_be_left_alone_is(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Saying(Throttled("slower", after=0.2), "well")
    began = time.monotonic()
    await model(line).generate(REQUEST)
    assert time.monotonic() - began >= 0.2


async def test_a_call_that_the_endpoint_cannot_stand_is_not_made_for_ever() -> None:
    line = Saying(InvalidAnswer("500"))
    with pytest.raises(ModelFailed, match=rf"far.* failed at the same call {TRIES} times: 500"):
        await model(line).generate(REQUEST)
    assert line.asked == TRIES


async def test_while_nobody_is_there_every_call_waits_and_says_why() -> None:
    line = Saying(*[Unreachable("refused")] * (gate.FAILURES + 1), "well")
    far = model(line)
    calls = [asyncio.create_task(far.generate(REQUEST)) for _ in range(gate.FAILURES)]
    await until(lambda: bool(far.fault), pause=0)
    async with asyncio.timeout(120):
        assert far.fault == "waits for the model at far (http://far/v1, model 'default'): refused"
        assert {(await call).text for call in calls} == {"well"}
    assert far.fault == ""


async def test_an_endpoint_that_refuses_everything_stops_the_run_before_all_of_it_is_given_up() -> None:
    far = model(Saying(ModelRefused("max_tokens is not supported")))
    for _ in range(REFUSALS - 1):
        with pytest.raises(ModelRefused):
            await far.generate(REQUEST)
    with pytest.raises(EndpointRefuses, match="in a row: max_tokens is not supported"):
        await far.generate(REQUEST)


async def test_a_refusal_of_one_call_is_an_answer_of_the_endpoint() -> None:
    far = model(Saying(ModelRefused("the prompt is too long"), *[Throttled("slower")] * 3, "well"))
    with pytest.raises(ModelRefused):
        await far.generate(REQUEST)
    await asyncio.sleep(0.05)
    began = time.monotonic()
    waiting = asyncio.create_task(far.generate(REQUEST))
    await until(lambda: bool(far.status.error), pause=0)
    assert far.status.failing_seconds <= time.monotonic() - began
    assert (await waiting).text == "well"


@pytest.mark.parametrize("refusals", [[EndpointRefuses("wrong key")], [ModelRefused("no")] * REFUSALS])
async def test_a_service_waits_while_every_call_is_refused_and_goes_on_when_that_is_mended(refusals: list[Say]) -> None:
    line = Saying(*refusals, "well")
    far = RemoteModel("far", Endpoint(engine="openai", base_url="http://far/v1"), line, holds=True)
    for _ in refusals[1:]:
        with pytest.raises(ModelRefused):
            await far.generate(REQUEST)
    call = asyncio.create_task(far.generate(REQUEST))
    await until(lambda: far.status.refused, pause=0)
    assert far.fault == far.status.error
    async with asyncio.timeout(120):
        assert (await call).text == "well"
    assert (far.fault, far.status.refused) == ("", False)


async def test_an_endpoint_that_answers_now_and_then_may_refuse_any_number() -> None:
    says: list[Say] = [ModelRefused("too long"), "well"]
    far = model(Saying(*says * REFUSALS))
    refused = 0
    for _ in range(2 * REFUSALS):
        try:
            await far.generate(REQUEST)
        except ModelRefused:
            refused += 1
    assert refused == REFUSALS


async def test_a_call_that_is_cancelled_leaves_its_place_to_another() -> None:
    line = Saying(HANG, "well")
    far = model(line, max_concurrency=1)
    hanging = asyncio.create_task(far.generate(REQUEST))
    await until(lambda: line.asked == 1, pause=0)
    hanging.cancel()
    async with asyncio.timeout(120):
        assert (await far.generate(REQUEST)).text == "well"
