"""Defines the eight states that a student may show, and which of them solve a sub-question."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from soliloquy.recipes.codes import EVALUATIONS
from soliloquy.recipes.learner.knowledge import EVIDENCE, Stance
from soliloquy.recipes.prompt_checks import ANY, Kind
from soliloquy.recipes.scaffold.labels_pb2 import LearnerState, StudentLabels, TurnLabels, TutorLabels
from soliloquy.recipes.templates import Templates
from soliloquy.v1.conversation_pb2 import Conversation, Intent, Knowledge, Turn

START, END = LearnerState.LEARNER_STATE_START, LearnerState.LEARNER_STATE_END
CORRECT, INCORRECT = LearnerState.LEARNER_STATE_CORRECT, LearnerState.LEARNER_STATE_INCORRECT
COMPREHENSION = LearnerState.LEARNER_STATE_COMPREHENSION
CONFUSION = LearnerState.LEARNER_STATE_CONFUSION
# A person's messages have no drawn state.
UNDRAWN = LearnerState.LEARNER_STATE_UNSPECIFIED
# States in which a message may give an answer.
ANSWERING = (CORRECT, INCORRECT, UNDRAWN)

STATES = {
    "start": START,
    "correct": CORRECT,
    "comprehension": COMPREHENSION,
    "incorrect": INCORRECT,
    "confusion": CONFUSION,
    "question": LearnerState.LEARNER_STATE_QUESTION,
    "irrelevant": LearnerState.LEARNER_STATE_IRRELEVANT,
    "end": END,
}
NAMES = {state: name for name, state in STATES.items()}
_TEXTS = ("meaning", "student", "tutor", "said", "turn")
_STATE: Kind = {**dict.fromkeys(_TEXTS, str), "evaluation": frozenset(EVALUATIONS)}
_LEARNER: Kind = {
    "share": float,
    "understanding": frozenset(("tested", "taken")),
    "mistaken": float,
    "shaky": float,
    "evidence": dict.fromkeys(EVIDENCE, float),
}
TABLES: Mapping[str, Kind] = {
    "states": dict.fromkeys(STATES, _STATE),
    "learners": {ANY: _LEARNER},
    "understanding": {"tested": str, "taken": str},
}
_TEMPLATES = Templates(Path(__file__).with_name("prompts"), {}, TABLES)
INTENTS = {START: Intent.INTENT_OPENING, CORRECT: Intent.INTENT_RIGHT, INCORRECT: Intent.INTENT_WRONG}


def states(conversation: Conversation) -> Mapping[str, Mapping[str, str]]:
    """Returns what each state means, what both do in it, with examples, and its evaluation's letter."""
    return _TEMPLATES.of(conversation.run.prompts).table("states")


def drawn_state(turn: Turn) -> LearnerState:
    """Returns the state that a turn's message must show."""
    return StudentLabels.FromString(turn.student.labels).learner_state


def told_state(turn: Turn) -> LearnerState:
    """Returns the state that the student was told to show, which it may have left by giving a mistake up."""
    labels = StudentLabels.FromString(turn.student.labels)
    has_given_up = labels.knowledge == Knowledge.KNOWLEDGE_CORRECTED and labels.HasField("misconception")
    return INCORRECT if has_given_up else labels.learner_state


def mark(turn: Turn, state: LearnerState, stance: Stance | None = None) -> None:
    """Records the state that a message is to show, and what the student knows if that has changed."""
    labels = StudentLabels.FromString(turn.student.labels)
    labels.learner_state = state
    if stance is not None:
        labels.MergeFrom(StudentLabels(knowledge=stance.knowledge, misconception=stance.misconception))
    turn.student.labels = labels.SerializeToString()
    turn.student.intent = INTENTS.get(state, Intent.INTENT_UNSPECIFIED)


def found_state(turn: Turn) -> LearnerState:
    """Returns the state that a turn's message shows, in the tutor's judgement."""
    return TutorLabels.FromString(turn.tutor.labels).learner_state


def learners(conversation: Conversation) -> Mapping[str, Mapping[str, Any]]:
    """Returns the kinds of learners, with their shares and what they know."""
    return _TEMPLATES.of(conversation.run.prompts).table("learners")


def is_understanding_tested(conversation: Conversation) -> bool:
    return any(TurnLabels.FromString(turn.labels).understanding_tested for turn in conversation.turns[:1])


def solving(conversation: Conversation) -> Collection[LearnerState]:
    """Returns the states that solve a sub-question."""
    return (CORRECT, END) if is_understanding_tested(conversation) else (CORRECT, COMPREHENSION, END)
