"""The teacher's seat: each message is committed before it is answered, and the student's model answers behind it."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from copy import deepcopy
from itertools import chain, repeat
from typing import Any, Protocol
from weakref import WeakValueDictionary

from soliloquy.annotation.scheme import schemes
from soliloquy.recipes.packages import UnknownRecipe, known_recipes
from soliloquy.recipes.recipe import find
from soliloquy.recipes.rules import settled_contradictions
from soliloquy.recipes.seat import Seat
from soliloquy.runtime.events import Event, checked, first_event, run_key
from soliloquy.runtime.seeds import digest
from soliloquy.runtime.transports.port import Unanswered
from soliloquy.v1.conversation_pb2 import Conversation, Problem
from soliloquy.v1.events_pb2 import ConversationFinished
from soliloquy_services.gateway.access.access import CALLER
from soliloquy_services.gateway.access.tenants import TENANT
from soliloquy_services.gateway.chat.messages import clean_text
from soliloquy_services.gateway.refusals import Code, Refusal
from soliloquy_services.gateway.teaching.messages import (
    MOST_CHARACTERS,
    MOST_PROGRAMS,
    AddTeaching,
    Calculate,
    Compare,
    ForgottenTeacher,
    KeptDialogue,
    RateStudent,
    SeatView,
    State,
    Teach,
    TeachingProject,
)
from soliloquy_services.gateway.teaching.program import program_of
from soliloquy_services.gateway.teaching.store import Project, Seats, StoredSeat
from soliloquy_services.gateway.teaching.student import Student, StudentSilent
from soliloquy_services.gateway.teaching.view import view

# Everybody on this machine is one teacher where no token is required.
_SOMEBODY = "somebody"
_PAUSES = (1.0, 2.0, 5.0, 15.0)
_LONG_PAUSE = 30.0
_WORKING = (State.PREPARING, State.STUDENT, State.KEEPING)
Publish = Callable[[Sequence[Event]], Awaitable[None]]


class ProblemFinder(Protocol):
    """Finds problems to teach; raises ValueError with the fault and the choices."""

    def bank_problem(self, bank: str, seed: int) -> Problem: ...

    def own_problem(self, question: str, solution: str) -> Problem: ...


class Teaching:
    def __init__(self, seats: Seats, student: Student, problems: ProblemFinder, publish: Publish) -> None:
        self._seats = seats
        self._student = student
        self._problems = problems
        self._publish = publish
        self._working: dict[str, asyncio.Task[None]] = {}
        # A seat runs one program after another.
        self._calculating: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        # Why a seat's student is silent, until it has spoken.
        self._faults: dict[str, str] = {}

    async def close(self) -> None:
        """Stops; what is under way begins again as soon as a teacher looks at it."""
        tasks = [*self._working.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def add(self, asked: AddTeaching) -> TeachingProject:
        seat_of(asked.recipe)
        if bool(asked.bank) == bool(asked.problems):
            raise Refusal(Code.INVALID, "a project has problems of a bank or your own: send either bank or problems")
        try:
            for problem in asked.problems:
                self._problems.own_problem(problem.question, problem.solution)
            if asked.bank:
                self._problems.bank_problem(asked.bank, asked.seed)
        except ValueError as error:
            raise Refusal(Code.INVALID, str(error)) from error
        return await self.project(await self._seats.call(self._seats.add, asked, TENANT.get()))

    async def projects(self) -> list[TeachingProject]:
        return await self._seats.call(self._seats.projects, TENANT.get(), _caller())

    async def project(self, project: str) -> TeachingProject:
        return await self._seats.call(self._seats.project, project, TENANT.get(), _caller())

    async def consent(self, project: str) -> TeachingProject:
        await self._seats.call(self._seats.consent, project, TENANT.get(), _caller())
        return await self.project(project)

    async def forget(self, teacher: str) -> ForgottenTeacher:
        found = await self._seats.call(self._seats.forget, teacher, TENANT.get())
        for seat in found:
            if working := self._working.get(seat.id):
                working.cancel()
        kept = [
            KeptDialogue(run=run_key(seat.project.run), conversation=seat.conversation.id)
            for seat in found
            if seat.state in (State.KEEPING, State.DONE)
        ]
        return ForgottenTeacher(dialogues=len(found), kept=kept)

    async def next(self, project: str) -> SeatView:
        """Seats the caller where they left, or before the next problem."""
        seat = await self._seats.call(self._seats.take, project, TENANT.get(), _caller(), self._begun)
        return self._shown(seat) if seat else SeatView()

    async def show(self, seat: str) -> SeatView:
        return self._shown(await self._found(seat))

    async def compare(self, seat: str, given: Compare) -> SeatView:
        stored = await self._found(seat, State.COMPARING)
        conversation, recipe = stored.conversation, seat_of(stored.project.recipe)
        lines = recipe.handed_in(conversation).splitlines()
        if given.line > len(lines):
            raise Refusal(Code.INVALID, f"line: the solution has {len(lines)} lines, not {given.line}")
        description = clean_text("description", given.description, MOST_CHARACTERS)
        recipe.record_comparison(conversation, description)
        _note(conversation, comparison={"line": given.line, "seconds": _measured(stored, given.seconds)})
        return await self._commit(stored, State.TEACHER)

    async def say(self, seat: str, given: Teach) -> SeatView:
        """Commits a message and has the student answer; one that a warning speaks against is not sent at first."""
        stored = await self._found(seat)
        conversation, recipe = stored.conversation, seat_of(stored.project.recipe)
        text = clean_text("the message", given.text, MOST_CHARACTERS)
        if given.turn <= len(conversation.turns) and conversation.turns[given.turn - 1].tutor.text == text:
            return self._shown(stored)
        _expect_turn(stored, given.turn)
        if recipe.moves and given.move not in recipe.moves:
            raise Refusal(Code.INVALID, f"move: {given.move[:40]!r} is not one of {', '.join(recipe.moves)}")
        recipe.record_reply(conversation, text, given.move)
        warnings = [] if given.anyway else await self._warnings(conversation)
        if warnings:
            return self._shown(await self._found(seat)).model_copy(update={"warnings": warnings})
        _note(conversation, seconds=[*_notes(conversation).get("seconds", []), _measured(stored, given.seconds)])
        over = len(conversation.turns) >= recipe.most_turns
        return await self._commit(stored, State.RATING if over else State.STUDENT)

    async def calculate(self, seat: str, given: Calculate) -> SeatView:
        """Runs a program for the turn at hand, and keeps it with its output; one that is sent again is kept once."""
        async with self._calculating.setdefault(seat, asyncio.Lock()):
            return await self._calculated(seat, given)

    async def _calculated(self, seat: str, given: Calculate) -> SeatView:
        stored = await self._found(seat)
        _expect_turn(stored, given.turn)
        if not seat_of(stored.project.recipe).calculates:
            raise Refusal(Code.INVALID, f"{stored.project.recipe} gives its tutor no sandbox")
        attempts, program = stored.conversation.turns[-1].calculation.attempts, program_of(given.code)
        if attempts and attempts[-1].code == program.code:
            return self._shown(stored)
        if len(attempts) >= MOST_PROGRAMS:
            raise Refusal(Code.INVALID, f"{MOST_PROGRAMS} programs have run for this message: send it first")
        attempts.append(program)
        try:
            done = await self._student.calculate(stored.conversation)
        except StudentSilent as silent:
            raise Refusal(Code.UNAVAILABLE, str(silent), retry_after=_PAUSES[0]) from silent
        stored.conversation.CopyFrom(done)
        return await self._commit(stored, State.TEACHER)

    async def end(self, seat: str) -> SeatView:
        """Ends the dialogue; a student who is still to answer is not waited for."""

        def check(stored: StoredSeat) -> None:
            _expect(stored, State.TEACHER, State.STUDENT)
            if not any(turn.tutor.text for turn in stored.conversation.turns):
                raise Refusal(Code.NOT_NOW, "nothing has been said yet: write a message first, or leave the problem")

        return await self._stop(seat, State.RATING, check)

    async def leave(self, seat: str) -> SeatView:
        """Gives the problem up: its dialogue is not kept."""

        def check(stored: StoredSeat) -> None:
            if stored.state in (State.KEEPING, State.DONE):
                raise Refusal(Code.NOT_NOW, "this dialogue is finished, and kept")

        return await self._stop(seat, State.LEFT, check)

    async def rate(self, seat: str, given: RateStudent) -> SeatView:
        """Commits the teacher's answers, and has the dialogue kept as data."""
        stored = await self._found(seat)
        if stored.state in (State.KEEPING, State.DONE):
            return self._shown(stored)
        _expect(stored, State.RATING)
        recipe, conversation = seat_of(stored.project.recipe), stored.conversation
        if fault := schemes()[recipe.questionnaire].fault(given.values):
            raise Refusal(Code.INVALID, fault)
        recipe.record_answers(conversation, given.values)
        answers = {**given.values, "seconds": _measured(stored, given.seconds)}
        _note(conversation, teacher=stored.pseudonym, answers=answers)
        return await self._commit(stored, State.KEEPING)

    async def _warnings(self, conversation: Conversation) -> Sequence[str]:
        """Returns what speaks against the latest reply: by the seat, and by the settled values of the ledger."""
        recipe = find(conversation.run.recipe)
        claimed = await self._student.read(conversation)
        found = settled_contradictions(claimed, recipe.rules) if recipe.rules else ()
        return [*seat_of(conversation.run.recipe).warnings(conversation), *found]

    async def _found(self, seat: str, *expected: State) -> StoredSeat:
        stored = await self._seats.call(self._seats.seat, seat, TENANT.get(), _caller())
        if expected:
            _expect(stored, *expected)
        return stored

    async def _commit(self, stored: StoredSeat, state: State) -> SeatView:
        if not await self._seats.call(self._seats.change, stored, state, stored.conversation):
            raise Refusal(Code.NOT_NOW, "this seat has changed on another page: load it again")
        return await self.show(stored.id)

    async def _stop(self, seat: str, state: State, check: Callable[[StoredSeat], None]) -> SeatView:
        """Commits a state that no answer of the student keeps off, whichever comes first."""
        while True:
            check(stored := await self._found(seat))
            if await self._seats.call(self._seats.change, stored, state, stored.conversation):
                return await self.show(seat)

    def _begun(self, project: Project, place: int, number: int) -> Conversation:
        asked = project.asked
        if asked.problems:
            problem = self._problems.own_problem(asked.problems[number].question, asked.problems[number].solution)
        else:
            problem = self._problems.bank_problem(asked.bank, asked.seed + number)
        run = project.run
        run.max_turns, run.max_attempts, run.seed = seat_of(project.recipe).most_turns, 1, asked.seed
        run.enrich = find(project.recipe).always_enriched
        return Conversation(id=digest(run.id, project.id, place), run=run, ordinal=place, problem=problem)

    def _shown(self, stored: StoredSeat) -> SeatView:
        """Returns a seat as its teacher sees it; what it waits for is begun if nobody works on it."""
        if stored.state in _WORKING and stored.id not in self._working:
            task = asyncio.create_task(self._work(stored))
            self._working[stored.id] = task
            task.add_done_callback(lambda _: self._working.pop(stored.id, None))
        return view(stored, seat_of(stored.project.recipe), self._faults.get(stored.id, ""))

    async def _work(self, stored: StoredSeat) -> None:
        """Goes on until the seat waits for its teacher; a failure is told, and tried again."""
        for again, pause in enumerate(chain(_PAUSES, repeat(_LONG_PAUSE))):
            try:
                state, conversation = await self._worked(stored, again)
                await self._seats.call(self._seats.change, stored, state, conversation)
            except (StudentSilent, Unanswered) as silent:
                self._faults[stored.id] = str(silent)
                await asyncio.sleep(pause)
            else:
                self._faults.pop(stored.id, None)
                return

    async def _worked(self, stored: StoredSeat, again: int) -> tuple[State, Conversation]:
        conversation, recipe = deepcopy(stored.conversation), seat_of(stored.project.recipe)
        if stored.state is State.PREPARING:
            begun = await self._student.begin(conversation, again=again)
            if begun.ending:
                return State.UNFIT, begun
            return (State.COMPARING if recipe.handed_in(begun) else State.TEACHER), begun
        if stored.state is State.STUDENT:
            answered = await self._student.answer(conversation, again=again)
            spent = sum(_notes(answered).get("seconds", []))
            return (State.RATING if spent >= 60 * recipe.most_minutes else State.TEACHER), answered
        finished = ConversationFinished(conversation=conversation)
        await self._publish([checked(first_event(finished, source="gateway", time=time.time()))])
        return State.DONE, conversation


