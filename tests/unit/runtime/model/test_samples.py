"""Askers of one prompt share a request, and each gets the answer that it would have got alone."""

import asyncio
import json

import pytest

from soliloquy.recipes.mathdial.answers import SampledSolution
from soliloquy.runtime.ask import Ask, Prompt
from soliloquy.runtime.model.faults import Overloaded
from soliloquy.runtime.model.samples import JoinedRequests, seeds_of, together
from soliloquy.v1.conversation_pb2 import ModelCall
from soliloquy.v1.model_pb2 import Completion, GenerateRequest

PROMPT = Prompt(name="mathdial/solving", said=[("user", "How many?")])


class Seeded:
    """Answers by the seed, with at most so many samples a request; the answers of some seeds are unusable."""

    def __init__(self, most: int = 100, unusable: int = 0) -> None:
        self._most = most
        self._unusable = unusable
        self.requests: list[int] = []

    async def generate(self, request: GenerateRequest) -> Completion:
        self.requests.append(1 + len(request.more_seeds))
        await asyncio.sleep(0)
        return together([self._sample(seed) for seed in seeds_of(request)[: self._most]])

    def _sample(self, seed: int) -> Completion:
        return Completion(text="" if seed % 10 < self._unusable else f"It is {seed}.")


async def asked(model: Seeded, askers: int, *, joined: bool) -> list[ModelCall]:
    shared = JoinedRequests(model, askers) if joined else model
    asks = [Ask(model=shared, role="planner", origin=("problem", number)) for number in range(askers)]
    await asyncio.gather(*(ask(PROMPT, SampledSolution) for ask in asks))
    for ask in asks:
        ask.calls[0].seconds = 0
    return [call for ask in asks for call in ask.calls]


async def test_all_first_answers_come_from_one_request() -> None:
    model = Seeded()
    assert await asked(model, 50, joined=True) == await asked(Seeded(), 50, joined=False)
    assert model.requests == [50]


async def test_an_unusable_answer_is_asked_for_again_alone() -> None:
    model = Seeded(unusable=1)
    assert await asked(model, 50, joined=True) == await asked(Seeded(unusable=1), 50, joined=False)
    assert model.requests[0] == 50
    assert set(model.requests[1:]) == {1}


@pytest.mark.parametrize("most", [1, 8])
async def test_what_an_endpoint_does_not_answer_together_is_asked_for_alone(most: int) -> None:
    model = Seeded(most)
    assert await asked(model, 20, joined=True) == await asked(Seeded(), 20, joined=False)
    assert model.requests == [20] + [1] * (20 - most)


async def test_every_asker_learns_why_there_is_no_answer() -> None:
    class Failing:
        async def generate(self, request: GenerateRequest) -> Completion:
            raise Overloaded(json.dumps(len(request.more_seeds)))

    shared = JoinedRequests(Failing(), 3)
    askers = (shared.generate(GenerateRequest(seed=number)) for number in range(3))
    assert [str(error) for error in await asyncio.gather(*askers, return_exceptions=True)] == ["2"] * 3
