"""Runs all roles of a recipe in one process."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
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

    async def answered(self, conversation: Conversation) -> Conversation:
        """Returns the conversation with the tutor's answer to the student's latest message."""
        event: ConversationEvent = StudentReplied(conversation=conversation)
        while not isinstance(event, TutorReplied | ConversationFinished):
            [event] = await self._following(event)
        return event.conversation

    async def grown(self, conversation: Conversation) -> AsyncGenerator[Conversation, None]:
        """Yields the conversation after each of the student's messages, until it ends."""
        event: ConversationEvent = ConversationStarted(conversation=conversation)
        while not isinstance(event, ConversationFinished):
            [event] = await self._following(event)
            if isinstance(event, StudentReplied):
                yield event.conversation

    async def held(self, conversation: Conversation, *, enough: Callable[[Conversation], bool]) -> Conversation:
        """Returns the conversation up to the student's message for which `enough` is true, or to its end."""
        event: ConversationEvent = ConversationStarted(conversation=conversation)
        while not isinstance(event, ConversationFinished):
            [event] = await self._following(event)
            if isinstance(event, StudentReplied) and enough(event.conversation):
                break
        return event.conversation

    async def calculated(self, conversation: Conversation) -> Conversation:
        """Returns the conversation after its latest calculation has been programmed and run."""
        event: ConversationEvent = CalculationNeeded(conversation=conversation)
        while not isinstance(event, ReplyNeeded | ConversationFinished):
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
                raise TypeError(f"a tutor does nothing about {type(event).__name__}")


async def run_bounded(cases: Iterable[C], put: Callable[[C], Awaitable[R]], *, at_once: int) -> list[R]:
    """Returns the result of each case, in order."""
    room = asyncio.Semaphore(at_once)

    async def admitted(case: C) -> R:
        async with room:
            return await put(case)

    async with asyncio.TaskGroup() as group:
        putting = [group.create_task(admitted(case)) for case in cases]
    return [task.result() for task in putting]


def parse_outcomes(calls: Sequence[ModelCall]) -> Counter[str]:
    """Counts how the model's answers could be parsed."""
    return Counter(ParseOutcome.Name(call.outcome).removeprefix("PARSE_OUTCOME_").lower() for call in calls)


def adapter_digests(calls: Sequence[ModelCall]) -> frozenset[str]:
    """Returns the digests of the adapters that answered."""
    return frozenset(call.adapter_digest for call in calls if call.adapter_digest)
