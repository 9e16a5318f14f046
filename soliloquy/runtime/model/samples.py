"""Several samples of one answer, from one request."""

import asyncio
from collections.abc import Sequence
from copy import deepcopy

from soliloquy.runtime.model import Model
from soliloquy.v1.model_pb2 import Completion, GenerateRequest


def seeds_of(request: GenerateRequest) -> list[int]:
    return [request.seed, *request.more_seeds]


def with_seeds(request: GenerateRequest, seeds: Sequence[int]) -> GenerateRequest:
    """Returns the same request for samples with these seeds."""
    other = deepcopy(request)
    other.seed = seeds[0]
    other.more_seeds[:] = seeds[1:]
    return other


def split(completion: Completion) -> list[Completion]:
    """Returns the samples of an answer."""
    first = deepcopy(completion)
    first.ClearField("more")
    return [first, *completion.more]


def together(samples: Sequence[Completion]) -> Completion:
    """Returns an answer with these samples; a cache may hold them, so they stay as they are."""
    answer = deepcopy(samples[0])
    answer.more.extend(samples[1:])
    return answer


class JoinedRequests:
    """Asks for the first answers of several askers in one request; these differ only in their seeds.

    An asker asks alone for what an endpoint does not answer together, and when its answer was unusable.
    """

    def __init__(self, model: Model, askers: int) -> None:
        self._model = model
        self._askers = askers
        self._seeds: list[int] = []
        self._samples: asyncio.Future[Sequence[Completion]] = asyncio.get_running_loop().create_future()

    async def generate(self, request: GenerateRequest) -> Completion:
        number = len(self._seeds)
        if number < self._askers:
            self._seeds.append(request.seed)
            if number + 1 == self._askers:
                await self._ask(with_seeds(request, self._seeds))
            # An asker that is cancelled must not cancel the answers of the others.
            if number < len(samples := await asyncio.shield(self._samples)):
                return samples[number]
        return await self._model.generate(request)

    async def _ask(self, joined: GenerateRequest) -> None:
        try:
            self._samples.set_result(split(await self._model.generate(joined)))
        except BaseException as error:
            self._samples.set_exception(error)
            # This asker raises it, even if it is the only one.
            self._samples.exception()
            raise
