"""Defines what a recipe is, and looks recipes up by name."""

import functools
import tomllib
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ConfigDict

from soliloquy.recipes.agreement import AgreeingLetters
from soliloquy.recipes.check_report import CheckedConversation, with_unverified
from soliloquy.recipes.checks import also_checked, further_checks
from soliloquy.recipes.glosses import glossed_conversation
from soliloquy.recipes.judges import Judge, Judges
from soliloquy.recipes.labels import columns_of, faults_of_columns, labels_of, repeated_numbers
from soliloquy.recipes.learner.goals import LearningGoal
from soliloquy.recipes.packages import folder, has_part, known_recipes, load, package
from soliloquy.recipes.person import Person
from soliloquy.recipes.prompts import beside, check_files
from soliloquy.recipes.reader import Reader
from soliloquy.recipes.records import record
from soliloquy.recipes.rules import MANNERS, Broken, Rules
from soliloquy.recipes.scene import Speaker, Spoil
from soliloquy.recipes.seat import Seat, is_taught
from soliloquy.runtime.ask import Ask, Prompt
from soliloquy.runtime.events import Outcome
from soliloquy.runtime.extensions import BadPackage
from soliloquy.runtime.weights import digest_of
from soliloquy.truth.locales import languages
from soliloquy.v1.conversation_pb2 import Commission, Conversation, Ending, Enrichment, Problem
from soliloquy.v1.events_pb2 import (
    CalculationNeeded,
    CodeFailed,
    ConversationStarted,
    ReplyNeeded,
    StudentRejected,
    StudentReplied,
    TutorReplied,
)

_TUTORING_STORY = """\
A simulated student and a tutor talk a problem through. Before each reply the tutor asks itself whether it needs a
calculation; if so it writes Python, the code runs in a sandbox, and the reply is made from the output. All of that is
in the rows, hidden from the student."""


# The roles that write what people read.
RANKED = ("student", "composer")


class Lesson(NamedTuple):
    """A training example: one of the tutor's prompts and the exact answer that a model is to give."""

    turn: int
    prompt: Prompt
    answer: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplyContext:
    """Selects what a reply is learned from in addition to the conversation so far."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    # The move that the reply is to make.
    move: bool = True
    # The problem with the right and the student's solution.
    grounding: bool = True


class TrainingMessage(NamedTuple):
    """A message of a training chat; `learned` marks the tutor's own words."""

    role: str
    text: str
    # 0 for messages before the first turn.
    turn: int
    learned: bool = False


def _refuses_none(problem: Problem) -> str:
    return ""


def _no_enrichment_prompt(problem: Problem, changed: Mapping[str, str]) -> Prompt:
    return Prompt(name="", said=[("user", problem.question)])


async def _enrich_nothing(problem: Problem, changed: Mapping[str, str], ask: Ask) -> Enrichment:
    return Enrichment(plain_because="nothing to enrich: the recipe has no planner")


def _no_personas(changed: Mapping[str, str]) -> Mapping[str, str]:
    return {}


def _no_goals(conversation: Conversation) -> Sequence[LearningGoal]:
    return ()


