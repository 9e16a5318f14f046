"""Runs all roles of a recipe in one process."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from soliloquy.recipes.judges import Judges
from soliloquy.recipes.recipe import Recipe, play
from soliloquy.runtime.ask import Ask
from soliloquy.runtime.events import ConversationEvent, Outcome
from soliloquy.runtime.model import Model
from soliloquy.v1.conversation_pb2 import Conversation, ModelCall, ParseOutcome
from soliloquy.v1.events_pb2 import (
    CalculationNeeded,
    CodeFailed,
    CodeWritten,
    ConversationFinished,
    ConversationStarted,
    ReplyNeeded,
    StudentRejected,
    StudentReplied,
    TutorReplied,
)

# Runs written code in a sandbox.
Execute = Callable[[CodeWritten], Awaitable[Outcome]]

C = TypeVar("C")
R = TypeVar("R")


class TooFewCases(Exception):
    """The problems yield fewer cases than requested; the message says how many."""


@dataclass(frozen=True, kw_only=True)
class RecipeLoop:
    recipe: Recipe
    model: Model
    execute: Execute

    async def answer(self, conversation: Conversation) -> Conversation:
        """Returns the conversation with the tutor's answer to the student's latest message."""
        return await self._run(StudentReplied(conversation=conversation), lambda event: isinstance(event, TutorReplied))

    async def grow(self, conversation: Conversation) -> AsyncGenerator[Conversation, None]:
        """Yields the conversation after each of the student's messages, until it ends."""
        event: ConversationEvent = ConversationStarted(conversation=conversation)
        while not isinstance(event, ConversationFinished):
            [event] = await self._following(event)
            if isinstance(event, StudentReplied):
                yield event.conversation

    async def hold(self, conversation: Conversation, *, enough: Callable[[Conversation], bool]) -> Conversation:
        """Returns the conversation up to the student's message for which `enough` is true, or to its end."""
        return await self._run(
            ConversationStarted(conversation=conversation),
            lambda event: isinstance(event, StudentReplied) and enough(event.conversation),
        )

    async def calculate(self, conversation: Conversation) -> Conversation:
        """Returns the conversation after its latest calculation has been programmed and run."""
        return await self._run(
            CalculationNeeded(conversation=conversation), lambda event: isinstance(event, ReplyNeeded)
        )

    async def _run(self, event: ConversationEvent, is_last: Callable[[ConversationEvent], bool]) -> Conversation:
        while not isinstance(event, ConversationFinished) and not is_last(event):
            [event] = await self._following(event)
        return event.conversation

    async def _compose(self, event: ReplyNeeded, ask: Ask) -> Outcome:
        return await self.recipe.composer(event, ask, Judges())

    async def _following(self, event: ConversationEvent) -> Outcome:
        match event:
            case ConversationStarted() | TutorReplied():
                return await play(event, self.recipe.student, role="student", model=self.model)
            case StudentRejected() if self.recipe.student_again:
                return await play(event, self.recipe.student_again, role="student", model=self.model)
            case StudentReplied():
                return await play(event, self.recipe.tutor, role="tutor", model=self.model)
            case CalculationNeeded() | CodeFailed():
                return await play(event, self.recipe.codegen, role="codegen", model=self.model)
            case CodeWritten():
                return await self.execute(event)
            case ReplyNeeded():
                return await play(event, self._compose, role="composer", model=self.model)
            case _:
                raise TypeError(f"no role handles {type(event).__name__}")


async def run_bounded(
    cases: Iterable[C],
    run: Callable[[C], Awaitable[R]],
    *,
    at_once: int,
    on_result: Callable[[R], None] = lambda _: None,
) -> list[R]:
    """Runs at most `at_once` cases at a time and returns their results in order."""
    room = asyncio.Semaphore(at_once)

    async def admit(case: C) -> R:
        async with room:
            result = await run(case)
        on_result(result)
        return result

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(admit(case)) for case in cases]
    return [task.result() for task in tasks]


def parse_outcomes(calls: Iterable[ModelCall]) -> Counter[str]:
    """Counts how the model's answers could be parsed."""
    return Counter(ParseOutcome.Name(call.outcome).removeprefix("PARSE_OUTCOME_").lower() for call in calls)


def adapter_digests(calls: Iterable[ModelCall]) -> frozenset[str]:
    """Returns the digests of the adapters that answered."""
    return frozenset(call.adapter_digest for call in calls if call.adapter_digest)
