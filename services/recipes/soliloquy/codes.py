"""The paper's letters for evaluations and step states, and the enums that stand for them."""

import tomllib
from pathlib import Path

from soliloquy.v1.conversation_pb2 import ErrorStrategy, Evaluation, Intent, StepState

EVALUATIONS = {
    "a": Evaluation.EVALUATION_INCORRECT,
    "b": Evaluation.EVALUATION_CORRECT,
    "c": Evaluation.EVALUATION_PARTIAL,
    "d": Evaluation.EVALUATION_UNCLEAR,
    "e": Evaluation.EVALUATION_OFF_TOPIC,
    "f": Evaluation.EVALUATION_INQUIRY,
    "g": Evaluation.EVALUATION_NOT_APPLICABLE,
}
STATES = {
    "p": StepState.STEP_STATE_NOT_APPLICABLE,
    "q": StepState.STEP_STATE_IN_PROGRESS,
    "r": StepState.STEP_STATE_FINISHED,
    "t": StepState.STEP_STATE_ALL_FINISHED,
}
EVALUATION_LETTERS = {evaluation: letter for letter, evaluation in EVALUATIONS.items()}
STATE_LETTERS = {state: letter for letter, state in STATES.items()}

INTENTS = {Intent.INTENT_OPENING: "opening", Intent.INTENT_RIGHT: "right", Intent.INTENT_WRONG: "wrong"}
STRATEGIES = {
    ErrorStrategy.ERROR_STRATEGY_FORMULA: "formula",
    ErrorStrategy.ERROR_STRATEGY_REARRANGEMENT: "rearrangement",
    ErrorStrategy.ERROR_STRATEGY_CONVERSION: "conversion",
    ErrorStrategy.ERROR_STRATEGY_ARITHMETIC: "arithmetic",
}

# Which actions may follow which evaluation, and those that give a step's answer.
ACTIONS = {"a": {1, 2}, "b": {3}, "c": {4, 5}, "d": {6}, "e": {7}, "f": {8, 9, 10, 11}, "g": {12}}
GIVING_ACTIONS = {2, 5, 9}
GOING_BACK = 10
# Evaluations, actions and states in words, as people read them.
WORDS: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("codes.toml").read_text("utf-8"))
