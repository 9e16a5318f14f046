"""The student of a seat: the recipe's own, which the gateway's model speaks for."""

import asyncio
import logging
import traceback
from collections.abc import Mapping

from google.protobuf.message import Message

from soliloquy.recipes.seat import TEACHER
from soliloquy.runtime.events import ConversationEvent
from soliloquy.runtime.handling import Handler
from soliloquy.runtime.model.faults import ModelFailed
from soliloquy.runtime.retry import CannotServe, Refused, Transient
from soliloquy.v1.conversation_pb2 import Conversation, Ending
from soliloquy.v1.events_pb2 import ConversationFinished, ConversationStarted, EnrichmentNeeded, TutorReplied

_log = logging.getLogger(__name__)


class StudentSilent(Exception):
    """The student has not answered this time; it may the next."""


class Student:
    def __init__(self, handlers: Mapping[type[Message], Handler], *, seconds: float) -> None:
        """An answer may take so many `seconds`."""
        self._handlers = handlers
        self._seconds = seconds

    async def begin(self, conversation: Conversation) -> Conversation:
        """Returns the conversation with its student; it has ended where the recipe cannot use the problem."""
        event: ConversationEvent = EnrichmentNeeded(conversation=conversation)
        if conversation.run.enrich:
            event = await self._next(event)
        if not isinstance(event, ConversationFinished):
            event = await self._next(ConversationStarted(conversation=event.conversation))
        begun = event.conversation
        begun.tutor_persona = TEACHER
        return begun

    async def answer(self, conversation: Conversation) -> Conversation:
        """Returns the conversation with the student's next message."""
        answered = (await self._next(TutorReplied(conversation=conversation))).conversation
        if answered.ending == Ending.ENDING_UNPARSABLE:
            raise StudentSilent("the student's model gave no usable answer")
        # A teacher goes on where a rule would end the conversation.
        answered.ClearField("ending")
        answered.ClearField("ending_reason")
        return answered

    async def _next(self, event: ConversationEvent) -> ConversationEvent:
        try:
            async with asyncio.timeout(self._seconds):
                [following] = await self._handlers[type(event)](event)
        except TimeoutError:
            raise StudentSilent(f"the student's model has not answered within {self._seconds:g} s") from None
        except (Transient, ModelFailed, CannotServe, Refused) as error:
            raise StudentSilent(f"the student's model cannot answer: {error}") from error
        except Exception as error:
            where = "".join(traceback.format_tb(error.__traceback__))
            _log.error("a student failed in the gateway itself: %s\n%s", type(error).__name__, where)
            raise StudentSilent("the gateway failed: see its log") from error
        assert isinstance(following, ConversationEvent)
        return following
