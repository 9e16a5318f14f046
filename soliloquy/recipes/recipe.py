"""What a recipe is, how one is found, and how one of its roles is played."""

import functools
import importlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import ConfigDict

from soliloquy.recipes.agreement import Agreeing
from soliloquy.recipes.judges import Judge, Judges
from soliloquy.recipes.person import Person
from soliloquy.recipes.scripted.parsed_prompt import Speaker
from soliloquy.runtime.ask import Ask, Prompt, Unusable
from soliloquy.runtime.events import ConversationEvent, Outcome, emit
from soliloquy.runtime.model import Model
from soliloquy.runtime.retry import Refused
from soliloquy.runtime.weights import digest_of
from soliloquy.truth.report import Checked
from soliloquy.v1.conversation_pb2 import Conversation, Ending, Enrichment, Problem
from soliloquy.v1.events_pb2 import (
    CalculationNeeded,
    CodeFailed,
    ConversationFinished,
    ConversationStarted,
    ReplyNeeded,
    StudentRejected,
    StudentReplied,
    TutorReplied,
)

# Of conversations that name no recipe: those that were imported.
DEFAULT = "soliloquy"


TUTORED = """\
A simulated student and a tutor talk a problem through. Before each reply the tutor asks itself whether it needs a
calculation; if so it writes Python, the code runs in a sandbox, and the reply is made from the output. All of that is
in the rows, hidden from the student."""


class Lesson(NamedTuple):
    """A prompt of the tutor's in a turn, and the answer that a model is to give to it, word for word."""

    turn: int
    prompt: Prompt
    answer: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Given:
    """What a reply is learned from besides what was said before it."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    # The move that it is to make; and the problem with its solutions.
    move: bool = True
    grounding: bool = True


class Told(NamedTuple):
    """A message of a chat; `learned` where it is the tutor's own words."""

    role: str
    text: str
    # 0 for what stands before the first turn.
    turn: int
    learned: bool = False


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One paper's way to grow a conversation: what each role does, what is kept, and how it is written down."""

    # What a dataset of it is, and how its rows came about, as its card tells it.
    title: str = "Tutoring conversations"
    story: str = TUTORED
    # Whether a conversation cannot start without what the planner makes of its problem.
    always_enriched: bool = False
    # What problems are written about where its conversations make problems; none where they go through problems.
    topics: Sequence[str] = ()
    # What a model is asked of a problem before its conversation starts, where the run wants that; and what comes of it.
    enriching: Callable[[Problem], Prompt]
    planner: Callable[[Problem, Ask], Awaitable[Enrichment]]
    student: Callable[[ConversationStarted | TutorReplied, Ask], Awaitable[Outcome]]
    # Its next try at a message that did not fit; None where no message is sent back to it.
    student_again: Callable[[StudentRejected, Ask], Awaitable[Outcome]] | None = None
    tutor: Callable[[StudentReplied, Ask], Awaitable[Outcome]]
    codegen: Callable[[CalculationNeeded | CodeFailed, Ask], Awaitable[Outcome]]
    composer: Callable[[ReplyNeeded, Ask, Judges], Awaitable[Outcome]]
    # Loads a file of classifiers that its composer judges by; None for a recipe that uses none.
    load_judge: Callable[[Path], Judge] | None = None
    # Why a finished conversation is not worth keeping; nothing where it is.
    faults: Callable[[Conversation], list[str]]
    # The same with what is so in each of its turns.
    judged: Callable[[Conversation], Checked]
    # The same of any conversation.
    checked: Callable[[Conversation], Checked]
    agreeing: Agreeing
    # Evaluations, actions and states in words, as people read them.
    words: Mapping[str, Mapping[str, str]]
    # What the tutor made of the student's message, in a line for people: from a turn of a record.
    remark: Callable[[dict[str, Any]], str]
    record: Callable[[Conversation], dict[str, Any]]
    restore: Callable[[dict[str, Any]], Conversation]
    # A hash of each prompt file; raises BrokenPrompt for one that cannot be filled in.
    fingerprints: Callable[[], dict[str, str]]
    # Every prompt that led to a conversation, with its turn; 0 for what was asked before the first.
    prompts: Callable[[Conversation], list[tuple[int, Prompt]]]
    # What a model that is to play the tutor learns from a conversation.
    lessons: Callable[[Conversation], list[Lesson]]
    # The same as one chat, for a model that is to play all of the tutor at once.
    dialogue: Callable[[Conversation], list[Told]]
    # The same for a model that is to write the tutor's messages and nothing else; None where there is no such task.
    replies: Callable[[Conversation, Given], list[Lesson]] | None = None
    # What answers each of its prompts, by the prompt's name, where no language model is there.
    speakers: Mapping[str, Speaker]
    # None where nobody is tutored.
    person: Person | None = None


class UnknownRecipe(Refused):
    """No folder of recipes has this name."""


@functools.cache
def known_recipes() -> Mapping[str, str]:
    """The name and module of every recipe: adding a recipe is adding a folder."""
    folders = (folder.name for folder in Path(__file__).parent.iterdir() if (folder / "prompts").is_dir())
    return {name: f"soliloquy.recipes.{name}.recipe" for name in sorted(folders)}


@functools.cache
def find(name: str) -> Recipe:
    try:
        module = known_recipes()[name]
    except KeyError:
        raise UnknownRecipe(f"there is no recipe {name!r}; there are: {', '.join(known_recipes())}") from None
    recipe = importlib.import_module(module).RECIPE
    assert isinstance(recipe, Recipe)
    return recipe


def load_judges(classifiers: Path | None) -> Judges:
    """Loads a file of classifiers with the recipe that has a use for it; raises BadClassifiers."""
    if classifiers is None:
        return Judges()
    load = next(load for name in known_recipes() if (load := find(name).load_judge))
    return Judges(by_digest={digest_of([classifiers]): load(classifiers)})


E = TypeVar("E", bound=ConversationEvent)


async def play(event: E, act: Callable[[E, Ask], Awaitable[Outcome]], *, role: str, model: Model) -> Outcome:
    """Has a role act on an event; every raw answer it got is kept in the conversation's last turn.

    A conversation in which a model's answer stays unusable ends there and says so.
    """
    played = deepcopy(event)
    conversation = played.conversation
    asked_before = len(conversation.turns[-1].calls) if conversation.turns else 0
    origin = (conversation.run.seed, conversation.id, len(conversation.turns), asked_before)
    ask = Ask(model=model, role=role, origin=origin)
    try:
        outcome = await act(played, ask)
    except Unusable as unusable:
        if role == "student" and not isinstance(event, StudentRejected):
            conversation.turns.add(number=len(conversation.turns) + 1)
        conversation.ending = Ending.ENDING_UNPARSABLE
        conversation.ending_reason = str(unusable)
        outcome = emit(ConversationFinished(conversation=conversation))
    for message in outcome:
        message.conversation.turns[-1].calls.extend(ask.calls)
    return outcome
