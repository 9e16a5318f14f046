"""The student of a seat: the recipe's own, which the gateway's model speaks for, and the teacher's sandbox."""

import asyncio
import logging
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from google.protobuf.message import Message

from soliloquy.recipes.reader import with_claims
from soliloquy.recipes.recipe import find
from soliloquy.recipes.seat import TEACHER
from soliloquy.runtime.events import ConversationEvent
from soliloquy.runtime.handling import Handler
from soliloquy.runtime.model import Model
from soliloquy.runtime.model.faults import ModelFailed
from soliloquy.runtime.retry import CannotServe, Refused, Transient
from soliloquy.runtime.seeds import digest, seed
from soliloquy.v1.conversation_pb2 import Conversation, Ending
from soliloquy.v1.events_pb2 import (
    CodeWritten,
    ConversationFinished,
    ConversationStarted,
    EnrichmentNeeded,
    TutorReplied,
)
from soliloquy.v1.model_pb2 import Completion, GenerateRequest

# A message is not held up for longer by what warns of it.
_READING_SECONDS = 5.0
_UNABLE = (Transient, ModelFailed, CannotServe, Refused)
_STUDENT = "the student's model"
_log = logging.getLogger(__name__)


class StudentSilent(Exception):
    """The student has not answered this time; it may the next."""


@dataclass(frozen=True, slots=True)
class ReseededModel:
    """Asks a model with other seeds, since the same seed may get the same unusable answer."""

    model: Model
    again: int

    async def generate(self, request: GenerateRequest) -> Completion:
        reseeded = GenerateRequest()
        reseeded.CopyFrom(request)
        reseeded.seed, reseeded.id = seed(request.seed, self.again), digest(request.id, self.again)
        return await self.model.generate(reseeded)


class Student:
    def __init__(
        self, model: Model, handlers: Callable[[Model], Mapping[type[Message], Handler]], *, seconds: float
    ) -> None:
        """`handlers` makes the services' handlers for a model. An answer may take so many `seconds`."""
        self._model = model
        self._make_handlers = handlers
        self._handlers = handlers(model)
        self._seconds = seconds

    async def begin(self, conversation: Conversation, *, again: int = 0) -> Conversation:
        """Returns the conversation with its student; it has ended where the recipe cannot use the problem.

        `again` counts the earlier tries: each asks with seeds of its own.
        """
        event: ConversationEvent = EnrichmentNeeded(conversation=conversation)
        if conversation.run.enrich:
            event = await self._next(event, again=again)
        if not isinstance(event, ConversationFinished):
            event = await self._next(ConversationStarted(conversation=event.conversation), again=again)
        begun = event.conversation
        begun.tutor_persona = TEACHER
        return begun

    async def answer(self, conversation: Conversation, *, again: int = 0) -> Conversation:
        """Returns the conversation with the student's next message; `again` as above."""
        answered = (await self._next(TutorReplied(conversation=conversation), again=again)).conversation
        if answered.ending == Ending.ENDING_UNPARSABLE:
            raise StudentSilent("the student's model gave no usable answer")
        # A teacher goes on where a rule would end the conversation.
        answered.ClearField("ending")
        answered.ClearField("ending_reason")
        return answered

    async def calculate(self, conversation: Conversation) -> Conversation:
        """Returns the conversation with the output of its last program, which runs as a tutor's own does."""
        return (await self._next(CodeWritten(conversation=conversation), by="the sandbox")).conversation

    async def read(self, conversation: Conversation) -> Conversation:
        """Returns the conversation with what its last messages claim, as far as the role `reader` answers soon."""
        reader = find(conversation.run.recipe).reader
        with suppress(TimeoutError, *_UNABLE):
            async with asyncio.timeout(_READING_SECONDS):
                return await with_claims(conversation, reader, self._model)
        return conversation

    async def _next(self, event: ConversationEvent, *, by: str = _STUDENT, again: int = 0) -> ConversationEvent:
        handlers = self._make_handlers(ReseededModel(self._model, again)) if again else self._handlers
        try:
            async with asyncio.timeout(self._seconds):
                [following] = await handlers[type(event)](event)
        except TimeoutError:
            raise StudentSilent(f"{by} has not answered within {self._seconds:g} s") from None
        except _UNABLE as error:
            raise StudentSilent(f"{by} cannot answer: {error}") from error
        except Exception as error:
            where = "".join(traceback.format_tb(error.__traceback__))
            _log.error("a student failed in the gateway itself: %s\n%s", type(error).__name__, where)
            raise StudentSilent("the gateway failed: see its log") from error
        assert isinstance(following, ConversationEvent)
        return following
