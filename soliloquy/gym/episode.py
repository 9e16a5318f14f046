"""An episode: a conversation whose tutor is the policy."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Self

from google.protobuf.message import Message

from soliloquy.gym.policy import completion_of
from soliloquy.gym.rewards import Reward, reward_of
from soliloquy.runs.assembly import next_event
from soliloquy.runtime.events import ConversationEvent
from soliloquy.runtime.failure import Failure
from soliloquy.runtime.handling import Handler
from soliloquy.runtime.model import Model
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.events_pb2 import ConversationFinished
from soliloquy.v1.model_pb2 import Completion, GenerateRequest

Handlers = Mapping[type[Message], Handler]
# Gives a finished conversation a mark between 0 and 1.
Judge = Callable[[Conversation], Awaitable[float]]


class EpisodeFailed(Failure):
    """The environment could not go on with an episode; others are not affected."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """A prompt of the tutor that waits for an answer."""

    role: str
    # "<recipe>/<state>"
    prompt: str
    # Each with "role" and "content".
    messages: Sequence[Mapping[str, str]]
    # JSON Schema of the answer; empty for free text.
    schema: str
    turn: int
    # The sampling seed that a run would use here.
    seed: int
    # The id of the conversation.
    conversation: str
    # The tools that an answer may call, as OpenAI's API describes them.
    tools: Sequence[Mapping[str, Any]] = ()

    @classmethod
    def of(cls, request: GenerateRequest) -> Self:
        """Returns what a policy sees of a request: its prompt, and nothing of what that was written from."""
        return cls(
            role=request.role,
            prompt=request.prompt,
            messages=[{"role": one.role, "content": one.text} for one in request.messages],
            schema=request.schema,
            turn=max(1, len(request.record.turns)),
            seed=request.seed,
            conversation=request.draw_key,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Environment:
    """Everything around the policy."""

    # Answers everything; the policy takes its place in `roles`, but for the prompts that judge the conversation.
    model: Model
    roles: Collection[str]
    judging: Collection[str] = ()
    # Makes the handlers of a conversation for a model.
    handlers: Callable[[Model], Handlers]
    weights: Mapping[str, float]
    judge: Judge | None = None
    # The conversations under way.
    playing: set[asyncio.Task[None]] = field(default_factory=set)

    def play(self, conversation: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        playing = asyncio.create_task(conversation)
        self.playing.add(playing)
        playing.add_done_callback(self._forget)
        return playing

    async def close(self) -> None:
        """Drops the conversations that have not ended."""
        left = [*self.playing]
        for playing in left:
            playing.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def _forget(self, playing: asyncio.Task[None]) -> None:
        self.playing.discard(playing)
        # Nobody retrieves the error of an episode that was left.
        if not playing.cancelled():
            playing.exception()


class Episode:
    def __init__(self, environment: Environment, opening: ConversationEvent) -> None:
        """`opening` is the event that the episode begins with: a fresh conversation, or one at any state."""
        self._environment = environment
        self._opening = opening
        self._playing: asyncio.Task[None] | None = None
        # The next request for the policy; None once the conversation has ended.
        self._requests: asyncio.Queue[GenerateRequest | None] = asyncio.Queue()
        self._asked: GenerateRequest | None = None
        self._answer: asyncio.Future[Completion] | None = None
        self._event = opening
        self._reward: Reward | None = None

    async def reset(self) -> Observation | None:
        """Begins the episode, or begins it again; None if it ends without a word of the tutor."""
        await self.close()
        self._requests, self._event, self._reward = asyncio.Queue(), self._opening, None
        self._playing = self._environment.play(self._play())
        return await self._next()

    async def step(self, answer: str | Completion) -> Observation | None:
        """Answers the last observation and returns the next one; None once the conversation has ended.

        Raises EpisodeFailed, or Failure for what is no answer, after which the episode still waits. A Completion also
        tells the model, its tokens and why it stopped.
        """
        if self._answer is None:
            raise Failure(
                "the episode is over" if self.is_over else "the episode waits for no answer: call reset() first"
            )
        completion = completion_of(answer)
        waiting, self._answer, self._asked = self._answer, None, None
        waiting.set_result(completion)
        return await self._next()

    async def stand_in(self, model: Model | None = None) -> Completion:
        """Returns what the environment's own model answers to the last observation, or another model of its kind."""
        if self._asked is None:
            raise Failure("the episode waits for no answer: call reset() first")
        return await (model or self._environment.model).generate(deepcopy(self._asked))

    async def close(self) -> None:
        """Drops a conversation that has not ended."""
        playing, self._playing, self._answer, self._asked = self._playing, None, None, None
        if playing is not None:
            playing.cancel()
            await asyncio.gather(playing, return_exceptions=True)

    @property
    def is_over(self) -> bool:
        return isinstance(self._event, ConversationFinished)

    @property
    def event(self) -> ConversationEvent:
        """The last event of the conversation."""
        return self._event

    @property
    def conversation(self) -> Conversation:
        """The conversation so far, without the state under way."""
        return self._event.conversation

    @property
    def reward(self) -> Reward:
        """Raises Failure before the conversation has ended."""
        if self._reward is None:
            raise Failure("the conversation has not ended: answer its observations until step() returns None")
        return self._reward

    async def _play(self) -> None:
        around = self._environment
        handlers = around.handlers(_Policy(around, self._ask))
        try:
            while not self.is_over:
                self._event = await next_event(self._event, handlers)
            opinion = await around.judge(self.conversation) if around.judge else None
            self._reward = reward_of(self.conversation, around.roles, around.weights, opinion)
        finally:
            self._requests.put_nowait(None)

    async def _ask(self, request: GenerateRequest) -> Completion:
        self._answer = asyncio.get_running_loop().create_future()
        self._requests.put_nowait(request)
        return await self._answer

    async def _next(self) -> Observation | None:
        self._asked = request = await self._requests.get()
        if request is not None:
            return Observation.of(request)
        assert self._playing is not None
        try:
            await self._playing
        except Exception as error:
            conversation = self.conversation
            where = f"conversation {conversation.id} at turn {len(conversation.turns)}"
            raise EpisodeFailed(f"{where}: {type(error).__name__}: {error}") from error
        return None


@dataclass(frozen=True, slots=True)
class _Policy:
    """Asks the policy for the tutor's roles, and the environment for all others."""

    environment: Environment
    ask: Callable[[GenerateRequest], Awaitable[Completion]]

    async def generate(self, request: GenerateRequest) -> Completion:
        if request.role in self.environment.roles and request.prompt not in self.environment.judging:
            return await self.ask(request)
        return await self.environment.model.generate(request)
