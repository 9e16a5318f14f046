"""Runs all roles of a recipe in one process."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from soliloquy.recipes.judges import Judges
from soliloquy.recipes.playing import play
from soliloquy.recipes.recipe import Recipe
from soliloquy.runtime.events import ConversationEvent, Outcome
from soliloquy.runtime.model import Model
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

# Runs written code in a sandbox.
Execute = Callable[[CodeWritten], Awaitable[Outcome]]


@dataclass(frozen=True, kw_only=True)
class RecipeLoop:
    recipe: Recipe
    model: Model
    execute: Execute
    # The prompt files that differ from the recipe's own.
    prompts: Mapping[str, str] = field(default_factory=dict)

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

    async def _following(self, event: ConversationEvent) -> Outcome:
        event.conversation.run.prompts.update(self.prompts)
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
                compose = self.recipe.composer
                return await play(
                    event, lambda played, ask: compose(played, ask, Judges()), role="composer", model=self.model
                )
            case _:
                raise TypeError(f"no role handles {type(event).__name__}")
