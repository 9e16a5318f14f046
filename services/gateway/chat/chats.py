"""Conversations in which a person is the student: in memory only, until the person agrees to have one kept."""

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from services.gateway.callers import CALLER
from services.gateway.chat import pieces
from services.gateway.chat.asked import ChatFinished, ChatShown, Posed, Said, StartChat
from services.gateway.chat.idle import UntilIdle
from services.gateway.chat.pieces import Piece, told_by
from services.gateway.chat.settings import ChatSettings
from services.gateway.chat.texts import cleaned
from services.gateway.chat.tutor import Tutor, person_in
from services.gateway.refusals import Code, Refusal
from soliloquy.recipes.recipe import find
from soliloquy.runtime.events import Event, EventTooLarge, checked, first_event, run_key
from soliloquy.runtime.seeds import digest
from soliloquy.runtime.transports.port import Unanswered
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Problem
from soliloquy.v1.events_pb2 import ConversationFinished
from soliloquy.v1.runs_pb2 import Run

# All that persons had kept of a recipe is one dataset: the growing names the recipe and its prompts.
RUN = "chats"
_PROMPT_DIGITS = 8
# Until it is noticed that somebody no longer waits for an answer.
_GOING_SECONDS = 1.0
LEFT = "left: the person who was the student went before it was over"

Publish = Callable[[Sequence[Event]], Awaitable[None]]


class Problems(Protocol):
    """What can be talked about; raises ValueError with what is wrong and what there is."""

    def of_bank(self, bank: str, seed: int) -> Problem: ...

    def of_ones_own(self, question: str, solution: str) -> Problem: ...


@dataclass(kw_only=True, slots=True)
class _Chat:
    # The name on the token; to others it is not there.
    owner: str
    conversation: Conversation
    speaking: asyncio.Lock = field(default_factory=asyncio.Lock)


