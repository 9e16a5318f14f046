"""The tutor behind OpenAI's chat completions: models are recipes, and answers hold replies only."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from copy import deepcopy
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from pydantic import ValidationError

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
from soliloquy_services.gateway.access.access import CALLER
from soliloquy_services.gateway.chat.chats import ChatSettings, ExpiringCache, ProblemFinder, conversation_about
from soliloquy_services.gateway.chat.messages import clean_text
from soliloquy_services.gateway.chat.progress import REPLY_AGAIN, Report, progress_of
from soliloquy_services.gateway.chat.tutor import ChatTutor, person_in, recipes_for, refuse_stand_in
from soliloquy_services.gateway.refusals import Code, Refusal

# Separates a reply that was sent and does not count from the one in its place.
_REPLACED = "\n\n"
_PROBLEM, _SOLUTION = "Problem:", "Solution:"
_ROLES = {"system": "system", "developer": "system", "user": "student", "assistant": "tutor"}


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatHistory:
    """A problem, the exchanges about it, and the latest message, as a client sends them each time."""

    # The token's name: no caller resumes another's conversation.
    owner: str
    question: str
    solution: str
    # Pairs of the student's message and the tutor's reply.
    exchanges: list[tuple[str, str]]
    latest: str


class Completions:
    def __init__(self, tutor: ChatTutor, problems: ProblemFinder, settings: ChatSettings) -> None:
        self._tutor = tutor
        self._problems = problems
        self._settings = settings
        # Keyed by everything that a client will send the next time. A forgotten conversation leaves only its texts.
        self._conversations: ExpiringCache[Conversation] = ExpiringCache(settings.idle_seconds)

    async def answer(self, request: CommonChatRequest) -> dict[str, Any]:
        history = self._read(request)
        conversation = await self._reply(request.model, history, lambda _: None)
        text = conversation.turns[-1].tutor.text
        self._remember(request.model, history, text, conversation)
        return ChatResponse(self._answering(request)).whole(_completion(conversation, text))

    async def stream(self, request: CommonChatRequest) -> AsyncGenerator[str, None]:
        """Yields server-sent events; an error is the last of them."""
        history, answer = self._read(request), ChatResponse(self._answering(request))
        sent, conversation = "", Conversation()

        async def reply(report: Report) -> None:
            conversation.CopyFrom(await self._reply(request.model, history, report))

        yield sse(answer.chunk({"role": "assistant", "content": ""}))
        try:
            async with aclosing(progress_of(reply)) as events:
                async for step in events:
                    delta = _REPLACED if step == REPLY_AGAIN else step.data.get("delta", "")
                    if delta:
                        sent += delta
                        yield sse(answer.chunk({"content": delta}))
        except Refusal as refusal:
            yield sse(openai_error(refusal)[1])
            return
        self._remember(request.model, history, sent, conversation)
        completion = _completion(conversation, sent)
        yield sse(answer.chunk({}, completion.finish))
        if request.wants_usage:
            yield sse(answer.usage(completion))
        yield LAST_EVENT

    def models(self) -> dict[str, Any]:
        """Lists the recipes that the gateway's model tutors."""
        return {"object": "list", "data": [model_entry(name) for name in recipes_for(self._tutor.by)]}

    def _answering(self, request: CommonChatRequest) -> str:
        """Names the recipe and the model behind it: "soliloquy/scripted"."""
        return f"{request.model}/{self._tutor.by.name}"

    def _read(self, request: CommonChatRequest) -> ChatHistory:
        refuse_stand_in(request.model, self._tutor.by)
        return read_history(request, self._settings)

    async def _reply(self, recipe: str, history: ChatHistory, report: Report) -> Conversation:
        known = self._conversations.get(_key(recipe, history, history.exchanges))
        if known and known.ending:
            raise Refusal(Code.NOT_NOW, "the tutor has ended this conversation: start another one")
        conversation = await self._replay(recipe, history) if known is None else deepcopy(known)
        if not _awaits_tutor(conversation):
            person_in(recipe).record_student(conversation, history.latest)
        return await self._tutor.reply(conversation, report)

    async def _replay(self, recipe: str, history: ChatHistory) -> Conversation:
        """Rebuilds a conversation from its texts, without the tutor's soliloquies."""
        try:
            problem = self._problems.own_problem(history.question, history.solution)
        except ValueError as error:
            raise Refusal(Code.INVALID, str(error)) from error
        person, origin = person_in(recipe), digest(history.question, history.solution)
        conversation = conversation_about(problem, recipe, origin, most_turns=self._settings.most_turns)
        conversation = await self._tutor.plan(conversation)
        for student, tutor in history.exchanges:
            if not _awaits_tutor(conversation):
                person.record_student(conversation, student)
            person.record_tutor(conversation, tutor)
        return conversation

    def _remember(self, recipe: str, history: ChatHistory, sent: str, conversation: Conversation) -> None:
        self._conversations.put(_key(recipe, history, [*history.exchanges, (history.latest, sent)]), conversation)
        if len(self._conversations) > self._settings.most_chats:
            self._conversations.drop_oldest()


