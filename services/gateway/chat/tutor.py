"""Runs a tutor's turn in one process, from handler to handler, as events would go from service to service."""

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import TypeVar

from google.protobuf.message import Message

from soliloquy.recipes.packages import UnknownRecipe, known_recipes
from soliloquy.recipes.person import Person, VisibleText
from soliloquy.recipes.recipe import find
from soliloquy.runtime.events import ConversationEvent
from soliloquy.runtime.handling import Handler
from soliloquy.runtime.model import ChunkReceiver, ListenedModel, Model, StreamingModel
from soliloquy.runtime.model.faults import ModelFailed
from soliloquy.runtime.retry import CannotServe, Refused, Transient
from soliloquy.runtime.thoughts import parts_of
from soliloquy.v1.conversation_pb2 import Conversation, Ending
from soliloquy.v1.events_pb2 import (
    ConversationFinished,
    ConversationStarted,
    EnrichmentNeeded,
    StudentReplied,
    TutorReplied,
)
from soliloquy.v1.model_pb2 import GenerateRequest
from soliloquy_services.gateway.chat import progress
from soliloquy_services.gateway.chat.progress import Report
from soliloquy_services.gateway.refusals import Code, Refusal

_log = logging.getLogger(__name__)
_AGAIN_SECONDS = 1.0

T = TypeVar("T")
Handlers = Mapping[type[Message], Handler]
MakeHandlers = Callable[[Model], Handlers]


@dataclass(frozen=True, kw_only=True, slots=True)
class TutorModel:
    """The model that writes the tutor's replies."""

    name: str
    # Whether it is the rule-based stand-in, which knows the problems of the banks and no others.
    scripted: bool