def _not_solved(conversation: Conversation) -> str:
    """Begins with the text under which the manifest counts the reason."""
    return conversation.ending_reason or f"not solved: {Ending.Name(conversation.ending)}"


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One paper's way to generate conversations: what each role does, what is kept, and how it is stored.

    Its functions take the prompts that a run has changed from `conversation.run.prompts`; those without a conversation
    take them as an argument.
    """

    # Title and description for the dataset card.
    title: str = "Tutoring conversations"
    story: str = _TUTORING_STORY
    # Whether every conversation needs the planner's work before it can start.
    always_enriched: bool = False
    # Returns why a problem is of no use to the recipe; empty if it is of use.
    refuses: Callable[[Problem], str] = _refuses_none
    # For recipes that write problems: the topics to write about. None for recipes that work through given problems.
    topics: Callable[[Mapping[str, str]], Sequence[str]] | None = None
    # Returns the labels of a problem that is still to be written; set with `topics`.
    commissioned: Callable[[Commission], bytes] | None = None
    # The prompt that asks a model to enrich a problem, and the role that does so; a recipe may do without.
    enrichment_prompt: Callable[[Problem, Mapping[str, str]], Prompt] = _no_enrichment_prompt
    planner: Callable[[Problem, Mapping[str, str], Ask], Awaitable[Enrichment]] = _enrich_nothing
    student: Callable[[ConversationStarted | TutorReplied, Ask], Awaitable[Outcome]]
    # Rewrites a rejected message; None if the recipe never rejects one.
    student_again: Callable[[StudentRejected, Ask], Awaitable[Outcome]] | None = None
    tutor: Callable[[StudentReplied, Ask], Awaitable[Outcome]]
    codegen: Callable[[CalculationNeeded | CodeFailed, Ask], Awaitable[Outcome]]
    composer: Callable[[ReplyNeeded, Ask, Judges], Awaitable[Outcome]]
    # Reads what a message claims whose speaker does not say so; None if nothing is claimed.
    reader: Reader | None = None
    # Loads the file of classifiers that the composer judges by; None if the recipe uses none.
    load_judge: Callable[[Path], Judge] | None = None
    # Checks the truth of each turn and lists the faults, whatever the ending.
    check: Callable[[Conversation], CheckedConversation]
    # The rules that each answer is asked as soon as it is given; None if only `check` applies rules.
    rules: Rules | None = None
    # The endings of a conversation that may be accepted, and why any other is rejected.
    complete: Collection[int] = (Ending.ENDING_SOLVED,)
    incomplete: Callable[[Conversation], str] = _not_solved
    # The prompts of the tutor's roles whose answers judge the conversation and are no part of it.
    judging: Collection[str] = ()
    # The goals of the student of a conversation; nothing in a recipe without a student.
    goals: Callable[[Conversation], Sequence[LearningGoal]] = _no_goals
    # The roles whose messages `check` judges; `best_of` in the settings of models is for them.
    ranked: Collection[str] = RANKED
    agreeing: AgreeingLetters
    # The phrase that describes each persona, by its name.
    personas: Callable[[Mapping[str, str]], Mapping[str, str]] = _no_personas
    # The meaning of each letter that stands for an evaluation of a message.
    evaluations: Mapping[str, str]
    # Returns a hash of each prompt file; raises BrokenPrompt if one cannot be filled in.
    fingerprints: Callable[[Mapping[str, str]], dict[str, str]]
    # Rebuilds every prompt that led to a conversation, with its turn; turn 0 precedes the first message.
    prompts: Callable[[Conversation], list[tuple[int, Prompt]]]
    # Training examples for a model that plays the tutor prompt by prompt.
    lessons: Callable[[Conversation], list[Lesson]]
    # The conversation as one chat, for a model that plays the whole tutor at once.
    dialogue: Callable[[Conversation], list[TrainingMessage]]
    # Training examples for a model that writes only the tutor's messages; None if the recipe has no such task.
    replies: Callable[[Conversation, ReplyContext], list[Lesson]] | None = None
    # For recipes of other packages: the stand-in's answer to each prompt, by the prompt's name, and how it imitates the
    # faults of real models, with their rates.
    speakers: Mapping[str, Speaker] = field(default_factory=dict)
    noise: Mapping[str, Spoil] = field(default_factory=dict)
    noise_rates: Mapping[str, Any] = field(default_factory=dict)
    # None if the recipe tutors nobody.
    person: Person | None = None
    # How a person can be the tutor; None if nobody can.
    seat: Seat | None = None
    # Returns a conversation of another language than English as the readers know it.
    glossed: Callable[[Conversation], Conversation] = glossed_conversation

    def record(self, conversation: Conversation) -> dict[str, Any]:
        """Returns a conversation as readable JSON."""
        return record(conversation, labels_of(conversation.run.recipe), self.agreeing)

    def review(self, conversation: Conversation) -> CheckedConversation:
        """Checks a finished conversation; reports only the reason for one that broke off."""
        # A teacher ends a dialogue at any time.
        if conversation.ending in self.complete or is_taught(conversation):
            checked = self.check(conversation)
            return with_unverified(checked) if conversation.run.verified else checked
        return CheckedConversation(turns=(), faults=[self.incomplete(conversation)])

    def judge(self, conversation: Conversation) -> CheckedConversation:
        """Reviews a finished conversation, and writes into its turns what each verdict rests on."""
        checked = self.review(conversation)
        for turn, found in zip(conversation.turns, checked.turns, strict=False):
            turn.verification = found.verification
        return checked

    def faults(self, conversation: Conversation) -> list[str]:
        """Judges a finished conversation; returns why it is rejected, and nothing if it is kept."""
        return list(self.judge(conversation).faults)


@functools.cache
def find(name: str) -> Recipe:
    """Raises UnknownRecipe or BadPackage."""
    labels = folder(name) / "labels.proto"
    if labels.exists() and (why := "; ".join(repeated_numbers(labels.read_text("utf-8")))):
        raise BadPackage(f"recipe {name}: {package(name)}: labels.proto: {why}")
    recipe: Recipe = load(name, "recipe:RECIPE", Recipe)
    if why := "; ".join(faults_of_columns(labels_of(name), columns_of(name))):
        raise BadPackage(f"recipe {name}: {package(name)}.columns: {why}")
    recipe = _reading_glosses(recipe, _said_rules(name))
    return replace(recipe, check=also_checked(recipe.check)) if further_checks() else recipe


def _said_rules(name: str) -> Mapping[str, Mapping[str, str]]:
    """Returns the rules of a recipe in words of other languages, by language."""
    places = (beside(folder(name) / "rules.toml", language) for language in languages())
    return {path.parent.name: tomllib.loads(path.read_text("utf-8")) for path in places if path.exists()}


def _reading_glosses(recipe: Recipe, said: Mapping[str, Mapping[str, str]]) -> Recipe:
    """Returns the recipe with rules and checks that read glosses, but for those of manners, which quote words."""
    read, rules = recipe.glossed, recipe.rules

    def check(conversation: Conversation) -> CheckedConversation:
        checked = recipe.check(read(conversation))
        if not conversation.problem.language:
            return checked
        own = zip(checked.turns, conversation.turns, strict=False)
        turns = [replace(found, message=turn.student.text, reply=turn.tutor.text) for found, turn in own]
        faults = [one for one in checked.faults if one.partition(":")[0].replace(" ", "_") not in MANNERS]
        if rules is not None:
            condemning = [name for name in MANNERS if name in rules.book.rules and rules.book.condemns(name)]
            faults += map(str, rules.broken(conversation, condemning, len(conversation.turns)))
        return replace(checked, turns=turns, faults=faults)

    if rules is None:
        return replace(recipe, check=check)
    find_broken, check_by, settled = rules.broken, rules.check_by, rules.settled

    def broken(conversation: Conversation, names: Collection[str], last: int) -> Iterable[Broken]:
        if not conversation.problem.language:
            return find_broken(conversation, names, last)
        own, others = ([name for name in names if (name in MANNERS) is is_own] for is_own in (True, False))
        return [*find_broken(conversation, own, last), *find_broken(read(conversation), others, last)]

    reading = replace(
        rules,
        broken=broken,
        check_by=lambda conversation, book: check_by(read(conversation), book),
        settled=lambda conversation: settled(read(conversation)),
        said=said,
    )
    return replace(recipe, check=check, rules=reading)


def checked_prompts(recipe: str, changed: Mapping[str, str]) -> dict[str, str]:
    """Returns the digest of each prompt; raises BrokenPrompt if a model cannot be asked with them."""
    check_files(recipe, changed)
    return find(recipe).fingerprints(changed)


def load_judges(classifiers: Path | None) -> Judges:
    """Loads a file of classifiers with the recipe that has a use for it; raises Failure."""
    if classifiers is None:
        return Judges()
    load = next(load for name in known_recipes() if has_part(name, "recipe") and (load := find(name).load_judge))
    return Judges(by_digest={digest_of([classifiers]): load(classifiers)})