def parse_request(body: Mapping[str, Any]) -> CommonChatRequest:
    try:
        request = CommonChatRequest.model_validate(body)
    except ValidationError as error:
        raise Refusal(Code.INVALID, first_error(error)) from error
    if flaw := request.unsupported_option():
        raise Refusal(Code.INVALID, flaw)
    return request


def read_history(request: CommonChatRequest, settings: ChatSettings) -> ChatHistory:
    """Ignores a system message without a problem: the recipe decides the tutor's instructions."""
    messages = [(_ROLES[message.role], message.text) for message in request.messages]
    problems = [text.strip() for role, text in messages if role == "system" and text.lstrip().startswith(_PROBLEM)]
    joined = [
        (role, "\n\n".join(text for _, text in texts))
        for role, texts in groupby((one for one in messages if one[0] != "system"), key=lambda one: one[0])
    ]
    if not joined or joined[0][0] != "student" or joined[-1][0] != "student":
        raise Refusal(Code.INVALID, "messages: the first and the last message must be the user's")
    *earlier, (_, latest) = joined
    question, _, solution = (
        problems[0].removeprefix(_PROBLEM).partition(_SOLUTION) if problems else (joined[0][1], "", "")
    )
    return ChatHistory(
        owner=CALLER.get(),
        question=clean_text("the problem", question, settings.most_characters),
        solution=solution.strip() and clean_text("the solution", solution, settings.most_solution_characters),
        exchanges=[
            (clean_text("a message", student, settings.most_characters), tutor)
            for (_, student), (_, tutor) in zip(earlier[::2], earlier[1::2], strict=True)
        ],
        latest=clean_text("the latest message", latest, settings.most_characters),
    )


def openai_error(refusal: Refusal) -> tuple[int, dict[str, Any]]:
    """Returns a status and an error body in OpenAI's format."""
    status = refusal.code.http_status
    return status, error_body(status, refusal.message, refusal.code)


def _awaits_tutor(conversation: Conversation) -> bool:
    return bool(conversation.turns) and not conversation.turns[-1].HasField("tutor")


def _key(recipe: str, history: ChatHistory, exchanges: list[tuple[str, str]]) -> str:
    texts = (text.strip() for exchange in exchanges for text in exchange)
    return digest(history.owner, recipe, history.question, history.solution, *texts)


def _completion(conversation: Conversation, text: str) -> Completion:
    """Counts the tokens of every call that the reply took."""
    calls = conversation.turns[-1].calls
    return Completion(
        text=text,
        finish=Finish.FINISH_STOP,
        prompt_tokens=sum(call.prompt_tokens for call in calls),
        completion_tokens=sum(call.completion_tokens for call in calls),
    )
