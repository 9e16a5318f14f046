"""Conversations in which a person is the student: kept in memory, and published only with the person's consent."""

import asyncio
import secrets
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, Protocol, TypeVar

from soliloquy.recipes.packages import DEFAULT
from soliloquy.recipes.person import Guide
from soliloquy.recipes.prompts import BrokenPrompt, spoken_prompts
from soliloquy.recipes.recipe import checked_prompts, find
from soliloquy.runtime.events import Event, EventTooLarge, checked, first_event, run_key
from soliloquy.runtime.seeds import digest
from soliloquy.runtime.transports.port import Unanswered
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Problem
from soliloquy.v1.events_pb2 import ConversationFinished
from soliloquy.v1.runs_pb2 import Run
from soliloquy_services.gateway.access.access import CALLER
from soliloquy_services.gateway.access.tenants import TENANT, chats_of
from soliloquy_services.gateway.chat import progress
from soliloquy_services.gateway.chat.messages import (
    ChatFinished,
    ChatMessage,
    ChatOffer,
    ChatProblem,
    ChatRecipe,
    ChatState,
    ChatTutorInfo,
    ChosenModel,
    EndpointRules,
    StartChat,
    clean_text,
)
from soliloquy_services.gateway.chat.progress import ProgressEvent, progress_of
from soliloquy_services.gateway.chat.tutor import ChatTutor, TutorModel, person_in, recipes_for, refuse_stand_in
from soliloquy_services.gateway.refusals import Code, Refusal

_PROMPT_DIGITS = 8
# How long a disconnected caller's answer may take to stop.
_STOP_SECONDS = 1.0
LEFT = "left: the person who was the student went before it was over"

T = TypeVar("T")
Publish = Callable[[Sequence[Event]], Awaitable[None]]


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatSettings:
    # Open at once, of all callers.
    most_chats: int = 256
    # How long a chat without messages is remembered.
    idle_seconds: float = 1_800.0
    most_turns: int = 50
    # In a person's message or problem, and in a solution.
    most_characters: int = 4_000
    most_solution_characters: int = 8_000
    # For the tutor's whole answer, calculations included.
    answer_seconds: float = 120.0


class TutorOpener(Protocol):
    """Connects a tutor with a model that a person has chosen; raises a Refusal if the model does not answer."""

    async def __call__(self, chosen: ChosenModel, *, listed: bool) -> ChatTutor: ...


class ProblemFinder(Protocol):
    """Finds problems to talk about; raises ValueError with the fault and the choices."""

    def bank_problem(self, bank: str, seed: int) -> Problem: ...

    def own_problem(self, question: str, solution: str, language: str = "") -> Problem: ...


class ExpiringCache(Generic[T]):
    """Forgets entries that nobody has written for a while."""

    def __init__(self, seconds: float, forget: Callable[[T], None] = lambda _: None) -> None:
        """`forget` is called with each entry that is dropped."""
        self._seconds = seconds
        self._forget = forget
        self._entries: OrderedDict[str, tuple[T, asyncio.TimerHandle]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, key: str, value: T) -> None:
        """Restarts the entry's time."""
        if entry := self._entries.pop(key, None):
            entry[1].cancel()
        timer = asyncio.get_running_loop().call_later(self._seconds, self.drop, key)
        self._entries[key] = (value, timer)

    def get(self, key: str) -> T | None:
        entry = self._entries.get(key)
        return entry[0] if entry else None

    def drop(self, key: str) -> None:
        if entry := self._entries.pop(key, None):
            entry[1].cancel()
            self._forget(entry[0])

    def drop_oldest(self) -> None:
        self.drop(next(iter(self._entries)))


@dataclass(kw_only=True, slots=True)
class _Chat:
    # The token's name; the chat does not exist for other callers.
    owner: str
    conversation: Conversation
    tutor: ChatTutor
    speaking: asyncio.Lock = field(default_factory=asyncio.Lock)


