"""Defines the eight states that a student may show, and draws the next one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from soliloquy.recipes.codes import EVALUATIONS
from soliloquy.recipes.prompt_checks import Kind
from soliloquy.recipes.rewinding import rewinding_parts
from soliloquy.recipes.scaffold.labels_pb2 import LearnerState, StudentLabels, TutorLabels
from soliloquy.recipes.scaffold.policy import POLICY
from soliloquy.recipes.templates import Templates
from soliloquy.runtime.seeds import draw
from soliloquy.v1.conversation_pb2 import Conversation, Intent, Turn

START, END = LearnerState.LEARNER_STATE_START, LearnerState.LEARNER_STATE_END
CORRECT, INCORRECT = LearnerState.LEARNER_STATE_CORRECT, LearnerState.LEARNER_STATE_INCORRECT
COMPREHENSION = LearnerState.LEARNER_STATE_COMPREHENSION
CONFUSION = LearnerState.LEARNER_STATE_CONFUSION
# A person's messages have no drawn state.
UNDRAWN = LearnerState.LEARNER_STATE_UNSPECIFIED
# States in which a message may give an answer.
ANSWERING = (CORRECT, INCORRECT, UNDRAWN)
SOLVING = (CORRECT, COMPREHENSION, END)

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
TABLES: Mapping[str, Kind] = {"states": dict.fromkeys(STATES, _STATE)}
_TEMPLATES = Templates(Path(__file__).with_name("prompts"), {}, TABLES)
INTENTS = {START: Intent.INTENT_OPENING, CORRECT: Intent.INTENT_RIGHT, INCORRECT: Intent.INTENT_WRONG}


def states(conversation: Conversation) -> Mapping[str, Mapping[str, str]]:
    """Returns what each state means, what both do in it, with examples, and its evaluation's letter."""
    return _TEMPLATES.of(conversation.run.prompts).table("states")


def drawn_state(turn: Turn) -> LearnerState:
    """Returns the state that a turn's message must show."""
    return StudentLabels.FromString(turn.student.labels).learner_state


def mark(turn: Turn, state: LearnerState) -> None:
    """Records the state that a message is to show."""
    turn.student.labels = StudentLabels(learner_state=state).SerializeToString()
    turn.student.intent = INTENTS.get(state, Intent.INTENT_UNSPECIFIED)


def found_state(turn: Turn) -> LearnerState:
    """Returns the state that a turn's message shows, in the tutor's judgement."""
    return TutorLabels.FromString(turn.tutor.labels).learner_state


def draw_state(conversation: Conversation) -> LearnerState:
    """Draws the student's next state; after the limit of turns only those that make progress."""
    policy: dict[str, Any] = POLICY["states"]
    shares: Mapping[str, float] = policy["shares"]
    if len(conversation.turns) >= policy["turns"]:
        shares = {name: share for name, share in shares.items() if STATES[name] in SOLVING}
    rewound = rewinding_parts(conversation)
    choice = draw(conversation.run.seed, conversation.id, len(conversation.turns), "state", *rewound)
    return STATES[choice.choices(list(shares), list(shares.values()))[0]]
