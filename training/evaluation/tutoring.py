"""A recipe's whole loop in one process: the student, and all that the tutor goes through before it answers."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass

from soliloquy.v1.conversation_pb2 import Conversation
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

from services.recipes.recipe import Recipe, play
from services.runtime.events import ConversationEvent, Outcome
from services.runtime.model import Model

# Runs the code that was written, in a sandbox.
Execute = Callable[[CodeWritten], Awaitable[Outcome]]


@dataclass(frozen=True, kw_only=True)
class Tutoring:
    recipe: Recipe
    model: Model
    execute: Execute

    async def answered(self, conversation: Conversation) -> Conversation:
        """The conversation with the tutor's answer to the student's latest message, however it came about."""
        event: ConversationEvent = StudentReplied(conversation=conversation)
        while not isinstance(event, TutorReplied | ConversationFinished):
            [event] = await self._following(event)
        return event.conversation

    async def grown(self, conversation: Conversation) -> AsyncGenerator[Conversation, None]:
        """The conversation as it is each time the student has spoken, until it ends."""
        event: ConversationEvent = ConversationStarted(conversation=conversation)
        while not isinstance(event, ConversationFinished):
            [event] = await self._following(event)
            if isinstance(event, StudentReplied):
                yield event.conversation

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
                return await play(event, self.recipe.composer, role="composer", model=self.model)
            case _:
                raise TypeError(f"a tutor does nothing about {type(event).__name__}")