class Chats:
    def __init__(
        self,
        tutor: ChatTutor,
        problems: ProblemFinder,
        publish: Publish,
        settings: ChatSettings,
        *,
        rules: EndpointRules,
        open_tutor: TutorOpener,
    ) -> None:
        self._tutor = tutor
        self._problems = problems
        self._publish = publish
        self._settings = settings
        self._rules = rules
        self._open_tutor = open_tutor
        self._closing: set[asyncio.Future[None]] = set()
        self._open: ExpiringCache[_Chat] = ExpiringCache(settings.idle_seconds, lambda chat: self._close(chat.tutor))

    def offer(self) -> ChatOffer:
        """Lists the choices for a chat. The stand-in tutors only where a recipe has it read a person's words."""
        by = self._tutor.by
        names = recipes_for(by)
        return ChatOffer(
            recipes=[ChatRecipe(name=name, tutor=tutor_info(name, by)) for name in sorted(names, key=_usual_first)],
            model=by.name,
            scripted=by.scripted,
            endpoints=list(self._rules.listed),
            loopback=self._rules.loopback,
        )

    async def start(self, request: StartChat) -> ChatState:
        """Starts a chat, with the tutor's first message where the tutor begins."""
        person_in(request.recipe)
        problem = self._problem(request)
        if len(self._open) >= self._settings.most_chats:
            raise Refusal(Code.TOO_MANY, f"{self._settings.most_chats} chats are open: finish one, or try again later")
        chat_id = secrets.token_urlsafe()
        tutor = await self._chosen_tutor(request)
        try:
            refuse_stand_in(request.recipe, tutor.by, request.language)
            conversation = conversation_about(
                problem,
                request.recipe,
                chat_id,
                most_turns=self._settings.most_turns,
                prompts=_usable(request.prompts, request.recipe, request.language),
            )
            chat = _Chat(owner=CALLER.get(), conversation=await tutor.begin(conversation), tutor=tutor)
        except BaseException:
            self._close(tutor)
            raise
        self._open.put(chat_id, chat)
        return _state(chat_id, chat)

    def show(self, chat_id: str) -> ChatState:
        return _state(chat_id, self._find(chat_id))

    async def say(self, chat_id: str, text: str) -> AsyncGenerator[ProgressEvent, None]:
        """Yields the progress of the answer; without an answer, the message does not count."""
        chat = self._find(chat_id)
        text = clean_text("the message", text, self._settings.most_characters)
        if chat.speaking.locked():
            raise Refusal(Code.NOT_NOW, "the tutor is still answering: one message at a time")
        if chat.conversation.ending:
            raise Refusal(Code.NOT_NOW, "this conversation is over: start another chat")
        async with chat.speaking, aclosing(progress_of(partial(self._answer, chat, text))) as events:
            # Forgotten during the answer, the chat would lose the tutor that writes it.
            self._open.put(chat_id, chat)
            try:
                async for event in events:
                    yield event
            finally:
                self._open.put(chat_id, chat)

    async def finish(self, chat_id: str, *, keep: bool) -> ChatFinished:
        """Forgets the chat; publishes a conversation to keep like any finished one."""
        chat = self._find(chat_id)
        try:
            async with asyncio.timeout(_STOP_SECONDS), chat.speaking:
                pass
        except TimeoutError:
            raise Refusal(Code.NOT_NOW, "the tutor is still answering: finish the chat after its reply") from None
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

    def _problem(self, request: StartChat) -> Problem:
        if (request.bank is None) == (request.question is None):
            raise Refusal(Code.INVALID, "a chat is about a problem of a bank or your own: send either bank or question")
        settings = self._settings
        try:
            if request.bank is not None:
                if request.language:
                    raise ValueError("language: the problems of the banks are English: send a question")
                return self._problems.bank_problem(request.bank, request.seed)
            question = clean_text("question", request.question or "", settings.most_characters)
            solution = request.solution and clean_text("solution", request.solution, settings.most_solution_characters)
            return self._problems.own_problem(question, solution, request.language)
        except ValueError as error:
            raise Refusal(Code.INVALID, str(error)) from error

    async def _chosen_tutor(self, request: StartChat) -> ChatTutor:
        if not (request.endpoint or request.model or request.key):
            return self._tutor
        chosen = ChosenModel(base_url=request.endpoint.strip(), name=request.model.strip(), key=request.key.strip())
        self._rules.check(chosen)
        return await self._open_tutor(chosen, listed=self._rules.lists(chosen.base_url))

    def _close(self, tutor: ChatTutor) -> None:
        if tutor.close:
            closing = asyncio.ensure_future(tutor.close())
            # The loop keeps no reference of its own.
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    def _find(self, chat_id: str) -> _Chat:
        chat = self._open.get(chat_id)
        if chat is None or chat.owner != CALLER.get():
            raise Refusal(Code.UNKNOWN, f"there is no chat {chat_id[:80]!r}: it was finished, or was idle for too long")
        return chat

    async def _answer(self, chat: _Chat, text: str, report: progress.Report) -> None:
        conversation = Conversation()
        conversation.CopyFrom(chat.conversation)
        person_in(conversation.run.recipe).record_student(conversation, text)
        try:
            chat.conversation = await chat.tutor.reply(conversation, report)
        except Refusal as refusal:
            report(progress.error(refusal))
        else:
            report(await asyncio.to_thread(progress.done, chat.conversation))

    async def _keep(self, conversation: Conversation) -> None:
        finished = ConversationFinished(conversation=conversation)
        if not conversation.ending:
            finished.conversation.ending, finished.conversation.ending_reason = Ending.ENDING_LEFT, LEFT
        try:
            await self._publish([checked(first_event(finished, source="gateway", time=time.time()))])
        except EventTooLarge:
            raise Refusal(Code.TOO_LARGE, "the conversation is too long to keep: finish it with keep: false") from None
        except Unanswered as error:
            raise Refusal(
                Code.UNAVAILABLE, f"the conversation cannot be kept at the moment ({error}): try again"
            ) from error


