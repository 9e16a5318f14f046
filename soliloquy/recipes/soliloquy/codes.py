"""The paper's numbered actions, and readable names for its codes."""

from soliloquy.recipes.soliloquy.labels_pb2 import StepState
from soliloquy.runtime.files import table_beside

# Which actions may follow which evaluation.
ACTIONS = {"a": {1, 2}, "b": {3}, "c": {4, 5}, "d": {6}, "e": {7}, "f": {8, 9, 10, 11}, "g": {12}}
STATES = {
    "p": StepState.STEP_STATE_NOT_APPLICABLE,
    "q": StepState.STEP_STATE_IN_PROGRESS,
    "r": StepState.STEP_STATE_FINISHED,
    "t": StepState.STEP_STATE_ALL_FINISHED,
}
STATE_LETTERS = {state: letter for letter, state in STATES.items()}
GIVING_ACTIONS = {2, 5, 9}
GOING_BACK = 10
# Readable names of evaluations, actions and states.
WORDS: dict[str, dict[str, str]] = table_beside(__file__, "codes.toml")
