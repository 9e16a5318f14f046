"""Lists the steps as goals: whether the student came to each, and what is left of its misconception."""

from collections.abc import Iterator, Sequence

from soliloquy.recipes.learner.goals import LearningGoal
from soliloquy.recipes.learner.knowledge import after
from soliloquy.recipes.soliloquy.student import stance_of
from soliloquy.recipes.soliloquy.truth import TurnTruth, assess
from soliloquy.v1.conversation_pb2 import Conversation, Knowledge, Step

_OWN = (Knowledge.KNOWLEDGE_KNOWN, Knowledge.KNOWLEDGE_SHAKY)


def learning_goals(conversation: Conversation) -> Sequence[LearningGoal]:
    truths = assess(conversation) if conversation.problem.steps else []
    told = {early.step for truth in truths for early in truth.early}
    # The opening quotes the problem, which may hold a result.
    stated = truths[-1].solved - truths[0].solved if truths else frozenset()
    return list(_by_step(conversation, truths[1:], told, stated))


def _by_step(
    conversation: Conversation, answers: Sequence[TurnTruth], told: set[int], stated: frozenset[int]
) -> Iterator[LearningGoal]:
    """The opening is no answer. A student who is ahead has stated the results that it never was asked for."""
    for step in conversation.problem.steps:
        at = [truth for truth in answers if truth.progress.step == step.number]
        first = stance_of(at[0].turn.student) if at else None
        yield LearningGoal(
            name=f"step {step.number}",
            knew=first.knowledge in _OWN if first else None,
            knows=_knows(at[-1], step) if at else step.number in stated,
            answered=any(map(_is_right, at)) if at else step.number in stated,
            told=step.number in told,
        )


def _knows(last: TurnTruth, step: Step) -> bool:
    return not after(stance_of(last.turn.student), last.turn.tutor, step).mistaken


def _is_right(truth: TurnTruth) -> bool:
    """Whether the student gives the right answer and means it: one that still believes in a mistake was led to it."""
    return truth.claim.right is True and not stance_of(truth.turn.student).mistaken