def conversation_about(
    problem: Problem, recipe: str, origin: str, *, most_turns: int, prompts: Mapping[str, str] = {}
) -> Conversation:
    """A conversation in which a person is the student; one origin always gives one id."""
    fingerprint = digest(*sorted(find(recipe).fingerprints(prompts).items()))
    # A tenant's kept chats of a recipe form one dataset: the run's second part names the recipe and its prompts.
    run = Run(
        id=chats_of(TENANT.get()),
        growing=f"{recipe}-{fingerprint[:_PROMPT_DIGITS]}",
        recipe=recipe,
        max_turns=most_turns,
        # A person's conversation is not retried.
        max_attempts=1,
        enrich=find(recipe).always_enriched,
        prompts=prompts,
        language=problem.language,
    )
    return Conversation(id=digest(run.id, origin), run=run, problem=problem, person=True)


def _usable(changed: Mapping[str, str], recipe: str, language: str) -> Mapping[str, str]:
    try:
        prompts = spoken_prompts(recipe, language) | dict(changed)
        checked_prompts(recipe, prompts)
    except BrokenPrompt as error:
        raise Refusal(Code.INVALID, f"prompts: {error}") from error
    return prompts


def tutor_info(recipe: str, by: TutorModel) -> ChatTutorInfo:
    guide = person_in(recipe).guide or Guide()
    return ChatTutorInfo(
        model=by.name,
        scripted=by.scripted,
        understands=guide.understands if by.scripted else [],
        suggestions=guide.suggestions,
    )


def _usual_first(name: str) -> tuple[bool, str]:
    return name != DEFAULT, name


def _state(chat_id: str, chat: _Chat) -> ChatState:
    conversation = chat.conversation
    problem = conversation.problem
    return ChatState(
        id=chat_id,
        recipe=conversation.run.recipe,
        tutor=tutor_info(conversation.run.recipe, chat.tutor.by),
        problem=ChatProblem(topic=problem.topic, question=problem.question, source=problem.source),
        messages=list(_messages(conversation)),
        over=bool(conversation.ending),
    )


def _messages(conversation: Conversation) -> Iterator[ChatMessage]:
    if handed_in := person_in(conversation.run.recipe).prior_work(conversation):
        yield ChatMessage(role="student", text=handed_in)
    for turn in conversation.turns:
        if turn.HasField("student"):
            yield ChatMessage(role="student", text=turn.student.text)
        yield ChatMessage(role="tutor", text=turn.tutor.text)
