"""Tracks which step a conversation has reached."""

from typing import NamedTuple

from soliloquy.recipes.soliloquy.labels_pb2 import (
    STEP_STATE_ALL_FINISHED,
    STEP_STATE_FINISHED,
    STEP_STATE_IN_PROGRESS,
    TutorLabels,
)
from soliloquy.v1.conversation_pb2 import (
    EVALUATION_CORRECT,
    EVALUATION_INCORRECT,
    Conversation,
    Turn,
    TutorReply,
)


class StepProgress(NamedTuple):
    """The current step, the number of steps, and the wrong answers given to the current step."""

    step: int
    steps: int
    wrong_answers: int


def progress_by_turn(conversation: Conversation) -> list[StepProgress]:
    """Returns the progress before each answered turn and after the last one."""
    steps = len(conversation.problem.steps)
    found = [StepProgress(step=1, steps=steps, wrong_answers=0)]
    for turn in conversation.turns:
        if not turn.HasField("tutor"):
            break
        before, labels = found[-1], TutorLabels.FromString(turn.tutor.labels)
        step = _following_step(labels, before.step, steps)
        wrong_answers = _wrong_answers(turn.tutor, labels, before, step)
        found.append(StepProgress(step=step, steps=steps, wrong_answers=wrong_answers))
    return found


def is_asked_for_reason(turn: Turn) -> bool:
    """Whether the tutor stays at a step that it has just called right: it asks why."""
    if turn.tutor.evaluation != EVALUATION_CORRECT:
        return False
    return TutorLabels.FromString(turn.tutor.labels).state == STEP_STATE_IN_PROGRESS


def _wrong_answers(reply: TutorReply, labels: TutorLabels, before: StepProgress, step: int) -> int:
    """Counts the wrong answers to a step since the last right one to a part of it."""
    if reply.evaluation == EVALUATION_CORRECT:
        return 0
    wrong = reply.evaluation == EVALUATION_INCORRECT
    if step == before.step:
        return before.wrong_answers + wrong
    # A reply may name another step than the one at hand, and hint at it.
    return int(wrong and labels.state == STEP_STATE_IN_PROGRESS)


def _following_step(labels: TutorLabels, step: int, steps: int) -> int:
    if labels.state in (STEP_STATE_FINISHED, STEP_STATE_ALL_FINISHED):
        return min((labels.step or step) + 1, steps)
    if labels.state == STEP_STATE_IN_PROGRESS:
        return max(1, min(labels.step or step, steps))
    return step