class ChatTutor:
    def __init__(
        self,
        model: StreamingModel,
        handlers: MakeHandlers,
        *,
        by: TutorModel,
        seconds: float,
        fault: Callable[[], str],
        close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`handlers` makes the services' handlers for a model. `fault` is empty while the model answers."""
        self.by = by
        # Set if the model belongs to one chat only.
        self.close = close
        self.model = model
        self.make_handlers = handlers
        self.handlers = handlers(model)
        self._seconds = seconds
        self._fault = fault

    async def begin(self, conversation: Conversation) -> Conversation:
        """Plans the conversation, with the tutor's first message where the tutor begins."""
        planned = await self.plan(conversation)
        return await self.reply(planned, lambda _: None) if planned.turns else planned

    async def plan(self, conversation: Conversation) -> Conversation:
        """Adds the tutor's first turn where the tutor begins; raises a Refusal for a problem the recipe cannot use."""
        person = person_in(conversation.run.recipe)
        if conversation.run.enrich:
            needed = EnrichmentNeeded(conversation=conversation)
            conversation = (await self._bounded(_next(needed, self.handlers))).conversation
        if person.open is None:
            return conversation
        [opening] = person.open(ConversationStarted(conversation=conversation))
        if isinstance(opening, ConversationFinished):
            reason = opening.conversation.ending_reason
            raise Refusal(Code.INVALID, f"{conversation.run.recipe} cannot use this problem ({reason})")
        return opening.conversation

    async def reply(self, conversation: Conversation, report: Report) -> Conversation:
        """Returns a copy of the conversation with the tutor's reply to its last message."""
        visible_reply = VisibleReply(person_in(conversation.run.recipe).visible_text, report)
        report(progress.DECIDING)
        handlers = self.make_handlers(ListenedModel(self.model, visible_reply))
        first = StudentReplied(conversation=deepcopy(conversation))
        replied = await self._bounded(_followed(first, handlers, report))
        if replied.ending == Ending.ENDING_UNPARSABLE:
            # The fault of an answer may reveal the solution, so it is not shown.
            raise Refusal(Code.UNAVAILABLE, "the tutor gave no usable answer: send the message again, or rephrase it")
        visible_reply.settle(replied.turns[-1].tutor.text)
        return replied

    async def _bounded(self, answering: Awaitable[T]) -> T:
        """Turns every failure into a Refusal, and keeps the conversation out of the log."""
        try:
            async with asyncio.timeout(self._seconds):
                return await answering
        except TimeoutError:
            why = self._fault() or "send the message again"
            raise _unavailable(f"the tutor has not answered within {self._seconds:g} s: {why}") from None
        except (Transient, ModelFailed, CannotServe) as error:
            raise _unavailable(f"the tutor cannot answer at the moment: {error}") from error
        except Refused as error:
            raise Refusal(Code.INVALID, str(error)) from error
        except Exception as error:
            where = "".join(traceback.format_tb(error.__traceback__))
            _log.error("a chat failed in the gateway itself: %s\n%s", type(error).__name__, where)
            raise _unavailable("the gateway failed: see its log") from error


class VisibleReply:
    """Shows the reply while the model writes it, cut out of each answer; a second answer takes the first one back."""

    def __init__(self, visible_texts: Mapping[str, VisibleText], report: Report) -> None:
        self._visible_texts = visible_texts
        self._report = report
        self._text = ""

    def __call__(self, request: GenerateRequest) -> ChunkReceiver | None:
        visible_text = self._visible_texts.get(request.prompt)
        if visible_text is None:
            return None
        self._take_back()
        raw = ""

        def receive(text: str) -> None:
            nonlocal raw
            raw += text
            visible = visible_text(parts_of(raw).words).strip()
            if visible.startswith(self._text):
                self._add(visible)

        return receive

    def settle(self, text: str) -> None:
        """Shows the rest of the final reply, or all of it where other words were shown."""
        if not text.startswith(self._text):
            self._take_back()
        self._add(text)

    def _add(self, text: str) -> None:
        if delta := text[len(self._text) :]:
            self._report(progress.reply(delta))
            self._text = text

    def _take_back(self) -> None:
        if self._text:
            self._report(progress.REPLY_AGAIN)
            self._text = ""


async def _followed(event: ConversationEvent, handlers: Handlers, report: Report) -> Conversation:
    while not isinstance(event, TutorReplied | ConversationFinished):
        before = event
        event = await _next(before, handlers)
        for event_shown in progress.step_events(before, event):
            report(event_shown)
    return event.conversation


async def _next(event: ConversationEvent, handlers: Handlers) -> ConversationEvent:
    [following] = await handlers[type(event)](event)
    assert isinstance(following, ConversationEvent)
    return following


def person_in(recipe: str) -> Person:
    """How a person takes part in a recipe; raises a Refusal for a recipe without a student."""
    try:
        person = find(recipe).person
    except UnknownRecipe as error:
        raise Refusal(Code.UNKNOWN, str(error)) from None
    if person is None:
        raise Refusal(Code.INVALID, f"{recipe} has no student: use {' or '.join(tutoring_recipes())}")
    return person


def recipes_for(by: TutorModel) -> list[str]:
    """Returns the recipes that the model tutors; the stand-in only those in which it reads a person's words."""
    return [name for name in tutoring_recipes() if person_in(name).guide or not by.scripted]


def refuse_stand_in(recipe: str, by: TutorModel, language: str = "") -> None:
    """Raises a Refusal if the stand-in would tutor where it does not read a person's words."""
    if by.scripted and language:
        raise Refusal(Code.INVALID, f"language: the stand-in speaks English alone, not {language}: choose a model")
    if by.scripted and not person_in(recipe).guide:
        raise Refusal(
            Code.INVALID,
            f"recipe: the stand-in does not read a person's words in {recipe}: choose a model, or another recipe",
        )


def tutoring_recipes() -> list[str]:
    """The recipes in which a person can be the student."""
    return [name for name in known_recipes() if find(name).person]


def _unavailable(message: str) -> Refusal:
    return Refusal(Code.UNAVAILABLE, message, retry_after=_AGAIN_SECONDS)
