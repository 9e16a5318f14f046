"""A model that logs every answered call to a file, and can delay answers.

The environment takes it to every process of a run: PYTHONPATH loads it, and CALL_LOG names the file that says how.
"""

import asyncio
import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from soliloquy.runs import model
from soliloquy.runtime.model import StreamingModel, StreamListener
from soliloquy.runtime.seeds import digest, draw
from soliloquy.v1.model_pb2 import Completion, GenerateRequest

CALL_LOG = "SOLILOQUY_OBSERVATION"


@dataclass(frozen=True, kw_only=True, slots=True)
class CallLog:
    # The file that the calls are written to.
    calls: str
    # Seconds that an answer takes, each with the share of the calls that take so long.
    latency: Sequence[tuple[float, float]] = ((0.0, 1.0),)

    @classmethod
    def from_file(cls, path: Path) -> Self:
        return cls(**json.loads(path.read_bytes()))

    def to_file(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)), "utf-8")

    def seconds(self, role: str, answer: str) -> float:
        """The same answer always takes the same time, so a record says how long its calls took."""
        seconds, shares = zip(*self.latency, strict=True)
        return float(draw("latency", role, answer).choices(seconds, shares)[0])


@dataclass(frozen=True, kw_only=True, slots=True)
class ObservedCall:
    # The same for a call that is repeated.
    id: str
    answered_at: float
    seconds: float
    # CPU time that the engine spent on the answer.
    cpu_seconds: float


def read_calls(path: Path) -> list[ObservedCall]:
    """Returns the calls in the order of their answers."""
    rows = (line.split() for line in path.read_text("ascii").splitlines())
    return [
        ObservedCall(id=call, answered_at=float(at), seconds=float(seconds), cpu_seconds=float(cpu))
        for call, at, seconds, cpu in rows
    ]


class LoggedModel:
    def __init__(self, model: StreamingModel, observation: CallLog) -> None:
        self._model = model
        self._observation = observation
        self._calls = os.open(observation.calls, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    async def generate(self, request: GenerateRequest, stream_listener: StreamListener | None = None) -> Completion:
        began = time.thread_time()
        completion = await self._model.generate(request, stream_listener)
        spent = time.thread_time() - began
        call = digest(request.role, request.prompt, request.seed)
        seconds = self._observation.seconds(request.role, completion.text)
        await asyncio.sleep(seconds)
        os.write(self._calls, f"{call} {time.time():.6f} {seconds:g} {spent:.6f}\n".encode())
        return completion


def observe_models(observation: CallLog) -> None:
    """Has the scripted models of this process log their calls; modules import them after this."""
    build = model.scripted_model

    def observed(settings: model.ModelSettings) -> LoggedModel:
        return LoggedModel(build(settings), observation)

    model.scripted_model = observed


def environment(observation: Path) -> dict[str, str]:
    """Returns the variables that observe the models of a process and of those that it starts."""
    places = (Path(__file__).with_name("observation"), Path(__file__).parents[1])
    path = os.pathsep.join([*map(str, places), os.environ.get("PYTHONPATH", "")])
    return {CALL_LOG: str(observation), "PYTHONPATH": path}
