"""Runs one of our evaluations in a thread and leaves its cases to Inspect, whose models answer as the tutor."""

import asyncio
import atexit
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any, TypeVar

from soliloquy.cli.evaluate.output import Evaluated
from soliloquy.cli.evaluate.settings import EvaluationSettings
from soliloquy.cli.evaluate.tutor import Tutor
from soliloquy.runtime.model import StreamListener
from soliloquy.runtime.model.opening import ModelByRole
from soliloquy.runtime.model.settings_file import shipped_models
from soliloquy.v1.model_pb2 import Completion, GenerateRequest

T = TypeVar("T")
Answer = Callable[[GenerateRequest], Awaitable[Completion]]
_END_SECONDS = 10.0


class _OpenCase:
    """The requests of one case's tutor, and the places of their answers. It lives in the evaluation's loop."""

    def __init__(self) -> None:
        self.asked: asyncio.Queue[tuple[GenerateRequest, asyncio.Future[Completion]] | None] = asyncio.Queue()

    async def ask(self, request: GenerateRequest) -> Completion:
        place: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        self.asked.put_nowait((request, place))
        return await place


_open_case: ContextVar[_OpenCase] = ContextVar("open_case")


class _InspectedModel:
    async def generate(self, request: GenerateRequest, stream_listener: StreamListener | None = None) -> Completion:
        return await _open_case.get().ask(request)


@dataclass(frozen=True, kw_only=True, slots=True)
class _InspectedTutor(Tutor):
    @asynccontextmanager
    async def running(self) -> AsyncIterator[ModelByRole]:
        yield ModelByRole(self.models, dict.fromkeys(self.models.used, _InspectedModel()))


@dataclass(frozen=True, kw_only=True, slots=True)
class _InspectedSettings(EvaluationSettings):
    protocol: "Protocol"

    async def run(
        self, model: ModelByRole, cases: Sequence[Any], run: Callable[[Any], Awaitable[T]], **_: object
    ) -> list[T]:
        return await self.protocol.take(cases, run) if cases else []


class Protocol:
    """An evaluation whose cases wait to be solved, one by one and in any order."""

    def __init__(self, evaluate: Callable[[EvaluationSettings], Evaluated], *, problems: str, seed: int) -> None:
        """Returns once the cases are drawn; raises what the evaluation raises before that."""
        self.cases: Mapping[str, Any] = {}
        self._is_drawn, self._faults = Event(), list[BaseException]()
        tutor = _InspectedTutor(models=shipped_models(), problems=problems)
        settings = _InspectedSettings(tutor=tutor, seed=seed, in_flight=1, quiet=True, protocol=self)
        self._thread = Thread(target=self._evaluate, args=(evaluate, settings), daemon=True)
        self._thread.start()
        self._is_drawn.wait()
        if not self.cases:
            raise self._faults[0]
        atexit.register(self._stop)

    async def take(self, cases: Sequence[Any], run: Callable[[Any], Awaitable[T]]) -> list[T]:
        """Waits until each case has been solved."""
        self._loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task
        self._task, self._run = task, run
        self._results = {case.id: self._loop.create_future() for case in cases}
        self.cases = {case.id: case for case in cases}
        self._is_drawn.set()
        return [await result for result in self._results.values()]

    async def solve(self, case: str, answer: Answer) -> Mapping[str, Any]:
        """Runs a case with the tutor's answers, from any loop, and returns the row of its result."""
        opened = _OpenCase()
        running = self._there(self._solved(case, opened))
        while (asked := await self._there(opened.asked.get())) is not None:
            request, place = asked
            try:
                completion = await answer(request)
            except BaseException:
                running.cancel()
                raise
            self._loop.call_soon_threadsafe(place.set_result, completion)
        return dict((await running).as_json())

    async def _solved(self, case: str, opened: _OpenCase) -> Any:
        _open_case.set(opened)
        try:
            result = await self._run(self.cases[case])
        finally:
            opened.asked.put_nowait(None)
        # Epochs solve a case several times.
        if not self._results[case].done():
            self._results[case].set_result(result)
        return result

    def _there(self, work: Coroutine[Any, Any, T]) -> "asyncio.Future[T]":
        return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def _evaluate(self, evaluate: Callable[[EvaluationSettings], Evaluated], settings: EvaluationSettings) -> None:
        try:
            evaluate(settings)
        except BaseException as error:
            self._faults.append(error)
        finally:
            self._is_drawn.set()

    def _stop(self) -> None:
        """Stops the sandboxes of an evaluation some of whose cases nobody has solved."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._task.cancel)
            self._thread.join(_END_SECONDS)
