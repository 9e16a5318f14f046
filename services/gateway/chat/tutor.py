"""The tutor's whole way to a reply in one process: from handler to handler, as events go between services."""

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable, Mapping
from copy import deepcopy
from typing import TypeVar

from google.protobuf.message import Message

from services.gateway.chat import pieces
from services.gateway.chat.pieces import Tell
from services.gateway.chat.showing import Showing
from services.gateway.refusals import Code, Refusal
from soliloquy.recipes.person import Person
from soliloquy.recipes.recipe import UnknownRecipe, find, known_recipes
from soliloquy.runtime.events import ConversationEvent
from soliloquy.runtime.handling import Handler
from soliloquy.runtime.model import ListenedModel, Model, StreamingModel
from soliloquy.runtime.model.faults import ModelFailed
from soliloquy.runtime.retry import CannotServe, Refused, Transient
from soliloquy.v1.conversation_pb2 import Conversation, Ending
from soliloquy.v1.events_pb2 import (
    ConversationFinished,
    ConversationStarted,
    EnrichmentNeeded,
    StudentReplied,
    TutorReplied,
)

_log = logging.getLogger(__name__)
_AGAIN_SECONDS = 1.0

T = TypeVar("T")
Handlers = Mapping[type[Message], Handler]
MakeHandlers = Callable[[Model], Handlers]


class Tutor:
    def __init__(
        self, model: StreamingModel, handlers: MakeHandlers, *, seconds: float, fault: Callable[[], str]
    ) -> None:
        """`handlers` makes the services' handlers for a model. `fault` is empty while the model answers."""
        self._model = model
        self._make_handlers = handlers
        self._handlers = handlers(model)
        self._seconds = seconds
        self._fault = fault

    async def begun(self, conversation: Conversation) -> Conversation:
        """The conversation up to the student's first word, with the tutor's where that comes before."""
        planned = await self.planned(conversation)
        return await self.replied(planned, lambda _: None) if planned.turns else planned

    async def planned(self, conversation: Conversation) -> Conversation:
        """With the turn that the tutor begins with, where it does; a Refusal for a problem that is no use."""
        person = person_in(conversation.run.recipe)
        if conversation.run.enrich:
            needed = EnrichmentNeeded(conversation=conversation)
            conversation = (await self._answered(_next(needed, self._handlers))).conversation
        if person.open is None:
            return conversation
        [begun] = person.open(ConversationStarted(conversation=conversation))
        if isinstance(begun, ConversationFinished):
            reason = begun.conversation.ending_reason
            raise Refusal(Code.INVALID, f"this problem cannot be talked about by {conversation.run.recipe} ({reason})")
        return begun.conversation

    async def replied(self, conversation: Conversation, tell: Tell) -> Conversation:
        """The conversation with the tutor's reply to its last message; the one that is given stays as it is."""
        showing = Showing(person_in(conversation.run.recipe).visible_text, tell)
        tell(pieces.DECIDING)
        handlers = self._make_handlers(ListenedModel(self._model, showing))
        first = StudentReplied(conversation=deepcopy(conversation))
        replied = await self._answered(_followed(first, handlers, tell))
        if replied.ending == Ending.ENDING_UNPARSABLE:
            # What is wrong with an answer may tell what the student is to find.
            raise Refusal(
                Code.UNAVAILABLE, "the tutor found no answer that can be used: say it once more, or otherwise"
            )
        showing.settle(replied.turns[-1].tutor.text)
        return replied

    async def _answered(self, answering: Awaitable[T]) -> T:
        """A Refusal for whatever keeps it from coming: nothing that was said gets into a log."""
        try:
            async with asyncio.timeout(self._seconds):
                return await answering
        except TimeoutError:
            why = self._fault() or "say it once more"
            raise _unavailable(f"the tutor has not answered within {self._seconds:g} s: {why}") from None
        except (Transient, ModelFailed, CannotServe) as error:
            raise _unavailable(f"the tutor cannot answer at the moment: {error}") from error
        except Refused as error:
            raise Refusal(Code.INVALID, str(error)) from error
        except Exception as error:
            where = "".join(traceback.format_tb(error.__traceback__))
            _log.error("a chat failed in the gateway itself: %s\n%s", type(error).__name__, where)
            raise _unavailable("the gateway failed: its log says why") from error


async def _followed(event: ConversationEvent, handlers: Handlers, tell: Tell) -> Conversation:
    while not isinstance(event, TutorReplied | ConversationFinished):
        before = event
        event = await _next(before, handlers)
        for piece in pieces.of_step(before, event):
            tell(piece)
    return event.conversation


async def _next(event: ConversationEvent, handlers: Handlers) -> ConversationEvent:
    [following] = await handlers[type(event)](event)
    assert isinstance(following, ConversationEvent)
    return following


def person_in(recipe: str) -> Person:
    """How a person takes part in a recipe; a Refusal for one in which nobody does."""
    try:
        found = find(recipe).person
    except UnknownRecipe as error:
        raise Refusal(Code.UNKNOWN, str(error)) from None
    if found is None:
        raise Refusal(Code.INVALID, f"{recipe} writes problems and tutors nobody: choose {' or '.join(tutoring())}")
    return found


def tutoring() -> list[str]:
    """The recipes that a person can be a student in."""
    return [name for name in known_recipes() if find(name).person]


def _unavailable(message: str) -> Refusal:
    return Refusal(Code.UNAVAILABLE, message, retry_after=_AGAIN_SECONDS)