def seat_of(recipe: str) -> Seat:
    """Returns how a recipe seats a teacher; raises a Refusal if it does not."""
    try:
        seat = find(recipe).seat
    except UnknownRecipe as error:
        raise Refusal(Code.INVALID, str(error)) from None
    if seat is None:
        seated = [name for name in known_recipes() if find(name).seat]
        raise Refusal(Code.INVALID, f"recipe: {recipe} seats no teacher: use {' or '.join(seated)}")
    return seat


def _expect(stored: StoredSeat, *states: State) -> None:
    if stored.state not in states:
        raise Refusal(Code.NOT_NOW, f"this seat is at the state {stored.state}, not {' or '.join(states)}")


def _expect_turn(stored: StoredSeat, turn: int) -> None:
    _expect(stored, State.TEACHER)
    if turn != len(stored.conversation.turns):
        raise Refusal(Code.NOT_NOW, f"turn: the teacher's next message is number {len(stored.conversation.turns)}")


def _measured(stored: StoredSeat, seconds: float) -> float:
    """Returns the seconds that a page has measured, which are no more than those that have passed."""
    return round(max(0.0, min(seconds, stored.age)), 1)


def _notes(conversation: Conversation) -> dict[str, Any]:
    return dict(json.loads(conversation.extra or "{}"))


def _note(conversation: Conversation, **notes: Any) -> None:
    """Writes further fields of the conversation, which its dataset keeps."""
    conversation.extra = json.dumps(_notes(conversation) | notes, ensure_ascii=False)


def _caller() -> str:
    return CALLER.get() or _SOMEBODY
