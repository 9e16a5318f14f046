"""The tutor behind OpenAI's chat completions: a model's name is a recipe's, and nothing but replies is told."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from pydantic import ValidationError

from services.gateway.chat.chats import Problems, conversation_about
from services.gateway.chat.history import History, read_history
from services.gateway.chat.idle import UntilIdle
from services.gateway.chat.pieces import REPLY_AGAIN, Tell, told_by
from services.gateway.chat.settings import ChatSettings
from services.gateway.chat.tutor import Tutor, person_in, tutoring
from services.gateway.refusals import HTTP_STATUS, Code, Refusal
from soliloquy.runtime.completions import (
    LAST_EVENT,
    ChatResponse,
    CommonChatRequest,
    error_body,
    first_error,
    model_entry,
    sse,
)
from soliloquy.runtime.seeds import digest
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.model_pb2 import Completion, Finish

# Between a reply that cannot be taken back and the one in its place.
_ANEW = "\n\n"


class Completions:
    def __init__(self, tutor: Tutor, problems: Problems, settings: ChatSettings) -> None:
        self._tutor = tutor
        self._problems = problems
        self._settings = settings
        # By all that a client will send along the next time. Of one that is forgotten, only the texts are known.
        self._going: UntilIdle[Conversation] = UntilIdle(settings.idle_seconds)

    async def answer(self, asked: CommonChatRequest) -> dict[str, Any]:
        history = self._read(asked)
        conversation = await self._replied(asked.model, history, lambda _: None)
        text = conversation.turns[-1].tutor.text
        self._remember(asked.model, history, text, conversation)
        return ChatResponse(asked.model).whole(_completion(conversation, text))

    async def stream(self, asked: CommonChatRequest) -> AsyncGenerator[str, None]:
        """Server-sent events; what goes wrong on the way is the last of them."""
        history, answer = self._read(asked), ChatResponse(asked.model)
        sent, conversation = "", Conversation()

        async def reply(tell: Tell) -> None:
            conversation.CopyFrom(await self._replied(asked.model, history, tell))

        yield sse(answer.chunk({"role": "assistant", "content": ""}))
        try:
            async with aclosing(told_by(reply)) as pieces:
                async for piece in pieces:
                    delta = _ANEW if piece == REPLY_AGAIN else piece.data.get("delta", "")
                    if delta:
                        sent += delta
                        yield sse(answer.chunk({"content": delta}))
        except Refusal as refusal:
            yield sse(refused(refusal)[1])
            return
        self._remember(asked.model, history, sent, conversation)
        completion = _completion(conversation, sent)
        yield sse(answer.chunk({}, completion.finish))
        if asked.wants_usage:
            yield sse(answer.usage(completion))
        yield LAST_EVENT

    def _read(self, asked: CommonChatRequest) -> History:
        person_in(asked.model)
        return read_history(asked, self._settings)

    async def _replied(self, recipe: str, history: History, tell: Tell) -> Conversation:
        known = self._going.get(_key(recipe, history, history.exchanges))
        if known and known.ending:
            raise Refusal(Code.NOT_NOW, "the tutor has ended this conversation: begin another one")
        conversation = await self._replayed(recipe, history) if known is None else _copy(known)
        if not _awaits_tutor(conversation):
            person_in(recipe).record_student(conversation, history.latest)
        return await self._tutor.replied(conversation, tell)

    async def _replayed(self, recipe: str, history: History) -> Conversation:
        """What was said before, without what the tutor thought of it."""
        try:
            problem = self._problems.of_ones_own(history.question, history.solution)
        except ValueError as error:
            raise Refusal(Code.INVALID, str(error)) from error
        person, origin = person_in(recipe), digest(history.question, history.solution)
        conversation = conversation_about(problem, recipe, origin, most_turns=self._settings.most_turns)
        conversation = await self._tutor.planned(conversation)
        for student, tutor in history.exchanges:
            if not _awaits_tutor(conversation):
                person.record_student(conversation, student)
            person.record_tutor(conversation, tutor)
        return conversation

    def _remember(self, recipe: str, history: History, sent: str, conversation: Conversation) -> None:
        self._going.put(_key(recipe, history, [*history.exchanges, (history.latest, sent)]), conversation)
        if len(self._going) > self._settings.most_chats:
            self._going.drop_oldest()


def models() -> dict[str, Any]:
    return {"object": "list", "data": [model_entry(name) for name in tutoring()]}


def read_asked(body: Mapping[str, Any]) -> CommonChatRequest:
    try:
        asked = CommonChatRequest.model_validate(body)
    except ValidationError as error:
        raise Refusal(Code.INVALID, first_error(error)) from error
    if flaw := asked.unsupported_option():
        raise Refusal(Code.INVALID, flaw)
    return asked


def refused(refusal: Refusal) -> tuple[int, dict[str, Any]]:
    """As OpenAI tells errors: a status and a body."""
    status = HTTP_STATUS[refusal.code]
    return status, error_body(status, refusal.message, refusal.code)


def _awaits_tutor(conversation: Conversation) -> bool:
    return bool(conversation.turns) and not conversation.turns[-1].HasField("tutor")


def _key(recipe: str, history: History, exchanges: list[tuple[str, str]]) -> str:
    said = (text.strip() for exchange in exchanges for text in exchange)
    return digest(history.owner, recipe, history.question, history.solution, *said)


def _copy(conversation: Conversation) -> Conversation:
    copy = Conversation()
    copy.CopyFrom(conversation)
    return copy


def _completion(conversation: Conversation, text: str) -> Completion:
    """With the tokens of every call that the reply took."""
    calls = conversation.turns[-1].calls
    return Completion(
        text=text,
        finish=Finish.FINISH_STOP,
        prompt_tokens=sum(call.prompt_tokens for call in calls),
        completion_tokens=sum(call.completion_tokens for call in calls),
    )
