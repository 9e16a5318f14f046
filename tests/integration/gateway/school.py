"""A seat for teachers in one process, with the stand-in as the student, for tests of teaching."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from soliloquy.runs.assembly import conversation_handlers
from soliloquy.runs.chat import ChatProblems
from soliloquy.runs.model import ModelSettings, scripted_model
from soliloquy.runtime.events import Event
from soliloquy.runtime.model import Model
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.events_pb2 import ConversationFinished
from soliloquy_services.executor.handler import JobExecutor
from soliloquy_services.gateway.database import Database
from soliloquy_services.gateway.teaching.messages import (
    Compare,
    RateStudent,
    SeatView,
    State,
    Teach,
)
from soliloquy_services.gateway.teaching.store import Seats
from soliloquy_services.gateway.teaching.student import Student, StudentSilent
from soliloquy_services.gateway.teaching.teaching import Teaching
from tests.waiting import until

MODEL = scripted_model(ModelSettings(problems=["arithmetic"]))
ANSWERS = {"confusion_typical": 4, "interaction_typical": 5, "resolved": "yes", "error": "quantity", "remark": "Fine."}


class Moody(Student):
    """A student that says nothing for a while."""

    silences = 0

    async def answer(self, conversation: Conversation, *, again: int = 0) -> Conversation:
        if self.silences:
            self.silences -= 1
            raise StudentSilent("the model is being loaded")
        return await super().answer(conversation, again=again)


@dataclass(kw_only=True)
class School:
    teaching: Teaching
    student: Moody
    published: list[Event] = field(default_factory=list)

    async def until(self, seat: str, *states: State) -> SeatView:
        async def arrived() -> bool:
            return (await self.teaching.show(seat)).state in states

        await until(arrived, 20)
        return await self.teaching.show(seat)

    async def seated(self, project: str) -> SeatView:
        """Takes a problem that the recipe can use, and compares the solutions where there are two."""
        while (seat := await self.teaching.next(project)).id:
            seat = await self.until(seat.id, State.COMPARING, State.TEACHER, State.UNFIT)
            if seat.state is State.TEACHER:
                return seat
            if seat.state is State.COMPARING:
                return await self.teaching.compare(seat.id, Compare(line=1, description="It adds the wrong things."))
        raise AssertionError("no problem is left")

    async def taught(self, seat: SeatView, *messages: tuple[str, str]) -> SeatView:
        for move, text in messages:
            sent = Teach(turn=seat.turn, text=text, move=move, seconds=0.001, anyway=True)
            seat = await self.until((await self.teaching.say(seat.id, sent)).id, State.TEACHER, State.RATING)
        return seat

    async def finished(self, seat: SeatView, **differing: Any) -> Conversation:
        await self.teaching.end(seat.id)
        await self.teaching.rate(seat.id, RateStudent(values=ANSWERS | differing))
        await self.until(seat.id, State.DONE)
        return ConversationFinished.FromString(self.published[-1].payload).conversation


class _NoSandbox:
    async def execute(self, job: Any) -> Any:
        raise AssertionError("a student runs nothing")


NO_SANDBOX = _NoSandbox()


@asynccontextmanager
async def school(folder: Path, *, model: Model = MODEL, sandbox: JobExecutor | None = None) -> AsyncIterator[School]:
    database = Database(f"sqlite:///{folder}/state.db")
    database.open()
    published: list[Event] = []

    async def publish(events: Sequence[Event]) -> None:
        published.extend(events)

    student = Moody(model, partial(conversation_handlers, sandbox=sandbox or NO_SANDBOX), seconds=20)
    teaching = Teaching(Seats(database), student, ChatProblems(), publish)
    yield School(teaching=teaching, student=student, published=published)
    await teaching.close()
    database.close()
