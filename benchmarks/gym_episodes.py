"""Plays episodes whose answers are known, in the gym and without it, and prints what they took as JSON."""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence

import uvloop

from soliloquy.gym import Episode, Gym
from soliloquy.gym.gym import TUTOR
from soliloquy.runs.assembly import conversation_handlers, next_event
from soliloquy.runs.dry_run import own_sandboxes
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runtime.model import StreamingModel
from soliloquy.v1.events_pb2 import ConversationFinished
from soliloquy.v1.model_pb2 import Completion, GenerateRequest

RECIPE, BANK, SEED = "soliloquy", "physics", 17
_AT_ONCE = 32


async def play(episode: Episode, answers: Iterator[Completion] | None = None) -> Sequence[Completion]:
    """Plays with these answers, or with those of the stand-in; returns them."""
    given = []
    observation = await episode.reset()
    while observation is not None:
        given.append(next(answers) if answers else await episode.stand_in())
        observation = await episode.step(given[-1])
    return given


class _Replay:
    """Gives the tutor's answers in their order, and those of the stand-in for the student."""

    def __init__(self, answers: Iterator[Completion], scripted: StreamingModel) -> None:
        self._answers = answers
        self._scripted = scripted

    async def generate(self, request: GenerateRequest) -> Completion:
        return next(self._answers) if request.role in TUTOR else await self._scripted.generate(request)


async def _timed(work: Callable[[int], Awaitable[None]], count: int) -> tuple[float, float]:
    """Does the work for each place; returns the seconds, and those of this process's CPU."""
    places = asyncio.Semaphore(_AT_ONCE)

    async def done(place: int) -> None:
        async with places:
            await work(place)

    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*map(done, range(count)))
    return time.perf_counter() - began, time.process_time() - cpu


async def _measured(first: int, count: int) -> dict[str, float]:
    scripted = scripted_model(ModelSettings(problems=[BANK]))
    async with own_sandboxes() as sandbox, Gym(RECIPE, BANK, SEED, sandbox=sandbox) as gym:
        episodes = [gym.episode(first + place) for place in range(count)]
        openings = [episode.event for episode in episodes]
        known: dict[int, Sequence[Completion]] = {}

        async def learn(place: int) -> None:
            known[place] = await play(episodes[place])

        async def replay(place: int) -> None:
            await play(episodes[place], iter(known[place]))

        async def without_gym(place: int) -> None:
            event = openings[place]
            handlers = conversation_handlers(_Replay(iter(known[place]), scripted), sandbox)
            while not isinstance(event, ConversationFinished):
                event = await next_event(event, handlers)

        await _timed(learn, count)
        _, bare_cpu = await _timed(without_gym, count)
        seconds, cpu = await _timed(replay, count)
        turns = sum(len(episode.conversation.turns) for episode in episodes)
    return {"conversations": count, "turns": turns, "seconds": seconds, "cpu": cpu, "bare_cpu": bare_cpu}


if __name__ == "__main__":
    print(json.dumps(uvloop.run(_measured(*map(int, sys.argv[1:])))))
