"""Draws several continuations from states of stored conversations, and keeps each with its reward."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from soliloquy.dataset.frames import Frames
from soliloquy.gym.gym import TUTOR
from soliloquy.gym.rewards import WEIGHTS, Reward, reward_of
from soliloquy.gym.states import event_at, has_state
from soliloquy.runs.assembly import conversation_handlers, next_event
from soliloquy.runtime.events import ConversationEvent
from soliloquy.runtime.model import Model
from soliloquy.runtime.seeds import digest, seed
from soliloquy.v1.conversation_pb2 import Conversation
from soliloquy.v1.dataset_pb2 import Collected
from soliloquy.v1.events_pb2 import ConversationFinished, TutorReplied
from soliloquy.v1.model_pb2 import Completion, GenerateRequest

if TYPE_CHECKING:
    from soliloquy_services.executor.handler import JobExecutor

# Hears how many samples are done, and why one was lost.
Tell = Callable[[int, str], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """Which states are taken up, and what is drawn from each."""

    # All turns if none is given.
    turn: int | None
    state: str
    samples: int
    # Whether the conversation is played to its end, or until the tutor has replied.
    to_end: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Fork:
    conversation: Conversation
    turn: int
    state: str

    def key(self, sample: int) -> str:
        return f"{self.conversation.id}/{self.turn}/{self.state}/{sample}"


class Sample(NamedTuple):
    number: int
    conversation: Conversation
    reward: Reward


def forks_of(conversations: Iterable[Conversation], choice: Choice) -> Iterator[Fork]:
    for conversation in conversations:
        for turn in conversation.turns:
            if has_state(turn, choice.state) and choice.turn in (None, turn.number):
                yield Fork(conversation=conversation, turn=turn.number, state=choice.state)


@dataclass(frozen=True, kw_only=True, slots=True)
class _SampledModel:
    """Gives the tutor's roles seeds of their own in each sample; the student draws as it did."""

    model: Model
    sample: int

    async def generate(self, request: GenerateRequest) -> Completion:
        if request.role in TUTOR:
            request.seed, request.id = seed(request.seed, self.sample), digest(request.id, self.sample)
        return await self.model.generate(request)


class Tree:
    """The samples of all forks in one file, which a killed process leaves whole."""

    def __init__(self, path: Path) -> None:
        self._frames = Frames(path)
        self._starts = {Collected.FromString(message).id: start for start, message in self._frames.recover()}

    def __contains__(self, key: str) -> bool:
        return key in self._starts

    def __len__(self) -> int:
        return len(self._starts)

    async def add(self, key: str, conversation: Conversation) -> None:
        kept = Collected(id=key, conversation=conversation.SerializeToString(deterministic=True))
        self._starts[key] = await self._frames.append(kept.SerializeToString())

    def samples(self, fork: Fork, samples: int) -> Sequence[Sample]:
        """Returns what was drawn, the best first; of equals the one that was drawn first."""
        kept = [(number, self._starts[key]) for number in range(samples) if (key := fork.key(number)) in self._starts]
        found = []
        for number, start in kept:
            collected = Collected.FromString(self._frames.message(start))
            conversation = Conversation.FromString(collected.conversation)
            found.append(Sample(number, conversation, _reward(conversation, fork)))
        return sorted(found, key=lambda sample: -sample.reward.total)

    def close(self) -> None:
        self._frames.close()


def _reward(conversation: Conversation, fork: Fork) -> Reward:
    """Judges a continuation without what had been taken back before it."""
    earlier = event_at(fork.conversation, fork.turn, fork.state).conversation.rewinds
    own = Conversation()
    own.CopyFrom(conversation)
    del own.rewinds[: len(earlier)]
    return reward_of(own, TUTOR, WEIGHTS)


async def draw_samples(
    forks: Iterable[Fork],
    tree: Tree,
    choice: Choice,
    model: Model,
    sandbox: "JobExecutor",
    *,
    in_flight: int,
    tell: Tell,
) -> int:
    """Draws what the tree lacks; returns how many samples were lost, which a second call draws again."""
    wanted = ((fork, number) for fork in forks for number in range(choice.samples))
    left = (one for one in wanted if one[0].key(one[1]) not in tree)
    lost = 0

    async def work() -> None:
        nonlocal lost
        for fork, number in left:
            try:
                event = event_at(fork.conversation, fork.turn, fork.state)
                continued = await _continued(
                    event, _SampledModel(model=model, sample=number), sandbox, to_end=choice.to_end
                )
                await tree.add(fork.key(number), continued)
            except OSError:
                raise
            except Exception as error:
                lost += 1
                tell(len(tree), f"{fork.key(number)}: {type(error).__name__}: {error}")
            else:
                tell(len(tree), "")

    async with asyncio.TaskGroup() as group:
        for _ in range(in_flight):
            group.create_task(work())
    return lost


async def _continued(event: ConversationEvent, model: Model, sandbox: "JobExecutor", *, to_end: bool) -> Conversation:
    handlers = conversation_handlers(model, sandbox)
    last = (ConversationFinished,) if to_end else (ConversationFinished, TutorReplied)
    event = await next_event(event, handlers)
    while not isinstance(event, last):
        event = await next_event(event, handlers)
    return event.conversation