class Chats:
    def __init__(self, tutor: Tutor, problems: Problems, publish: Publish, settings: ChatSettings) -> None:
        self._tutor = tutor
        self._problems = problems
        self._publish = publish
        self._settings = settings
        self._open: UntilIdle[_Chat] = UntilIdle(settings.idle_seconds)

    async def start(self, asked: StartChat) -> ChatShown:
        """Where the tutor has the first word, it is there."""
        person_in(asked.recipe)
        problem = self._problem(asked)
        if len(self._open) >= self._settings.most_chats:
            raise Refusal(Code.TOO_MANY, f"{self._settings.most_chats} chats are open: finish one, or come back later")
        chat_id = secrets.token_urlsafe()
        conversation = conversation_about(problem, asked.recipe, chat_id, most_turns=self._settings.most_turns)
        chat = _Chat(owner=CALLER.get(), conversation=await self._tutor.begun(conversation))
        self._open.put(chat_id, chat)
        return _shown(chat_id, chat.conversation)

    def show(self, chat_id: str) -> ChatShown:
        return _shown(chat_id, self._find(chat_id).conversation)

    async def say(self, chat_id: str, text: str) -> AsyncGenerator[Piece, None]:
        """The answer as it comes about; where none comes, the chat is as if nothing had been said."""
        chat = self._find(chat_id)
        text = cleaned("the message", text, self._settings.most_characters)
        if chat.speaking.locked():
            raise Refusal(Code.NOT_NOW, "the tutor is still answering: one message at a time")
        if chat.conversation.ending:
            raise Refusal(Code.NOT_NOW, "this conversation is over: start another chat")
        async with chat.speaking, aclosing(told_by(partial(self._answer, chat, text))) as told:
            try:
                async for piece in told:
                    yield piece
            finally:
                self._open.put(chat_id, chat)

    async def finish(self, chat_id: str, *, keep: bool) -> ChatFinished:
        """Forgets the chat; what is to be kept goes the way of every finished conversation."""
        chat = self._find(chat_id)
        try:
            async with asyncio.timeout(_GOING_SECONDS), chat.speaking:
                pass
        except TimeoutError:
            raise Refusal(Code.NOT_NOW, "the tutor is still answering: finish the chat then") from None
        conversation = chat.conversation
        kept = keep and any(turn.HasField("student") and turn.HasField("tutor") for turn in conversation.turns)
        if kept:
            await self._keep(conversation)
        self._open.drop(chat_id)
        return ChatFinished(
            kept=kept,
            conversation=conversation.id if kept else "",
            run=run_key(conversation.run) if kept else "",
        )

    def _problem(self, asked: StartChat) -> Problem:
        if (asked.bank is None) == (asked.question is None):
            raise Refusal(Code.INVALID, "a chat is about a problem of a bank or one of your own: send bank or question")
        settings = self._settings
        try:
            if asked.bank is not None:
                return self._problems.of_bank(asked.bank, asked.seed)
            question = cleaned("question", asked.question or "", settings.most_characters)
            solution = asked.solution and cleaned("solution", asked.solution, settings.most_solution_characters)
            return self._problems.of_ones_own(question, solution)
        except ValueError as error:
            raise Refusal(Code.INVALID, str(error)) from error

    def _find(self, chat_id: str) -> _Chat:
        chat = self._open.get(chat_id)
        if chat is None or chat.owner != CALLER.get():
            raise Refusal(
                Code.UNKNOWN, f"there is no chat {chat_id[:80]!r}: it was finished, or nobody came back to it"
            )
        return chat

    async def _answer(self, chat: _Chat, text: str, tell: pieces.Tell) -> None:
        said = Conversation()
        said.CopyFrom(chat.conversation)
        person_in(said.run.recipe).record_student(said, text)
        try:
            chat.conversation = await self._tutor.replied(said, tell)
        except Refusal as refusal:
            tell(pieces.error(refusal))
        else:
            tell(await asyncio.to_thread(pieces.done, chat.conversation))

    async def _keep(self, conversation: Conversation) -> None:
        finished = ConversationFinished(conversation=conversation)
        if not conversation.ending:
            finished.conversation.ending, finished.conversation.ending_reason = Ending.ENDING_LEFT, LEFT
        try:
            await self._publish([checked(first_event(finished, source="gateway", time=time.time()))])
        except EventTooLarge:
            raise Refusal(
                Code.TOO_LARGE, "the conversation has become too long to be kept: finish it without"
            ) from None
        except Unanswered as error:
            raise Refusal(Code.UNAVAILABLE, f"it cannot be kept at the moment ({error}): try again") from error


def conversation_about(problem: Problem, recipe: str, origin: str, *, most_turns: int) -> Conversation:
    """One in which a person is the student; the same origin is the same conversation."""
    prompts = digest(*sorted(find(recipe).fingerprints().items()))
    run = Run(
        id=RUN,
        growing=f"{recipe}-{prompts[:_PROMPT_DIGITS]}",
        recipe=recipe,
        max_turns=most_turns,
        # A person's conversation is not tried again.
        max_attempts=1,
        enrich=find(recipe).always_enriched,
    )
    return Conversation(id=digest(RUN, origin), run=run, problem=problem, person=True)


def _shown(chat_id: str, conversation: Conversation) -> ChatShown:
    problem = conversation.problem
    return ChatShown(
        id=chat_id,
        recipe=conversation.run.recipe,
        problem=Posed(topic=problem.topic, question=problem.question, source=problem.source),
        messages=list(_messages(conversation)),
        over=bool(conversation.ending),
    )


def _messages(conversation: Conversation) -> Iterator[Said]:
    if handed_in := person_in(conversation.run.recipe).prior_work(conversation):
        yield Said(role="student", text=handed_in)
    for turn in conversation.turns:
        if turn.HasField("student"):
            yield Said(role="student", text=turn.student.text)
        yield Said(role="tutor", text=turn.tutor.text)
